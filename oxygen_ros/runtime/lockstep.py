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

"""The engine on simulated time: works only while time is let pass, the same way every run."""

from collections import deque
from dataclasses import replace
import math
from typing import Any

from oxygen_ros.clock import SteppedClock
from oxygen_ros.config import EngineConfig
from oxygen_ros.config import RobotProfile
from oxygen_ros.runtime.host import HostEvents
from oxygen_ros.runtime.inline import InlineHost
from oxygen_ros.types import Observation

# A text that can never start at the time the scheduler names must not stop time.
_GRAIN_NS = 100_000


class LockstepHost(InlineHost):
    """
    An engine in this process that behaves in time as the engine process does.

    It takes the newest observation when action work is due, and speaks in the time between; each
    stage takes what `clock` says. What it sends arrives at the simulated time at which it is
    done. One thread; the caller lets time pass with `run_until`, nothing else happens by itself.
    """

    def __init__(self, robot: RobotProfile, config: EngineConfig, events: HostEvents, *,
                 clock: SteppedClock):
        super().__init__(robot, config, events, clock=clock.work)
        self._world = clock
        self._newest: Observation | None = None
        self._sent: deque[tuple[int, Any]] = deque()    # (time on the work clock, event)
        self._texts_not_before_ns = 0

    def start(self) -> None:
        """Load and warm up, which takes no simulated time."""
        super().start()
        self._clock.restart()

    def observe(self, observation: Observation) -> bool:
        """Hand over the newest observation; True if it replaced one that was not taken yet."""
        replaced = self._newest is not None
        images = {slot: image.copy() for slot, image in observation.images.items()}
        self._newest = replace(observation, images=images)   # it is looked at later
        return replaced

    def run_until(self, time_ns: int) -> None:
        """
        Work until the world's clock shows time_ns.

        Work due just then may still get a newer observation, taken at that time: it is begun by
        the next call, which may be one for the same time.
        """
        end_ns = time_ns - self._clock.origin_ns
        last_start_ns = end_ns if time_ns <= self._world.now_ns() else end_ns - 1
        while self._engine is not None and (start_ns := self._next_start_ns()) <= last_start_ns:
            self._deliver(start_ns)
            self._clock.wait_until(start_ns)
            num_sent = len(self._sent)
            self._engine.step(self._take(), interrupted=lambda: self._must_yield(end_ns))
            grain_ns = 0 if len(self._sent) > num_sent else _GRAIN_NS
            self._texts_not_before_ns = self._clock.now_ns() + grain_ns
        self._deliver(end_ns)
        self._move_to(end_ns)

    def close(self) -> None:
        """End every text, send everything that is still on its way and free the engine."""
        if self._engine is not None:
            self._engine.close()
            self._deliver(math.inf)
        super().close()

    def _next_start_ns(self) -> float:
        """Return when the engine has something to do, inf: not before something new comes."""
        now_ns, start_ns = self._clock.now_ns(), math.inf
        if self._newest is not None:
            start_ns = max(now_ns, self._due_ns(now_ns))
        if self._engine.busy and (wait_s := self._engine.next_work_s()) < math.inf:
            start_ns = min(start_ns, max(now_ns + math.ceil(wait_s * 1e9),
                                         self._texts_not_before_ns))
        return start_ns

    def _due_ns(self, now_ns: int) -> int:
        """Return when action work may start; rounded, so that it meets the steps of the world."""
        now_s = now_ns * 1e-9
        due_s = self._engine.next_frame_s(now_s)
        return now_ns if due_s <= now_s else round(due_s * 1e9)

    def _take(self) -> Observation | None:
        now_ns = self._clock.now_ns()
        if self._newest is None or self._due_ns(now_ns) > now_ns:
            return None
        observation, self._newest = self._newest, None
        return observation

    def _must_yield(self, end_ns: int) -> bool:
        """Tell the engine between two decode steps that something else comes first."""
        now_ns = self._clock.now_ns()
        return now_ns > end_ns or (self._newest is not None and self._due_ns(now_ns) <= now_ns)

    def _emit(self, event: Any) -> None:
        if self._engine is not None:
            self._sent.append((self._clock.now_ns(), event))

    def _deliver(self, end_ns: float) -> None:
        """Hand over what has been sent by then, each at its time."""
        while self._sent and self._sent[0][0] <= end_ns:
            sent_ns, event = self._sent.popleft()
            self._move_to(sent_ns)
            super()._emit(event)

    def _move_to(self, time_ns: int) -> None:
        self._world.advance(max(0, time_ns + self._clock.origin_ns - self._world.now_ns()))
