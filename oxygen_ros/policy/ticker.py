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

"""Ticker: calls back on an absolute grid of steady time, in its own thread."""

from collections.abc import Callable
import logging
import threading
import time

from oxygen_ros.config.errors import require_range
from oxygen_ros.policy.realtime import lock_memory
from oxygen_ros.policy.realtime import QuietInterpreter
from oxygen_ros.policy.realtime import request_priority
from oxygen_ros.policy.realtime import unlock_memory

_logger = logging.getLogger(__name__)


class Ticker:
    """
    The control timer: grid point k is at start + k / rate, for ever.

    A late tick does not move the ones after it. Grid points that pass while the process stands
    still or a callback runs over are missed: counted, never made up for by a burst. An exception
    of the callback is logged and counted, and the ticks go on.
    """

    def __init__(self, rate_hz: float, callback: Callable[[int, int], None], *,
                 realtime_priority: int = 50,
                 on_error: Callable[[Exception], None] | None = None):
        require_range('rate_hz', rate_hz, 10, 500, 'Hz')
        self._period_ns = round(1e9 / rate_hz)
        self._callback = callback  # (grid index, lateness in ns)
        self._priority = realtime_priority
        self._on_error = on_error  # called in the tick thread
        self._stopping = threading.Event()
        self._ready = threading.Event()
        self._thread: threading.Thread | None = None
        self._interpreter = QuietInterpreter()
        self.start_ns = 0         # steady time of grid point 0
        self.num_ticks = 0        # callbacks made
        self.num_missed = 0       # grid points without a callback
        self.num_errors = 0       # callbacks that raised
        self.is_realtime = False  # SCHED_FIFO was granted
        self.warnings: tuple[str, ...] = ()  # what is not as it should be, with the remedy

    @property
    def is_running(self) -> bool:
        """Return whether the tick thread lives."""
        return self._thread is not None and self._thread.is_alive()

    def start(self) -> None:
        """Start ticking; grid point 0 is one period from now."""
        if self.is_running:
            raise RuntimeError('the ticker runs already; stop it first')
        self._stopping.clear()
        self._ready.clear()
        self._interpreter.begin()
        self._thread = threading.Thread(target=self._run, name='oxygen_tick', daemon=True)
        self._thread.start()
        self._ready.wait()
        for warning in self.warnings:
            _logger.warning(warning)

    def stop(self, *, timeout_s: float = 2.0) -> bool:
        """
        End the ticks; after True no callback runs any more. May be called more than once.

        False: a callback is still running after timeout_s, so what it sends may come last.
        """
        self._stopping.set()
        thread = self._thread
        if thread is None:
            return True
        if thread is threading.current_thread():
            raise RuntimeError('a tick cannot wait for its own end; stop from another thread')
        thread.join(timeout_s)
        if thread.is_alive():
            _logger.error('a control tick is still running after %.1f s', timeout_s)
            return False
        if self._thread is not None:
            self._thread = None
            self._interpreter.end()
            if self._priority:
                unlock_memory()
        return True

    def _run(self) -> None:
        if self._priority:
            refusal = request_priority(self._priority)
            self.is_realtime = not refusal
            self.warnings = tuple(text for text in (refusal, lock_memory()) if text)
        self.start_ns = time.monotonic_ns() + self._period_ns
        self._ready.set()
        index = 0
        while self._wait_until(self.start_ns + index * self._period_ns):
            lateness_ns = time.monotonic_ns() - self.start_ns - index * self._period_ns
            if lateness_ns >= self._period_ns:
                # Not even the newest of the points that passed is made up for: its command would
                # come right before the next one, and two steps at once are twice the velocity.
                num_passed = lateness_ns // self._period_ns + 1
                self.num_missed += num_passed
                index += num_passed
                continue
            self._call(index, lateness_ns)
            index += 1
            next_ns = self.start_ns + index * self._period_ns
            self._interpreter.rest((next_ns - time.monotonic_ns()) / 1e9)

    def _wait_until(self, time_ns: int) -> bool:
        """Sleep until time_ns; False when the ticker is stopping."""
        while not self._stopping.is_set():
            remaining_ns = time_ns - time.monotonic_ns()
            if remaining_ns <= 0:
                return True
            time.sleep(remaining_ns / 1e9)
        return False

    def _call(self, index: int, lateness_ns: int) -> None:
        try:
            self._callback(index, lateness_ns)
        except Exception as error:  # the robot needs its next tick whatever went wrong in this one
            self.num_errors += 1
            if self.num_errors == 1 or self.num_errors % 500 == 0:
                _logger.exception('control tick %d failed (%d so far)', index, self.num_errors)
            if self._on_error is not None:
                self._on_error(error)
        self.num_ticks += 1
