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

"""What is checked on the wire in every fault, and how faults are made."""

import os
from pathlib import Path
import signal
import subprocess
import sys
import time

import numpy as np
from rcl_interfaces.srv import SetParametersAtomically
from rclpy.parameter import Parameter
from ros_helpers import call
from ros_helpers import JOINTS
from ros_helpers import LIMIT_S
from ros_helpers import ROBOT_YAML
from ros_helpers import wait_until
import yaml

# Rows of 200 ms make chunks of 2 s: a busy machine is not one of the faults.
SLOW_YAML = ROBOT_YAML.replace('rate_hz: 20', 'rate_hz: 5')
_PROFILE = yaml.safe_load(SLOW_YAML)
RATE_HZ = _PROFILE['control_rate_hz']
LOWER, UPPER, VELOCITY = (np.array([_PROFILE['joints'][name][key] for name in JOINTS])
                          for key in ('lower', 'upper', 'max_velocity'))
STEP = VELOCITY / RATE_HZ


class Wire:
    """What the recorder process has written down."""

    def __init__(self, folder: Path, env: dict[str, str]):
        self._path = folder / 'wire.txt'
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name('wire_recorder.py')),
             f'{env["NAMESPACE"]}/command', str(self._path)], env={**os.environ, **env})

    def commands(self, start_ns: int = 0) -> np.ndarray:
        """Return [n, 1 + joints]: arrival on the steady clock in ns, positions."""
        if not self._path.exists():
            return np.zeros((0, 1 + len(JOINTS)))
        lines = self._path.read_text(encoding='utf-8').splitlines(keepends=True)
        rows = [line.split() for line in lines if line.endswith('\n')]
        assert all(len(row) == 2 + len(JOINTS) and row[1] == '1' for row in rows)
        table = np.array([[float(row[0]), *map(float, row[2:])] for row in rows])
        table = table.reshape(-1, 1 + len(JOINTS))
        return table[table[:, 0] >= start_ns]

    def check(self, start_ns: int, *, is_silent_allowed: bool = False) -> np.ndarray:
        """
        Check everything since start_ns, within one activation; return the commands.

        One command per tick: not fewer than the machine's load excuses, and never a burst.
        """
        commands = self.commands(start_ns)
        positions = commands[:, 1:]
        assert np.isfinite(positions).all()
        assert (positions >= LOWER - 1e-9).all() and (positions <= UPPER + 1e-9).all()
        assert (np.abs(np.diff(positions, axis=0)) <= STEP * (1 + 1e-9) + 1e-12).all()
        seconds = (time.monotonic_ns() - start_ns) / 1e9
        is_crowded = os.getloadavg()[0] > 2 * os.cpu_count()
        if not is_silent_allowed:
            assert len(commands) >= (0.5 if is_crowded else 0.9) * RATE_HZ * seconds - 5
        assert len(commands) <= RATE_HZ * seconds + 5
        in_a_second = np.searchsorted(commands[:, 0], commands[:, 0] + 1e9) - np.arange(
            len(commands))
        # On a crowded machine the recorder itself may stall and then hear several at once.
        assert is_crowded or not len(in_a_second) or in_a_second.max() <= RATE_HZ + 10
        return positions

    def close(self) -> None:
        """Record no more."""
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(5)


def namespaced(env: dict[str, str], *arguments: str) -> tuple[str, ...]:
    """Return the ROS arguments that put a node into the namespace of the test."""
    return '-r', f'__ns:={env["NAMESPACE"]}', *arguments


def slow_robot(folder: Path) -> str:
    """Write the profile of the robot; return its path."""
    (folder / 'slow.yaml').write_text(SLOW_YAML)
    return str(folder / 'slow.yaml')


class Switch:
    """The file that tells the engine of a node which fault is wanted (runtime.fault_injection)."""

    def __init__(self, path: Path):
        self._path = path
        path.write_text('')
        self.env = {'OXYGEN_FAULTS': str(path)}

    def wants(self, fault: str) -> None:
        """Want a fault from the next step on; '': none."""
        fresh = self._path.with_suffix('.new')
        fresh.write_text(fault)
        fresh.replace(self._path)


def set_parameters(caller, **values):
    """Set parameters of the node together; returns the answer."""
    request = SetParametersAtomically.Request(parameters=[
        Parameter(name, value=value).to_parameter_msg() for name, value in values.items()])
    return call(caller, SetParametersAtomically, 'oxygen/set_parameters_atomically',
                request).result


def verdict(heard, wanted: str, cause: str = '', *, topic: str = 'oxygen/deadline',
            timeout_s: float = LIMIT_S):
    """Wait until the newest tick was of this kind."""
    def newest():
        message = heard.last(topic)
        return message and (message.verdict, message.cause) == (wanted, cause)
    wait_until(newest, timeout_s=timeout_s)


def children(pid: int) -> list[int]:
    """Return the processes started by any thread of pid."""
    found = []
    for task in os.listdir(f'/proc/{pid}/task'):
        try:
            with open(f'/proc/{pid}/task/{task}/children', encoding='utf-8') as file:
                found += [int(child) for child in file.read().split()]
        except OSError:
            pass                       # a thread that has just ended
    return found
