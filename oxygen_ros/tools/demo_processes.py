# Copyright 2026 The oxygen_ros Authors
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.


"""The demo's child processes: own process groups, output read line by line, a sure end."""

import ctypes
import os
from pathlib import Path
import random
import re
import signal
import socket
import subprocess
import sys
import time

import oxygen_ros

# As rclpy writes it: [WARN] [1796023469.678779664] [sim]: text
_LOG_LINE = re.compile(r'\[(?P<level>[A-Z]+)\] \[[\d.]+\] \[[^\]]*\]: (?P<text>.*)')
_PR_SET_PDEATHSIG = 1
_READ_BYTES = 65536
MAX_DOMAIN_ID = 101          # higher ones meet the ports Linux gives out by itself


class Child:
    """An `oxygen` command run as a process of its own; its output is read by `lines` or `raw`."""

    def __init__(self, name: str, arguments: list[str], *, environment: dict[str, str]):
        self.name = name             # of the command
        self.last_line = ''          # newest line of output that is not empty
        self.complaint = ''          # newest line that tells why it may have ended
        self._partial = b''
        # A group of its own: Ctrl-C reaches the demo only, which ends its children in order.
        self.process = subprocess.Popen(
            [sys.executable, '-m', 'oxygen_ros', name, *arguments], env=environment,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            start_new_session=True, preexec_fn=_end_with_parent)
        os.set_blocking(self.fileno(), False)

    @property
    def last_word(self) -> str:
        """Return the newest line without the time and names of a log."""
        found = _LOG_LINE.fullmatch(self.last_line)
        return found['text'] if found else self.last_line

    def fileno(self) -> int:
        """Return the descriptor to wait on for output."""
        return self.process.stdout.fileno()

    def raw(self) -> bytes | None:
        """Return the output since the last call, None at its end."""
        try:
            data = os.read(self.fileno(), _READ_BYTES)
        except BlockingIOError:
            return b''
        for line in data.decode('utf-8', 'replace').splitlines():
            self.last_line = line.strip() or self.last_line
        return data or None

    def lines(self) -> list[str] | None:
        """Return the lines that became complete, in plain words; None at the end of output."""
        data = self.raw()
        if data is None:
            return None
        *complete, self._partial = (self._partial + data).split(b'\n')
        return [self._plain(line.decode('utf-8', 'replace')) for line in complete]

    def ended(self) -> bool:
        """Return whether the process is gone."""
        return self.process.poll() is not None

    def interrupt(self) -> None:
        """Ask it to end, as Ctrl-C would."""
        if not self.ended():
            self.process.send_signal(signal.SIGINT)

    def kill(self) -> None:
        """End it and whatever it started, at once."""
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()

    def _plain(self, line: str) -> str:
        """Return a log line without its time and names."""
        found = _LOG_LINE.fullmatch(line)
        level, text = (found['level'], found['text']) if found else ('ERROR', line)
        if level in ('ERROR', 'FATAL'):
            self.complaint = text
        return f'{level.lower()}: {text}' if found and level != 'INFO' else text


def child_environment(domain_id: int) -> dict[str, str]:
    """Return the environment of the demo's processes: this package, one domain, this machine."""
    environment = dict(os.environ, ROS_DOMAIN_ID=str(domain_id), PYTHONUNBUFFERED='1',
                       RCUTILS_COLORIZED_OUTPUT='0')
    environment.setdefault('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
    if environment.get('ROS_DISTRO') == 'humble':  # knows only the older variable
        environment.setdefault('ROS_LOCALHOST_ONLY', '1')
    # Shared-memory transport leaves files in /dev/shm when a process is killed, and killing the
    # engine is part of the demo. Its pictures are small enough for UDP.
    environment.setdefault('FASTDDS_BUILTIN_TRANSPORTS', 'UDPv4')
    parts = [str(Path(oxygen_ros.__file__).resolve().parents[1])]
    parts += [part for part in environment.get('PYTHONPATH', '').split(os.pathsep) if part]
    environment['PYTHONPATH'] = os.pathsep.join(dict.fromkeys(parts))
    return environment


def find_free_domain() -> int:
    """Return a ROS domain that nobody uses on this machine, as far as can be seen."""
    candidates = random.SystemRandom().sample(range(1, MAX_DOMAIN_ID), 20)
    free = [domain_id for domain_id in candidates if not is_in_use(domain_id)]
    return free[0] if free else candidates[0]


def is_in_use(domain_id: int) -> bool:
    """Return whether a DDS participant of this machine holds the domain's first port."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind(('', 7400 + 250 * domain_id + 10))
        except OSError:
            return True
    return False


def find_descendant(pid: int, word: str) -> int:
    """Return the pid of a child of pid whose command line contains word, 0 if there is none."""
    for children in Path(f'/proc/{pid}/task').glob('*/children'):
        try:
            for child in children.read_text().split():
                if word in Path(f'/proc/{child}/cmdline').read_bytes().decode('utf-8', 'replace'):
                    return int(child)
        except OSError:  # ended in between
            continue
    return 0


def wait_for_end(children: list[Child], timeout_s: float, read) -> list[Child]:
    """Wait until the children are gone, reading their output; returns those that are not."""
    deadline_s = time.monotonic() + timeout_s
    while True:
        read()
        remaining = [child for child in children if not child.ended()]
        if not remaining or time.monotonic() >= deadline_s:
            read()
            return remaining


def _end_with_parent() -> None:
    """Ask the kernel to end this process if the demo itself is killed."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
