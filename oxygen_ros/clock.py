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

"""Clocks: real time for the robot, hand-driven ones for tests, simulation and replay."""

from collections.abc import Callable
from collections.abc import Iterator
from contextlib import contextmanager
import time
from typing import Protocol


class Clock(Protocol):
    """A steady clock: never jumps, counts from an arbitrary origin."""

    def now_ns(self) -> int:
        """Return nanoseconds on the steady clock."""
        ...


class SteadyClock:
    """The machine's monotonic clock; comparable between processes of one boot."""

    def now_ns(self) -> int:
        """Return time.monotonic_ns()."""
        return time.monotonic_ns()


class ManualClock:
    """A clock that moves only when told, for simulation and tests."""

    def __init__(self, start_ns: int = 0):
        self._now_ns = start_ns

    def now_ns(self) -> int:
        """Return the time set so far."""
        return self._now_ns

    def advance(self, duration_ns: int) -> None:
        """Move forward by duration_ns; a steady clock cannot go back."""
        if duration_ns < 0:
            raise ValueError(f'a steady clock cannot go back by {-duration_ns} ns')
        self._now_ns += duration_ns


class SteppedClock(ManualClock):
    """
    The world's time in a simulation or replay, and with it the engine's own in `work`.

    start_ns: close to the first time that will be simulated, not 0 for a recording of today:
    the engine counts from there in float seconds. cost_s(stage, rows) says how long a stage of
    the engine takes; without it the engine is infinitely fast.
    """

    def __init__(self, start_ns: int, *, cost_s: Callable[[str, int], float] | None = None):
        super().__init__(start_ns)
        self.work = WorkClock(self, cost_s)


class WorkClock:
    """An engine's time: the world's, or ahead of it by work that was begun; counts from 0."""

    def __init__(self, world: ManualClock, cost_s: Callable[[str, int], float] | None):
        self._world = world
        self._cost_s = cost_s
        self.origin_ns = world.now_ns()
        self._free_ns = 0                         # when the work begun so far is done
        self.machine_s: dict[str, list[float]] = {}   # stage -> what it really took here

    def now_ns(self) -> int:
        """Return nanoseconds since the world's start."""
        return max(self._world.now_ns() - self.origin_ns, self._free_ns)

    def wait_until(self, time_ns: int) -> None:
        """Do nothing until time_ns, unless it is later already."""
        self._free_ns = max(self._free_ns, time_ns)

    @contextmanager
    def stage(self, name: str, rows: int) -> Iterator[None]:
        """Let the work inside take what it costs in the simulation, however long it really is."""
        began_ns, began_s = self.now_ns(), time.perf_counter()
        yield
        self.machine_s.setdefault(name, []).append(time.perf_counter() - began_s)
        if self._cost_s is not None:
            self._free_ns = began_ns + round(1e9 * self._cost_s(name, rows))

    def restart(self) -> None:
        """Forget the work done so far: it was a rehearsal."""
        self._free_ns = 0
        self.machine_s.clear()
