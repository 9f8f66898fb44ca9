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

"""A tour of the tasks: when one is done the next follows; who says something else goes first."""

from collections.abc import Callable

from oxygen_ros.sim import CUBE_COLORS
from oxygen_ros.sim import TableTop
from oxygen_ros.sim import Task

PAUSE_S = 2.0                # after a task is done
PATIENCE_S = 20.0            # for a task that does not get done
VISITOR_PAUSE_S = 8.0        # the same for a task that somebody else gave
VISITOR_PATIENCE_S = 60.0


class Tour:
    """
    Picks up one cube after the other and puts it in the tray, then begins a new episode.

    `step` is called after every control period. say publishes an instruction, begin_episode
    places cubes and arm anew, log tells a person what goes on.
    """

    def __init__(self, table: TableTop, say: Callable[[str], None],
                 begin_episode: Callable[[], None], log: Callable[[str], None]):
        self._table, self._say, self._begin_episode = table, say, begin_episode
        self._log = log
        self._guest_text = ''                # task of somebody else; empty: of the tour
        self._is_judged = True
        self._since_s: float | None = None
        self._done_s: float | None = None
        self.num_given_up = 0

    def told(self, instruction: str, *, is_judged: bool) -> None:
        """
        Let somebody else's task have its time.

        is_judged: it is the task of the table now, so success is about it.
        """
        self._guest_text, self._is_judged = instruction, is_judged
        self._since_s = self._done_s = None

    def step(self, now_s: float, *, success: bool) -> None:
        """Say the next task when its time has come; now_s is of the steady clock."""
        if self._since_s is None:
            self._since_s = now_s
        if success and self._is_judged and self._done_s is None:
            self._done_s = now_s
        pause_s, patience_s = (VISITOR_PAUSE_S, VISITOR_PATIENCE_S) if self._guest_text \
            else (PAUSE_S, PATIENCE_S)
        if self._done_s is not None:
            if now_s - self._done_s >= pause_s:
                self._next()
        elif now_s - self._since_s >= patience_s:
            self._give_up(patience_s)

    def _give_up(self, patience_s: float) -> None:
        last = self._guest_text or self._table.task.instruction
        is_judged = self._is_judged
        self._begin_episode()
        self._next()
        following = f'after {patience_s:g} s, next: {self._table.task.instruction}'
        if is_judged:
            self.num_given_up += 1
            self._log(f'gave up on {last} {following}')
        else:
            self._log(f'cannot tell whether this was done: {last}; {following}')

    def _next(self) -> None:
        table, last = self._table, self._table.task
        if last.verb == 'pick' and not table.in_tray(last.color):
            task = Task('put', last.color)
        else:
            left = [color for color in CUBE_COLORS if not table.in_tray(color)]
            if not left:
                self._begin_episode()
                left = [color for color in CUBE_COLORS if not table.in_tray(color)]
            task = Task('pick', left[0])
        table.task = task
        self._guest_text, self._is_judged = '', True
        self._since_s = self._done_s = None
        self._say(task.instruction)
