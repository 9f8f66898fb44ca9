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

"""End-effector deltas: each convention against the same motion written out by hand."""

from dataclasses import replace

import numpy as np
import pytest

from oxygen_ros.config import Camera
from oxygen_ros.config import ConfigError
from oxygen_ros.config import EndEffector
from oxygen_ros.config import Joint
from oxygen_ros.config import RobotProfile
from oxygen_ros.rotations import matrix_from_rotvec
from oxygen_ros.rotations import matrix_from_rpy
from oxygen_ros.spaces import action_space

# A robot that takes poses: what the model asks for can be read off its axes.
ROBOT = RobotProfile(
    'cartesian', (Camera('front', 'front/image'),),
    (*(Joint(axis, unit='m') for axis in 'xyz'), *map(Joint, ('roll', 'pitch', 'yaw')),
     Joint('gripper', lower=0.0, upper=0.08, unit='m', role='gripper')),
    action_space='ee_delta')
STATE = np.array([0.4, -0.1, 0.3, 3.0, 0.2, -0.5, 0.05])
QUARTER = np.pi / 2


def targets(actions, state=STATE, **convention):
    robot = replace(ROBOT, end_effector=EndEffector(**convention))
    return action_space(robot).targets(np.asarray(actions, float), state)


def test_base_axes_move_the_tool_wherever_it_points():
    found = targets([[0.1, 0, 0, 0, 0, 0, 0.02]])[0]
    np.testing.assert_allclose(found, STATE + [0.1, 0, 0, 0, 0, 0, -0.03], atol=1e-12)


def test_tool_axes_move_it_where_it_points():
    state = np.array([0, 0, 0, 0, 0, QUARTER, 0])       # turned to the left
    found = targets([[0.1, 0, 0, 0, 0, 0, 0]], state, frame='tool')[0]
    np.testing.assert_allclose(found, [0, 0.1, 0, 0, 0, QUARTER, 0], atol=1e-12)


@pytest.mark.parametrize('frame', ('base', 'tool'))
def test_turns_are_about_the_axes_of_the_frame(frame):
    turn = np.array([0.3, -0.2, 0.4])
    found = targets([[0, 0, 0, *turn, 0]], frame=frame)[0]
    before, turned = matrix_from_rpy(STATE[3:6]), matrix_from_rotvec(turn)
    expected = turned @ before if frame == 'base' else before @ turned
    np.testing.assert_allclose(matrix_from_rpy(found[3:6]), expected, atol=1e-9)


def test_rows_count_from_the_observation_or_from_the_row_before():
    rows = np.zeros((3, 7))
    rows[:, 0], rows[:, 5] = 0.01, 0.1
    absolute = targets(rows, relative_to='observation')
    np.testing.assert_allclose(absolute[:, 0], [0.41] * 3)
    np.testing.assert_allclose(absolute[:, 5], [-0.4] * 3, atol=1e-9)
    steps = targets(rows, relative_to='previous')
    np.testing.assert_allclose(steps[:, 0], [0.41, 0.42, 0.43])
    np.testing.assert_allclose(steps[:, 5], [-0.4, -0.3, -0.2], atol=1e-9)


@pytest.mark.parametrize('relative_to', ('observation', 'previous'))
@pytest.mark.parametrize('frame', ('base', 'tool'))
def test_targets_convert_back(relative_to, frame):
    rng = np.random.default_rng(0)
    actions = rng.uniform(-0.4, 0.4, (8, 7))
    robot = replace(ROBOT, end_effector=EndEffector(relative_to=relative_to, frame=frame),
                    action_scale=(0.05,) * 3 + (0.5,) * 3 + (-0.02,),
                    action_offset=(0.0,) * 6 + (0.04,))
    space = action_space(robot)
    np.testing.assert_allclose(space.actions(space.targets(actions, STATE), STATE), actions,
                               atol=1e-9)


def test_angles_go_on_over_a_whole_turn():
    """A gripper that points down has roll near pi: a target beyond must not spin it around."""
    rows = np.zeros((6, 7))
    rows[:, 3] = np.arange(1, 7) * 0.1
    state = np.array([0.4, 0, 0.3, 3.1, 0, 0, 0])
    np.testing.assert_allclose(targets(rows, state)[:, 3], 3.1 + rows[:, 3], atol=1e-9)


def test_the_state_is_pose_and_gripper():
    space = action_space(ROBOT)
    state = space.model_state(STATE)
    assert space.state_size == 7
    np.testing.assert_allclose(state[:3], STATE[:3])
    np.testing.assert_allclose(matrix_from_rotvec(state[3:6]), matrix_from_rpy(STATE[3:6]),
                               atol=1e-9)
    assert np.linalg.norm(state[3:6]) <= np.pi
    assert state[6] == STATE[6]


def test_the_rotation_of_the_state_stays_near_what_the_model_knows():
    """LIBERO counts a turn about x to beyond pi instead of from -pi on."""
    robot = replace(ROBOT, end_effector=EndEffector(rotation_near=(np.pi, 0.0, 0.0)))
    for roll in (2.9, 3.1, 3.2, 3.4):
        found = action_space(robot).model_state(np.array([0, 0, 0, roll, 0, 0, 0]))[3:6]
        np.testing.assert_allclose(found, [roll, 0, 0], atol=1e-9)


def test_a_robot_without_pose_is_refused():
    with pytest.raises(ConfigError, match='ee_delta needs the pose .*tool_frame.*x y z roll'):
        replace(ROBOT, joints=(Joint('a'), Joint('b')))


@pytest.mark.parametrize('key, value, remedy', (
    ('relative_to', 'start', 'observation, previous'), ('frame', 'world', 'base, tool'),
    ('rotation_weight', -1.0, 'from 0 to 10'), ('rotation_near', (1.0,), 'three numbers')))
def test_a_convention_that_is_none_is_refused(key, value, remedy):
    with pytest.raises(ConfigError, match=f'end_effector.{key} is .*{remedy}'):
        EndEffector(**{key: value})
