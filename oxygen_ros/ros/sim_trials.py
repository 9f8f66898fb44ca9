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

"""Trials against the clock: the arm's controller is told one task after another and watched."""

from collections.abc import Callable
from collections.abc import Sequence

from oxygen_ros.sim.trials import MAX_SECONDS
from oxygen_ros.sim.trials import Trial


class RealTimeTrials:
    """
    Runs trials while the simulated arm runs; `step` is called after every control period.

    The first one begins with the first command: before, nobody is there to do it.
    """

    def __init__(self, trials: Sequence[Trial], begin: Callable[[Trial], None],
                 log: Callable[[str], None]):
        self._trials, self._begin, self._log = trials, begin, log
        self._started_s: float | None = None
        self.results: list[dict] = []

    @property
    def finished(self) -> bool:
        """Return whether the last trial is over."""
        return len(self.results) == len(self._trials)

    def step(self, now_s: float, *, is_commanded: bool, success: bool) -> None:
        """Judge the present trial at a time of the steady clock; begin the next if it ended."""
        if self.finished:
            return
        if self._started_s is None:
            if is_commanded:
                self._start(now_s)
            return
        seconds = now_s - self._started_s
        if success or seconds >= MAX_SECONDS:
            trial = self._trials[len(self.results)]
            self.results.append({'instruction': trial.instruction, 'verb': trial.task.verb,
                                 'success': success, 'seconds': round(seconds, 2)})
            self._log(
                f'{len(self.results)} of {len(self._trials)}: {trial.instruction}: '
                f'{"done" if success else "not done"} after {seconds:.1f} s')
            if not self.finished:
                self._start(now_s)

    def _start(self, now_s: float) -> None:
        self._begin(self._trials[len(self.results)])
        self._started_s = now_s
