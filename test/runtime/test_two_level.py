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

"""Two-level control with the real engine: what is said about one frame is done from the next."""

from dataclasses import replace

import numpy as np
import pytest
from runtime_helpers import Listening

from oxygen_ros.clock import ManualClock
from oxygen_ros.config import ControlConfig
from oxygen_ros.config import EngineConfig
from oxygen_ros.config import load_robot
from oxygen_ros.config import StandingTask
from oxygen_ros.runtime.session import Session

SUBTASK = StandingTask('subtask', '\nTask: {instruction}\nSubtask: ', destination='instruction',
                       choices=((' grasp',), (' the red cube',)), max_tokens=8)
WORDS = 'grasp the red cube'


class Drive:
    """An inline session that looks at the same scene again and again."""

    def __init__(self, *tasks):
        self.listener, self.clock = Listening(), ManualClock(1)
        self.session = Session(load_robot('so101'), ControlConfig(), EngineConfig(), tasks,
                               listener=self.listener, clock=self.clock,
                               node_clock_ns=self.clock.now_ns, host='inline')
        self.session.configure()
        self.session.activate()
        self._images = {slot: np.random.default_rng(1).integers(0, 256, (64, 64, 3), np.uint8)
                        for slot in self.session.robot.camera_slots}

    def look(self, *, at=None):
        """Run one frame to its end; return its actions. at: when another one looked last."""
        self.clock.advance(at.clock.now_ns() - self.clock.now_ns() if at else 100_000_000)
        self.session.observe(self._images, np.zeros(6), self.clock.now_ns())
        return self.listener.chunks[-1].actions

    def told(self, instruction, *, at=None):
        """Return the actions of a frame with another instruction."""
        self.session.set_instruction(instruction)
        return self.look(at=at)


@pytest.fixture
def make_drive():
    """Return a function that makes sessions, closed afterwards."""
    drives = []

    def make(*tasks):
        drives.append(Drive(*tasks))
        return drives[-1]
    yield make
    for drive in drives:
        drive.session.close()


def same(first, second):
    """Return whether two chunks are equal to the last bit."""
    return first.tobytes() == second.tobytes()


def test_a_subtask_is_what_the_actions_do_from_the_next_frame_on(make_drive):
    """Equal to an instruction of the same words; still one encode per frame."""
    drive, plain = make_drive(SUBTASK), make_drive()
    instruction = plain.session.robot.instruction
    ordered, subtasked = plain.told(instruction), plain.told(WORDS)
    assert not same(ordered, subtasked)
    assert same(drive.look(), ordered)            # the text about this frame is written after it
    assert drive.session.subtasks.current.text == WORDS
    assert same(drive.look(), subtasked)
    status = drive.session.snapshot().engine
    assert status.frames == status.encodes == 2
    assert [change.text for change in drive.listener.subtasks] == [WORDS]


def test_a_new_instruction_begins_without_the_subtask_of_the_old_one(make_drive):
    """Its first frame carries the instruction itself; so does the first after a reset."""
    drive, plain = make_drive(SUBTASK), make_drive()
    drive.look()
    assert same(drive.told('stack the cubes'), plain.told('stack the cubes', at=drive))
    drive.look()
    drive.session.reset('test')
    assert same(drive.look(), plain.look(at=drive))
    assert same(drive.look(), plain.told(WORDS, at=drive))


def test_a_held_subtask_is_done_whatever_the_model_says(make_drive):
    """Until it is released."""
    drive, plain = make_drive(SUBTASK), make_drive()
    drive.session.subtasks.hold('wait here')
    assert same(drive.look(), plain.told('wait here', at=drive))
    assert same(drive.look(), plain.look(at=drive))
    drive.session.subtasks.release()
    drive.look()
    assert same(drive.look(), plain.told(WORDS, at=drive))


def test_a_subtask_that_does_not_feed_the_actions_leaves_them_alone(make_drive):
    """The default: it is only published."""
    drive, plain = make_drive(StandingTask('subtask', SUBTASK.prompt, choices=SUBTASK.choices)), \
        make_drive()
    assert same(drive.look(), plain.look()) and same(drive.look(), plain.look())
    assert any(delta.full_text.strip() == WORDS for delta in drive.listener.deltas)


def test_a_task_on_change_starts_by_scene_and_instruction_not_by_the_subtask(make_drive):
    """Else it would set itself off by what it said."""
    drive = make_drive(replace(SUBTASK, trigger='on_change'))
    for _ in range(3):
        drive.look()
    assert drive.session.subtasks.current.text == WORDS
    assert len(drive.listener.ended) == 1
    drive.told('stack the cubes')
    drive.look()
    assert len(drive.listener.ended) == 2
