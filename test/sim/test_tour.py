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

"""One task after another: the tour of the demo, and trials that are judged by the clock."""

import numpy as np
import pytest

from oxygen_ros.ros.sim_tour import PATIENCE_S
from oxygen_ros.ros.sim_tour import PAUSE_S
from oxygen_ros.ros.sim_tour import Tour
from oxygen_ros.ros.sim_tour import VISITOR_PATIENCE_S
from oxygen_ros.ros.sim_tour import VISITOR_PAUSE_S
from oxygen_ros.ros.sim_trials import RealTimeTrials
from oxygen_ros.sim import TableTop
from oxygen_ros.sim import Task
from oxygen_ros.sim.scene import TRAY_CENTER
from oxygen_ros.sim.trials import make_trials
from oxygen_ros.sim.trials import MAX_SECONDS


class Visit:
    """A tour on a table without cameras, its time stepped by hand."""

    def __init__(self):
        self.table = TableTop(seed=5)
        self.now_s = 100.0
        self.said, self.episodes, self.log = [], 0, []
        for number, color in enumerate(('red', 'green', 'blue')):
            self.table.place_cube(color, (0.2, -0.05 - 0.05 * number, 0.015))
        self.table.task = Task('pick', 'red')
        self.tour = Tour(self.table, self.said.append, self._begin, self.log.append)

    def _begin(self):
        self.episodes += 1
        for number, color in enumerate(('red', 'green', 'blue')):
            self.table.place_cube(color, (0.2, -0.05 - 0.05 * number, 0.015))

    def tell(self, instruction):
        """Give a task, as the simulator does when somebody else does."""
        self.table.task = Task.from_instruction(instruction)
        self.tour.told(instruction, is_judged=True)

    def wait(self, seconds, *, success):
        """Let time pass; the task under way is done or not."""
        end_s = self.now_s + seconds
        while self.now_s < end_s:
            self.tour.step(self.now_s, success=success)
            self.now_s += 0.1


@pytest.fixture
def visit():
    """Return a tour at its beginning."""
    return Visit()


def test_cube_after_cube_goes_into_the_tray_and_a_new_episode_begins(visit):
    for number, color in enumerate(('red', 'green', 'blue')):
        visit.wait(PAUSE_S + 0.3, success=True)
        visit.table.place_cube(color, (*np.add(TRAY_CENTER, (0, 0.03 * (number - 1))), 0.02))
        visit.wait(PAUSE_S + 0.3, success=True)
    assert visit.said == [
        'put the red cube in the tray', 'pick up the green cube', 'put the green cube in the tray',
        'pick up the blue cube', 'put the blue cube in the tray', 'pick up the red cube']
    assert visit.episodes == 1


def test_a_task_that_does_not_get_done_is_given_up(visit):
    visit.wait(PATIENCE_S - 1, success=False)
    assert visit.said == [] and visit.episodes == 0
    visit.wait(2, success=False)
    assert len(visit.said) == 1 and visit.episodes == 1 == visit.tour.num_given_up
    assert visit.log == [f'gave up on pick up the red cube after 20 s, next: {visit.said[0]}']


def test_who_says_something_else_is_obeyed_first(visit):
    visit.wait(1, success=False)
    visit.tell('put the blue cube in the tray')
    visit.wait(VISITOR_PAUSE_S - 1, success=True)
    assert visit.said == []
    visit.wait(2, success=True)
    assert visit.said == ['pick up the red cube'] and visit.log == []


def test_who_says_something_has_a_fair_time_for_it(visit):
    visit.wait(PATIENCE_S - 1, success=False)
    visit.tell('pick up the red cube')           # the same as the tour had, but now of a person
    visit.wait(VISITOR_PATIENCE_S - 1, success=False)
    assert visit.said == [] and visit.episodes == 0
    visit.wait(2, success=False)
    assert visit.log == [f'gave up on pick up the red cube after 60 s, next: {visit.said[0]}']


def test_what_cannot_be_judged_has_its_time_and_does_not_count_as_given_up(visit):
    visit.tour.told('wave', is_judged=False)
    visit.wait(VISITOR_PATIENCE_S - 1, success=True)
    assert visit.said == []
    visit.wait(2, success=True)
    assert len(visit.said) == 1 and visit.tour.num_given_up == 0
    assert visit.log == [
        f'cannot tell whether this was done: wave; after 60 s, next: {visit.said[0]}']


def test_trials_wait_for_a_controller_and_are_judged_by_the_clock():
    begun, logged = [], []
    trials = RealTimeTrials(make_trials('pick', 3), begun.append, logged.append)
    trials.step(0.0, is_commanded=False, success=False)
    trials.step(50.0, is_commanded=False, success=True)
    assert begun == [], 'nobody is there to do it'
    trials.step(60.0, is_commanded=True, success=True)
    trials.step(63.0, is_commanded=True, success=True)
    trials.step(63.0 + MAX_SECONDS - 0.1, is_commanded=True, success=False)
    assert not trials.finished
    trials.step(63.0 + MAX_SECONDS, is_commanded=True, success=False)
    trials.step(75.0, is_commanded=True, success=True)
    assert trials.finished
    assert [trial.task.color for trial in begun] == ['red', 'green', 'blue']
    assert [(result['success'], result['seconds']) for result in trials.results] == [
        (True, 3.0), (False, MAX_SECONDS), (True, 2.0)]
    assert 'not done after 10.0 s' in logged[1]
    trials.step(80.0, is_commanded=True, success=True)
    assert len(trials.results) == 3
