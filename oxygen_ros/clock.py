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

"""Clocks: real time for the robot, a hand-driven one for tests and simulation."""

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
