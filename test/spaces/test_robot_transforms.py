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

"""Shipped profiles make of states and actions what openpi makes of them, for its three robots."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from oxygen_ros.config import load_robot
from oxygen_ros.rotations import matrix_from_rotvec
from oxygen_ros.rotations import matrix_from_rpy
from oxygen_ros.rotations import rpy_from_matrix
from oxygen_ros.spaces import action_space

# What openpi's transforms gave: see the README beside it.
GOLDEN = np.load(Path(__file__).parents[1] / 'checkpoint' / 'data' / 'robot_transforms.npz')
CASES = sorted({name.split('/')[0] for name in GOLDEN.files})


def of_robot(name: str) -> list[str]:
    """Return the golden cases of a robot."""
    found = [case for case in CASES if case.startswith(name) and not case.endswith('_off')]
    assert len(found) >= 2
    return found


def libero_state(state):
    """Return axes x y z roll pitch yaw and one finger for [position, rotation vector, fingers]."""
    rpy = rpy_from_matrix(matrix_from_rotvec(state[3:6]), near=np.array([np.pi, 0, 0]))
    return np.array([*state[:3], *rpy, state[6]])


@pytest.mark.parametrize('case', of_robot('aloha'))
def test_aloha(case):
    space = action_space(load_robot('aloha'))
    raw = GOLDEN[f'{case}/obs/state']
    np.testing.assert_allclose(space.model_state(raw), GOLDEN[f'{case}/in/state_robot'], atol=1e-6)
    actions = GOLDEN[f'{case}/out/after_Unnormalize'][:, :14]
    targets = space.targets(actions, raw)
    np.testing.assert_allclose(targets, GOLDEN[f'{case}/out/final_actions'], atol=1e-6)
    np.testing.assert_allclose(space.actions(targets, raw), actions, atol=1e-9)


def test_aloha_in_its_own_convention():
    """Openpi's adapt_to_pi off: the same profile without flips and linkages."""
    robot = load_robot('aloha')
    joints = tuple(replace(joint, flip=False, linkage=None) for joint in robot.joints)
    space, case = action_space(replace(robot, joints=joints)), 'aloha_1_adapt_to_pi_off'
    raw = GOLDEN['aloha_1/obs/state']
    np.testing.assert_allclose(space.model_state(raw), GOLDEN[f'{case}/in/state_robot'])
    np.testing.assert_allclose(
        space.targets(GOLDEN[f'{case}/out/after_Unnormalize'][:, :14], raw),
        GOLDEN[f'{case}/out/final_actions'], atol=1e-6)


@pytest.mark.parametrize('case', of_robot('droid'))
def test_droid(case):
    """Openpi hands velocities to DROID's controller; a unit of them is 0.2 rad per step."""
    robot = load_robot('droid')
    raw = np.concatenate([GOLDEN[f'{case}/obs/observation/joint_position'],
                          np.atleast_1d(GOLDEN[f'{case}/obs/observation/gripper_position'])])
    velocities = GOLDEN[f'{case}/out/final_actions']
    positions = action_space(replace(robot, command_type='joint_trajectory'))
    np.testing.assert_allclose(positions.model_state(raw), GOLDEN[f'{case}/in/state_robot'])
    targets = positions.targets(velocities, raw)
    np.testing.assert_allclose(np.diff(targets[:, :7], axis=0, prepend=[raw[:7]]),
                               velocities[:, :7] * 0.2, atol=1e-9)
    np.testing.assert_allclose(targets[:, 7], velocities[:, 7], atol=1e-9)
    # The profile's own command: from row to row at the velocity of each action.
    rates = action_space(robot).targets(velocities, raw)
    np.testing.assert_allclose(np.diff(rates[:, :7], axis=0) * 15, velocities[:-1, :7] * 3.0,
                               atol=1e-9)
    np.testing.assert_allclose(rates[:, 7], velocities[:, 7], atol=1e-9)


@pytest.mark.parametrize('case', ('libero_0', 'libero_1'))
def test_libero_state(case):
    raw = GOLDEN[f'{case}/obs/observation/state']
    expected = GOLDEN[f'{case}/in/state_robot'].copy()
    expected[7] = -expected[6]       # the fingers move as one
    np.testing.assert_allclose(action_space(load_robot('libero')).model_state(libero_state(raw)),
                               expected, atol=1e-9)


@pytest.mark.parametrize('case', of_robot('libero'))
def test_libero_actions(case):
    """The poses that LIBERO's controller would be asked for, one step after the other."""
    observed = case.replace('_padded_stats', '')
    state = libero_state(GOLDEN[f'{observed}/obs/observation/state'])
    actions = GOLDEN[f'{case}/out/final_actions']
    space = action_space(load_robot('libero'))
    targets = space.targets(actions, state)
    position, rotation = state[:3].copy(), matrix_from_rpy(state[3:6])
    for action, target in zip(actions, targets):
        position = position + 0.05 * action[:3]
        rotation = matrix_from_rotvec(0.5 * action[3:6]) @ rotation
        np.testing.assert_allclose(target[:3], position, atol=1e-9)
        np.testing.assert_allclose(matrix_from_rpy(target[3:6]), rotation, atol=1e-9)
    np.testing.assert_allclose(targets[:, 6], 0.02 - 0.02 * actions[:, 6], atol=1e-9)
    np.testing.assert_allclose(space.actions(targets, state), actions, atol=1e-8)


def test_lerobot_degrees():
    space = action_space(load_robot('so101_lerobot'))
    state = np.radians([10.0, -20.0, 30.0, 0.0, 90.0, 0.0])
    state[5] = -0.17 + 1.91 * 0.4                       # 40 % open
    np.testing.assert_allclose(space.model_state(state), [10, -20, 30, 0, 90, 40], atol=1e-4)
    np.testing.assert_allclose(space.targets([[10.0, -20.0, 30.0, 0.0, 90.0, 40.0]], state)[0],
                               state, atol=1e-5)
