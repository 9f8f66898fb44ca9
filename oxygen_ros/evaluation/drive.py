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

"""Lets the time of a recording pass for a session: in steps, or on the real clock."""

from collections.abc import Callable
import threading
import time

from oxygen_ros.clock import SteadyClock
from oxygen_ros.clock import SteppedClock
from oxygen_ros.policy.ticker import Ticker
from oxygen_ros.runtime.session import Session
from oxygen_ros.types import TickResult

OnTick = Callable[[int, TickResult], None]    # (time in ns, what the tick did)


class SteppedDrive:
    """As fast as this machine allows; ticks are punctual, the engine takes what costs say."""

    host = 'lockstep'

    def __init__(self, start_ns: int, *, cost_s: Callable[[str, int], float] | None = None):
        self.clock = SteppedClock(start_ns, cost_s=cost_s)
        self.now_ns = self.clock.now_ns
        self._next_tick_ns = start_ns
        self._index = 0

    @property
    def machine_s(self) -> dict[str, list[float]]:
        """What each run of a stage really took on this machine."""
        return self.clock.work.machine_s

    def start(self, session: Session, on_tick: OnTick, *, rate_hz: float, priority: int) -> None:
        """Begin; the first tick comes with the first step of time."""
        self._session, self._on_tick = session, on_tick
        self._period_ns = round(1e9 / rate_hz)

    def pass_until(self, time_ns: int) -> None:
        """Run everything that happens before time_ns, which is then the present."""
        while self._next_tick_ns < time_ns:
            self._session.run_until(self._next_tick_ns)
            self._session.run_until(self._next_tick_ns)   # begins what is due just then
            self._on_tick(self._next_tick_ns, self._session.tick(self._index, 0))
            self._index += 1
            self._next_tick_ns += self._period_ns
        self._session.run_until(time_ns)

    def stop(self) -> None:
        """End."""


class RealDrive:
    """At the speed of the recording, with the engine process and tick thread of the node."""

    host = 'process'
    machine_s: dict[str, list[float]] = {}   # the figures of the session tell

    def __init__(self, start_ns: int):
        self.clock = SteadyClock()
        self._start_ns = start_ns
        self._began_ns: int | None = None     # steady time of start_ns
        self._ticker: Ticker | None = None

    def now_ns(self) -> int:
        """Return the present time in the recording."""
        began_ns = self._began_ns
        passed_ns = 0 if began_ns is None else time.monotonic_ns() - began_ns
        return self._start_ns + passed_ns

    def start(self, session: Session, on_tick: OnTick, *, rate_hz: float, priority: int) -> None:
        """Begin; time runs from now on."""
        self._began_ns = time.monotonic_ns()
        self._ticker = Ticker(
            rate_hz, lambda index, lateness_ns: on_tick(
                self.now_ns(), session.tick(index, lateness_ns)), realtime_priority=priority)
        self._ticker.start()
        session.note_realtime(self._ticker.is_realtime)

    def pass_until(self, time_ns: int) -> None:
        """Wait for a time."""
        threading.Event().wait(max(0.0, (time_ns - self.now_ns()) / 1e9))

    def stop(self) -> None:
        """End the ticks."""
        if self._ticker is not None:
            self._ticker.stop()
