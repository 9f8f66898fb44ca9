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

"""Demonstrations: repeatable, undisturbed in their labels, true in their words."""

import numpy as np
import pytest

from oxygen_ros.runtime.facts import parse_fact
from oxygen_ros.sim.tasks import HELD_OUT_PHRASINGS
from oxygen_ros.sim.tasks import Task
from oxygen_ros.training.demonstrations import _disturbed
from oxygen_ros.training.demonstrations import Demonstrator
from oxygen_ros.training.demonstrations import Plan
from oxygen_ros.training.moments import Frames
from oxygen_ros.training.moments import HORIZON


def test_an_episode_follows_from_its_number_alone(frames):
    again = Frames()
    demonstrator = Demonstrator(0)
    demonstrator.run(3, Frames())       # whatever ran before
    assert demonstrator.run(1, again)
    demonstrator.close()
    rows = frames['episodes'] == 1
    assert rows.any()
    for name, values in again.arrays().items():
        assert np.array_equal(values, frames[name][rows], equal_nan=values.dtype.kind == 'f'), name


def test_chunks_begin_near_the_tool_and_speak_of_the_gripper_absolutely(frames):
    actions, states = frames['actions'], frames['states']
    assert actions.shape[1:] == (HORIZON, 7) and states.shape[1:] == (7,)
    assert np.abs(actions[:, 0, :3]).max() < 0.06        # m: a command leads by a little
    # While the hand does not move, the command says where it is.
    assert np.abs(actions[:, 0, 6] - states[:, 6]).max() < 0.6
    assert (actions[:, :, 6] > -0.3).all() and (actions[:, :, 6] < 1.8).all()


def test_words_name_a_known_task_and_every_memory_line_is_a_fact(frames):
    for instruction, subtask, narration, memory in frames['texts']:
        task = Task.from_instruction(str(instruction))
        assert all(phrase.format(color=task.color) != instruction
                   for phrase in HELD_OUT_PHRASINGS[task.verb])
        assert task.color in subtask or subtask == 'done'
        assert len(narration.split(', ')) == 3
        facts = [parse_fact(line) for line in memory.split('\n') if line]
        assert all(fact[1] == 'is' for fact in facts)
        hidden = sum('out of sight' in part for part in narration.split(', '))
        assert len(facts) == 3 - hidden


def test_cubes_are_marked_where_the_pictures_show_their_colours(frames):
    index = int(np.argmax(frames['shown'][:, 0].all(axis=1)))
    picture = frames['images'][index, 0].astype(int)
    for channel, (column, row) in enumerate(frames['pixels'][index, 0]):
        inside = picture[int(row * 96), int(column * 96)]
        near = picture[max(0, int(row * 96) - 5):int(row * 96) + 6,
                       max(0, int(column * 96) - 5):int(column * 96) + 6]
        assert (near[..., channel] > 1.5 * np.delete(near, channel, -1).max(-1)).any(), inside


@pytest.mark.parametrize(('step', 'disturbed'), [
    (20 - HORIZON + 1, False),    # its last command is decided just before the kick
    (20 - HORIZON + 2, True), (20, True),
    (26, True),                   # the command it obeys was kicked
    (27, False)])
def test_no_chunk_holds_a_kicked_command(step, disturbed):
    plan = Plan(range(20, 26), np.zeros(6), switch=-1, hide=-1)
    assert _disturbed(step, plan) is disturbed


def test_no_chunk_holds_commands_of_a_task_to_come():
    plan = Plan(range(0), np.zeros(6), switch=20, hide=-1)
    assert not _disturbed(20 - HORIZON + 1, plan)
    assert _disturbed(20 - HORIZON + 2, plan) and _disturbed(19, plan)
    assert not _disturbed(20, plan)
