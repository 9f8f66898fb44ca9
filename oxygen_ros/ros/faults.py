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

"""Faults of callbacks and inputs: never swallowed, never repeated without end, kept for status."""

from collections.abc import Callable
import functools
import threading
import time
import traceback

REPEAT_S = 5.0        # the same complaint is logged at most this often
RECENT_S = 10.0       # a fault stays in the status for this long after its last occurrence


class Faults:
    """
    Collects faults and logs each kind at most every REPEAT_S. Any thread.

    rclpy's executors end the process, or lose the exception, when a callback raises; so every
    callback goes through `guard`.
    """

    def __init__(self, logger):
        self._logger = logger
        self._lock = threading.Lock()
        self._logged_s: dict[str, float] = {}                  # key -> steady time of last log
        self._recent: dict[str, tuple[float, str, bool]] = {}  # key -> (last, text, is_error)
        self.num_exceptions = 0

    def warn(self, key: str, text: str) -> None:
        """Report something wrong with the outside world."""
        if self._note(key, text, is_error=False):
            self._logger.warning(text)

    def error(self, key: str, text: str, *, detail: str = '') -> None:
        """Report a fault of this node; detail is logged but not shown in the status."""
        self.num_exceptions += 1
        if self._note(key, text, is_error=True):
            self._logger.error(f'{text}\n{detail}' if detail else text)

    def exception(self, where: str, error: BaseException) -> None:
        """Report an exception with its traceback."""
        lines = ''.join(traceback.format_exception(type(error), error, error.__traceback__))
        self.error(f'exception {where}', f'{where} failed: {type(error).__name__}: {error}',
                   detail=lines)

    def record(self, where: str, error: BaseException) -> None:
        """Show an exception in the status that somebody else logs."""
        self.num_exceptions += 1
        self._note(f'exception {where}', f'{where} failed: {type(error).__name__}: {error}',
                   is_error=True)

    def guard(self, where: str, callback: Callable) -> Callable:
        """Wrap a callback so that an exception is reported instead of ending the executor."""
        @functools.wraps(callback)
        def guarded(*args):
            try:
                return callback(*args)
            except Exception as error:
                self.exception(where, error)
                return None
        return guarded

    def recent(self) -> list[tuple[str, bool]]:
        """Return (text, is_error) of every fault seen lately."""
        oldest_s = time.monotonic() - RECENT_S
        with self._lock:
            self._recent = {key: fault for key, fault in self._recent.items()
                            if fault[0] >= oldest_s}
            return [(text, is_error) for _, text, is_error in self._recent.values()]

    def _note(self, key: str, text: str, *, is_error: bool) -> bool:
        """Keep the fault; return whether it is to be logged now."""
        now_s = time.monotonic()
        with self._lock:
            self._recent[key] = (now_s, text, is_error)
            if now_s - self._logged_s.get(key, -REPEAT_S) < REPEAT_S:
                return False
            self._logged_s[key] = now_s
            return True
