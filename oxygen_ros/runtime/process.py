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

"""One life of the engine process: what it shares with this one, its start and its end."""

import os
from pathlib import Path
import signal
import subprocess
import sys
import threading

import oxygen_ros
from oxygen_ros.runtime.channel import Channel
from oxygen_ros.runtime.cpu_limits import cpu_limit
from oxygen_ros.runtime.protocol import Start
from oxygen_ros.runtime.shared_frames import SharedRing
from oxygen_ros.types import Observation

WORKER_MODULE = 'oxygen_ros.runtime.worker'
NUM_CHUNK_SLOTS = 8
_REAP_S = 2.0


class EngineProcess:
    """
    A running engine: two rings of shared memory, a channel and two wake-up events.

    Everything it uses is inherited by descriptor and has no name in the file system, so nothing
    stays behind however the two processes end. Start it from a thread that outlives it: the
    kernel kills the child when that thread ends.
    """

    def __init__(self, start: Start):
        self.channel, far = Channel.pair()
        self.frames = SharedRing.create('oxygen_frames')
        self.chunks = SharedRing.create('oxygen_chunks', num_slots=NUM_CHUNK_SLOTS)
        self._frame_event = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self.chunk_event = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._lock = threading.Lock()   # observe against close: a closed fd may be another's next
        self._closed = False
        fds = (far.fileno(), self.frames.fd, self.chunks.fd, self._frame_event, self.chunk_event)
        # Ctrl-C goes to the whole group, also while the child still imports and could not ignore
        # it; the mask belongs to this thread and is inherited.
        old_mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            self._process = subprocess.Popen(
                [sys.executable, '-m', WORKER_MODULE, str(os.getpid()), *map(str, fds)],
                pass_fds=fds, stdin=subprocess.DEVNULL, env=_environment(start))
        except OSError:
            self.close()
            raise
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, old_mask)
            far.close()
        self.pid = self._process.pid
        self.channel.send(start)

    def observe(self, observation: Observation) -> bool:
        """
        Put the newest observation into shared memory; True if it replaced one not taken yet.

        Raises OSError when there is no memory for it.
        """
        meta, arrays = pack(observation)
        with self._lock:
            if self._closed:
                return False
            replaced = self.frames.has_newer
            self.frames.put(meta, arrays)
            os.eventfd_write(self._frame_event, 1)
            return replaced

    def end(self, *, timeout_s: float = 0.0) -> str:
        """Wait for the exit, kill it when it takes too long; returns how it ended, in words."""
        try:
            self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self._process.kill()
        try:
            code = self._process.wait(_REAP_S)
        except subprocess.TimeoutExpired:
            return f'process {self.pid} does not react to SIGKILL (stuck in a driver?)'
        if code >= 0:
            return f'exited with code {code}'
        return f'killed by {signal.Signals(-code).name}'

    def close(self) -> None:
        """Release what was shared; the process must have ended."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            self.channel.close()
            self.frames.close()
            self.chunks.close()
            os.close(self._frame_event)
            os.close(self.chunk_event)


def pack(observation: Observation) -> tuple[tuple, list]:
    """Split an observation into a small description and its arrays."""
    meta = (observation.frame_id, observation.stamp_ns, tuple(observation.images),
            observation.instruction, observation.epoch, observation.follows, observation.delay_s,
            observation.subtask)
    return meta, [observation.state, *observation.images.values()]


def unpack(meta: tuple, arrays: list) -> Observation:
    """Put an observation together again."""
    frame_id, stamp_ns, slots, instruction, *rest = meta
    return Observation(frame_id, stamp_ns, dict(zip(slots, arrays[1:])), arrays[0], instruction,
                       *rest)


def _environment(start: Start) -> dict[str, str]:
    """Return the child's environment: this package importable, threads within the CPU limit."""
    environment = dict(os.environ)
    # Threads beyond the quota are throttled all together; libraries read these when loaded.
    threads = str(min(start.config.num_threads, cpu_limit()))
    for name in ('OMP_NUM_THREADS', 'MKL_NUM_THREADS', 'OPENBLAS_NUM_THREADS'):
        environment[name] = threads
    # The rest of this process's path, so that the child finds what this process found.
    parts = [str(Path(oxygen_ros.__file__).resolve().parents[1])]
    parts += [part for part in environment.get('PYTHONPATH', '').split(os.pathsep) if part]
    environment['PYTHONPATH'] = os.pathsep.join(dict.fromkeys(parts))
    return environment
