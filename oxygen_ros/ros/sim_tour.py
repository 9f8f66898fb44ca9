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

"""A tour of the tasks: when one is done the next follows, until somebody else says what to do."""

from collections.abc import Callable

from oxygen_ros.sim import CUBE_COLORS
from oxygen_ros.sim import TableTop
from oxygen_ros.sim import Task

PAUSE_S = 2.0                # after a task is done
PATIENCE_S = 20.0            # for a task that does not get done
VISITOR_S = 8.0              # after a task that somebody else gave


class Tour:
    """
    Picks up one cube after the other and puts it in the tray, then begins a new episode.

    `step` is called after every control period. say publishes an instruction, begin_episode
    places cubes and arm anew.
    """

    def __init__(self, table: TableTop, say: Callable[[str], None],
                 begin_episode: Callable[[], None]):
        self._table, self._say, self._begin_episode = table, say, begin_episode
        self._own = table.task               # the last task of the tour
        self._task = table.task              # the one under way, whoever gave it
        self._since_s: float | None = None
        self._done_s: float | None = None

    def step(self, now_s: float, *, success: bool) -> None:
        """Say the next task when its time has come; now_s is of the steady clock."""
        if self._since_s is None or self._table.task != self._task:
            self._task, self._since_s, self._done_s = self._table.task, now_s, None
        if success and self._done_s is None:
            self._done_s = now_s
        pause_s = PAUSE_S if self._task == self._own else VISITOR_S
        if self._done_s is not None and now_s - self._done_s >= pause_s:
            self._next()
        elif self._done_s is None and now_s - self._since_s >= PATIENCE_S:
            self._begin_episode()
            self._next()

    def _next(self) -> None:
        table, last = self._table, self._task
        if last.verb == 'pick' and not table.in_tray(last.color):
            task = Task('put', last.color)
        else:
            left = [color for color in CUBE_COLORS if not table.in_tray(color)]
            if not left:
                self._begin_episode()
                left = [color for color in CUBE_COLORS if not table.in_tray(color)]
            task = Task('pick', left[0])
        self._own = self._task = table.task = task
        self._since_s = self._done_s = None
        self._say(task.instruction)
