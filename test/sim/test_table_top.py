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


"""The simulated table: repeatable, obeys commands, holds a cube, and knows the truth."""

import numpy as np
import pytest

from oxygen_ros.config import ConfigError
from oxygen_ros.config import load_robot
from oxygen_ros.sim import ALL_TASKS
from oxygen_ros.sim import CAMERAS
from oxygen_ros.sim import CUBE_COLORS
from oxygen_ros.sim import Task
from oxygen_ros.sim.table_top import HOME

CONTROL_S = 0.02
OPEN, CLOSED = 1.0, -0.12
# Joint angles that bring the grasp point to x 0.20 m, y 0 at three heights.
ABOVE = (-0.109, -0.742, 0.66, 1.315, -1.587)
AROUND = (-0.113, -0.173, 0.623, 1.12, -1.635)
HIGH = (-0.1, -1.105, 0.726, 1.315, -1.47)
# The same over the tray, and lower in it.
OVER_TRAY = (-0.788, -0.288, 0.183, 1.124, -2.337)
IN_TRAY = (-0.791, 0.419, -0.386, 1.495, -2.314)


@pytest.fixture
def table(shared_table):
    """Return the scene at seed 0."""
    shared_table.reset(seed=0)
    return shared_table


def move(table, arm, gripper, seconds=1.0):
    """Go to joint angles in small steps as a controller would."""
    start, goal = table.joint_positions, np.array([*arm, gripper])
    steps = round(seconds / CONTROL_S)
    for step in range(steps):
        table.command(start + (goal - start) * min(1.0, 1.5 * (step + 1) / steps))
        table.step(CONTROL_S)


def grasp_red_cube(table, task):
    """Put the red cube in front of the arm, alone, and lift it."""
    table.reset(seed=0, task=task)
    table.place_cube('red', (0.20, 0.0, 0.015))
    table.place_cube('green', (0.25, -0.14, 0.015))
    table.place_cube('blue', (0.16, -0.14, 0.015))
    move(table, ABOVE, OPEN)
    move(table, AROUND, OPEN)
    move(table, AROUND, CLOSED, seconds=0.6)
    move(table, HIGH, CLOSED)


def test_joints_are_those_of_the_robot_profile(table):
    profile = load_robot('so101')
    assert table.joint_names == profile.joint_names
    assert {camera.slot for camera in CAMERAS} == set(profile.camera_slots)
    low, high = table._low, table._high
    for joint, lowest, highest in zip(profile.joints, low, high, strict=True):
        assert lowest - 1e-3 <= joint.lower and joint.upper <= highest + 1e-3, joint.name


def test_same_seed_same_episode_to_the_last_bit(table):
    def episode():
        table.reset(seed=7)
        random = np.random.default_rng(1)
        for _ in range(20):
            table.command(HOME + random.uniform(-0.3, 0.3, 6))
            table.step(CONTROL_S)
        return table.task, table.joint_positions, table.render('front')

    first, second = episode(), episode()
    assert first[0] == second[0]
    assert first[1].tobytes() == second[1].tobytes()
    assert first[2].tobytes() == second[2].tobytes()


def test_other_seeds_give_other_episodes_with_room_between_cubes(table):
    layouts, tasks = set(), set()
    for seed in range(40):
        table.reset(seed=seed)
        spots = [table.cube_position(color) for color in CUBE_COLORS]
        layouts.add(tuple(np.round(spots, 4).ravel()))
        tasks.add(table.task)
        gaps = [np.hypot(*(a - b)[:2]) for a, b in zip(spots, spots[1:] + spots[:1], strict=True)]
        assert min(gaps) > 0.03, f'seed {seed}: cubes overlap'
        assert not table.success(), f'seed {seed}: {table.task.instruction} is done at the start'
    assert len(layouts) == 40
    assert len(tasks) == len(ALL_TASKS)


def test_arm_reaches_the_commanded_angles_and_holds_them(table):
    target = HOME + [0.5, 0.3, -0.3, -0.2, 0.4, 0.2]
    for _ in range(100):
        table.command(target)
        table.step(CONTROL_S)
    assert table.joint_positions == pytest.approx(target, abs=0.02)
    table.step(1.0)
    assert table.joint_positions == pytest.approx(target, abs=0.02)
    assert np.abs(table.joint_velocities).max() < 0.01


def test_target_out_of_range_stops_at_the_joint_limit(table):
    table.command(HOME + [10, 0, 0, 0, 0, 0])
    table.step(2.0)
    assert table.joint_positions[0] == pytest.approx(1.92, abs=0.03)


@pytest.mark.parametrize('command', [np.full(6, np.nan), np.zeros(5), np.array([np.inf] * 6)])
def test_command_that_cannot_be_obeyed_is_refused_and_moves_nothing(table, command):
    before = table.joint_positions
    with pytest.raises(ValueError, match='6 finite angles'):
        table.command(command)
    table.step(0.2)
    assert table.joint_positions == pytest.approx(before, abs=0.02)


def test_step_that_is_no_multiple_of_the_time_step_is_refused(table):
    with pytest.raises(ValueError, match='multiple of 0.0025'):
        table.step(0.001)


def test_fingertips_lift_a_cube_and_the_oracles_say_so(table):
    grasp_red_cube(table, Task('pick', 'red'))
    assert table.held_cube() == 'red'
    assert table.success()
    assert ('red cube', 'is', 'in the gripper') in table.facts()
    table.step(3.0)
    assert table.held_cube() == 'red', 'the cube slipped'


def test_cube_put_in_the_tray_counts_once_the_hand_is_open(table):
    grasp_red_cube(table, Task('put', 'red'))
    move(table, OVER_TRAY, CLOSED, seconds=2.0)
    move(table, IN_TRAY, CLOSED)
    assert not table.success(), 'still in the hand'
    move(table, IN_TRAY, OPEN)
    assert table.success()
    assert ('red cube', 'is', 'in the tray') in table.facts()


def test_lifting_the_wrong_cube_is_no_success(table):
    grasp_red_cube(table, Task('pick', 'blue'))
    assert table.held_cube() == 'red'
    assert not table.success()


@pytest.mark.parametrize(('y', 'place'), [
    (-0.12, 'on the left'), (-0.03, 'in the middle'), (0.06, 'on the right')])
def test_facts_name_the_side_the_front_camera_sees(table, y, place):
    table.place_cube('green', (0.28, y, 0.015))
    table.place_cube('red', (0.16, -0.14, 0.015))
    table.place_cube('blue', (0.21, 0.155, 0.02))
    assert ('green cube', 'is', place) in table.facts()
    picture = table.render('front').astype(int)
    green = (picture[..., 1] > picture[..., 0] + 40) & (picture[..., 1] > picture[..., 2] + 40)
    column = np.nonzero(green)[1].mean() / picture.shape[1]
    expected = {'on the left': (0.0, 0.35), 'in the middle': (0.25, 0.55),
                'on the right': (0.45, 0.8)}[place]
    assert expected[0] < column < expected[1]


@pytest.mark.parametrize('text', ['pick up the red cube', '  Pick up the RED cube. ',
                                  'grab the red cube'])
def test_phrasings_name_the_same_task(text):
    assert Task.from_instruction(text) == Task('pick', 'red')


def test_unknown_instruction_lists_what_is_understood():
    with pytest.raises(ConfigError, match='pick up the COLOR cube.*red, green, blue'):
        Task.from_instruction('make coffee')
    with pytest.raises(ConfigError, match='purple'):
        Task('pick', 'purple')
