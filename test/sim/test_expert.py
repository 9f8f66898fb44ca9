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

"""The teacher does every task, recovers when it is disturbed, and says what it is doing."""

import numpy as np
import pytest

from oxygen_ros.sim import ALL_TASKS
from oxygen_ros.sim import TableTop
from oxygen_ros.sim import Task
from oxygen_ros.sim.expert import DECISION_S
from oxygen_ros.sim.expert import Expert

MAX_DECISIONS = 120
ORDER = {'pick': ['reach', 'lower', 'close', 'lift', 'hold'],
         'put': ['reach', 'lower', 'close', 'lift', 'carry', 'set down', 'release', 'done']}


@pytest.fixture(scope='module')
def shared_table():
    """One compiled scene for the tests of this file."""
    return TableTop()


def run(table, *, kick=None, after=0):
    """Let the expert work; return (done, phases in order). kick: offset at some decisions."""
    expert, phases = Expert(table), []
    for step in range(MAX_DECISIONS):
        decision = expert.decide()
        if not phases or phases[-1] != decision.phase:
            phases.append(decision.phase)
        if table.success():
            after -= 1
            if after < 0:
                return True, phases
        offset = kick if kick is not None and 8 <= step < 14 else 0
        table.command(decision.target + offset)
        table.step(DECISION_S)
    return False, phases


@pytest.mark.parametrize('task', ALL_TASKS, ids=lambda task: task.instruction)
def test_every_task_is_done_from_the_usual_start(shared_table, task):
    shared_table.reset(seed=11, task=task)
    done, phases = run(shared_table, after=3)
    assert done
    assert list(dict.fromkeys(phases)) == ORDER[task.verb]   # it may adjust its grip


def test_it_recovers_from_a_kick(shared_table):
    kick = np.array([0.2, 0.15, -0.1, 0.1, 0.2, 0.4])
    for seed in range(3):
        shared_table.reset(seed=seed, task=Task('put', 'green'))
        assert run(shared_table, kick=kick)[0], f'seed {seed}'


def test_what_it_does_depends_on_the_moment_alone(shared_table):
    shared_table.reset(seed=5, task=Task('pick', 'blue'))
    first, other = Expert(shared_table), Expert(shared_table)
    for _ in range(10):
        decision = first.decide()
        shared_table.command(decision.target)
        shared_table.step(DECISION_S)
    assert np.array_equal(first.decide().target, other.decide().target)


def test_it_lets_go_of_a_cube_that_is_no_longer_asked_for(shared_table):
    shared_table.reset(seed=11, task=Task('pick', 'red'))
    assert run(shared_table)[0]
    assert Expert(shared_table).holds('red')
    shared_table.task = Task('put', 'blue')
    assert run(shared_table)[0]
    assert not Expert(shared_table).holds('red')


def test_start_poses_bring_the_hand_where_they_say(shared_table):
    expert = Expert(shared_table)
    wanted = np.array([0.22, -0.05, 0.10])
    shared_table.place_arm(expert.start_pose(wanted, 0.8))
    assert shared_table.grasp_point == pytest.approx(wanted, abs=0.005)
    assert shared_table.joint_positions[-1] == pytest.approx(0.8, abs=0.01)
    assert expert.start_pose(np.array([0.6, 0.0, 0.1]), 0.8) is None
