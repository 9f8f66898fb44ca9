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

"""Trace: every tick as one line of CSV, written outside the tick thread."""

from collections import deque
from contextlib import suppress
import logging
from pathlib import Path
import threading
import time

from oxygen_ros.config import ConfigError
from oxygen_ros.types import TickResult

_logger = logging.getLogger(__name__)

_MAX_WAITING = 10_000  # ticks; when the disk is slower for longer, the oldest are lost
_WRITE_EVERY_S = 0.25
COLUMNS = ('index', 'steady_ns', 'lateness_ns', 'verdict', 'cause', 'frame_id', 'clamped')


class TickTrace:
    """
    Writes ticks to a file for plots; a disk that is slow or full never delays or stops the robot.

    Columns: index, steady_ns, lateness_ns, verdict, cause, frame_id, clamped, then one position
    per joint (empty where nothing was sent).
    """

    def __init__(self, path: Path, joint_names: tuple[str, ...]):
        self._num_joints = len(joint_names)
        self._waiting: deque[tuple[int, TickResult]] = deque(maxlen=_MAX_WAITING)
        self._num_recorded = 0
        self._num_written = 0
        self._closing = threading.Event()
        try:
            self._file = open(path, 'w', encoding='utf-8', buffering=1 << 16)
        except OSError as error:
            raise ConfigError(f'the tick trace {path} cannot be written ({error.strerror}); '
                              f'give a file in a folder that exists') from error
        self._header = ','.join((*COLUMNS, *joint_names)) + '\n'
        self._thread = threading.Thread(target=self._run, name='oxygen_trace', daemon=True)
        self._thread.start()

    @property
    def num_lost(self) -> int:
        """Return how many ticks are not in the file, once it is closed."""
        return self._num_recorded - self._num_written

    def record(self, result: TickResult) -> None:
        """Note one tick; called in the tick thread, never waits."""
        self._num_recorded += 1
        self._waiting.append((time.monotonic_ns(), result))

    def close(self) -> None:
        """Write what is left and close the file."""
        self._closing.set()
        self._thread.join(5.0)

    def _run(self) -> None:
        try:
            self._file.write(self._header)
            while not self._closing.wait(_WRITE_EVERY_S):
                self._write()
            self._write()
            self._file.close()
        except OSError as error:
            _logger.error('the tick trace ends here: %s; control goes on without it',
                          error.strerror)
            with suppress(OSError):
                self._file.close()

    def _write(self) -> None:
        num_lines = 0
        while self._waiting:
            self._file.write(self._line(*self._waiting.popleft()))
            num_lines += 1
        self._file.flush()  # a full disk must show here, and a killed process lose little
        self._num_written += num_lines

    def _line(self, steady_ns: int, result: TickResult) -> str:
        command = [''] * self._num_joints if result.command is None else result.command
        fields = (result.index, steady_ns, result.lateness_ns, result.verdict.value,
                  result.cause.value, result.frame_id, result.clamped, *command)
        return ','.join(str(field) for field in fields) + '\n'
