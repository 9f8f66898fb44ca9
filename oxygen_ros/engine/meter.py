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

"""Where the time of a cycle goes, and how much work was done since the start."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextlib import nullcontext
import threading

from oxygen_ros.clock import Clock
from oxygen_ros.clock import WorkClock
from oxygen_ros.engine.costs import CostModel


class Meter:
    """Durations of the current cycle, totals since the start; feeds the cost model."""

    def __init__(self, clock: Clock, costs: CostModel):
        self._clock, self._costs = clock, costs
        # In a simulation work takes the time that it is said to take.
        self._spend = (clock.stage if isinstance(clock, WorkClock)
                       else lambda name, batch: nullcontext())
        self._lock = threading.Lock()   # the parallel baseline encodes in two threads
        self.recording = True           # False: durations say nothing about later ones
        self.restart()

    @property
    def encode_s(self) -> float:
        """Time spent encoding in this cycle."""
        return self._spent_s['encode']

    @property
    def denoise_s(self) -> float:
        """Time spent denoising in this cycle."""
        return self._spent_s['denoise']

    @property
    def decode_s(self) -> float:
        """Time spent in decode steps in this cycle."""
        return self._spent_s['decode']

    @property
    def decode_steps(self) -> int:
        """Decode steps in this cycle."""
        return self._counts['decode']

    def restart(self) -> None:
        """Forget everything counted so far."""
        self.frames = self.encodes = 0   # since the start
        self.begin()

    def begin(self) -> None:
        """Start a cycle."""
        self._spent_s = {'encode': 0.0, 'denoise': 0.0, 'decode': 0.0}
        self._counts = dict.fromkeys(self._spent_s, 0)

    def count_encode(self) -> None:
        """Count one run of the encoder."""
        with self._lock:
            self.encodes += 1

    @contextmanager
    def stage(self, name: str, *, batch: int = 1) -> Iterator[None]:
        """Time one piece of work; a piece that fails is not counted."""
        began_ns = self._clock.now_ns()
        with self._spend(name, batch):
            yield
        duration_s = (self._clock.now_ns() - began_ns) * 1e-9
        with self._lock:
            self._spent_s[name] += duration_s
            self._counts[name] += 1
            if self.recording:
                self._costs.record(name, duration_s, batch=batch)
