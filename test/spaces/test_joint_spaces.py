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

"""Joint spaces: what a model's numbers mean on a robot, there and back."""

from dataclasses import replace

import numpy as np
import pytest

from oxygen_ros.config import Camera
from oxygen_ros.config import Joint
from oxygen_ros.config import RobotProfile
from oxygen_ros.spaces import action_space

ROBOT = RobotProfile('test', (Camera('front', 'front/image'),),
                     (Joint('a', lower=-2, upper=2), Joint('b', lower=0, upper=1), Joint('c')),
                     action_scale=(0.1, 2.0, 1.0))
STATE = np.array([1.0, 0.5, -0.5], np.float32)
ACTIONS = np.array([[1.0, 0.1, 0.0], [-3.0, 0.2, 0.25]])


def test_positions_are_targets_times_scale():
    space = action_space(replace(ROBOT, action_space='joint_position'))
    np.testing.assert_allclose(space.targets(ACTIONS, STATE), [[0.1, 0.2, 0], [-0.3, 0.4, 0.25]])


def test_deltas_count_from_the_state_of_the_observation():
    space = action_space(replace(ROBOT, action_space='joint_delta'))
    np.testing.assert_allclose(space.targets(ACTIONS, STATE),
                               [[1.1, 0.7, -0.5], [0.7, 0.9, -0.25]])


def test_velocities_add_up_from_the_state_and_the_gripper_stays_absolute():
    joints = (*ROBOT.joints[:2], replace(ROBOT.joints[2], role='gripper'))
    space = action_space(replace(ROBOT, joints=joints, action_space='joint_velocity'))
    actions = [[1.0, 0.5, 0.2], [1.0, -0.5, 0.3], [-2.0, 0.0, 0.4]]     # 20 rows per second
    np.testing.assert_allclose(
        space.targets(actions, STATE),
        [[1.005, 0.55, 0.2], [1.01, 0.5, 0.3], [1.0, 0.5, 0.4]])


def test_a_robot_that_is_told_velocities_gets_them_one_by_one():
    """From row to row goes what each action asks for, the first one's included."""
    robot = replace(ROBOT, action_space='joint_velocity', command_type='velocity_multi_array',
                    action_scale=())
    velocities = np.random.default_rng(0).normal(size=(6, 3))
    space = action_space(robot)
    targets = space.targets(velocities, STATE)
    np.testing.assert_allclose(targets[0], STATE)
    np.testing.assert_allclose(np.diff(targets, axis=0) * 20, velocities[:-1])
    back = space.actions(targets, STATE)
    np.testing.assert_allclose(back[:-1], velocities[:-1])
    assert np.isnan(back[-1]).all()


@pytest.mark.parametrize('name', ('joint_position', 'joint_delta', 'joint_velocity'))
def test_targets_convert_back(name):
    space = action_space(replace(ROBOT, action_space=name))
    np.testing.assert_allclose(space.actions(space.targets(ACTIONS, STATE), STATE), ACTIONS,
                               atol=1e-12)


@pytest.mark.parametrize('name', ('joint_position', 'joint_delta', 'joint_velocity'))
def test_a_column_without_effect_is_not_known(name):
    space = action_space(replace(ROBOT, action_space=name, action_scale=(0.1, 0.0, 1.0)))
    told = space.actions(space.targets(ACTIONS, STATE), STATE)
    np.testing.assert_array_equal(np.isnan(told), [[False, True, False]] * 2)


def test_the_range_of_the_state_is_that_of_the_joints():
    lower, upper = action_space(ROBOT).state_range
    np.testing.assert_allclose(lower, [-2, 0, -np.pi])
    np.testing.assert_allclose(upper, [2, 1, np.pi])
