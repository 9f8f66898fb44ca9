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

"""The SO-101 from its URDF: same poses as the simulated arm, and reaches followed by IK."""

from dataclasses import replace
import logging
from pathlib import Path
import sys
import time

import numpy as np
import pytest

from oxygen_ros.config import ConfigError
from oxygen_ros.config import EndEffector
from oxygen_ros.config import load_robot
from oxygen_ros.spaces import action_space
from oxygen_ros.spaces import kinematics
from oxygen_ros.spaces import Pose
from oxygen_ros.spaces.arm import ArmKinematics

ROBOT = load_robot('table_top')
LOWER, UPPER = (np.array([getattr(joint, end) for joint in ROBOT.joints])
                for end in ('lower', 'upper'))
ABOVE_TABLE = np.array([0.0, -0.3, 0.4, 1.4, 0.0, 1.0])    # gripper down, 7 cm above the table


@pytest.fixture(scope='module')
def arm():
    """Return the kinematics of the profile."""
    return kinematics(ROBOT)


def states(count, *, seed=0, part=1.0):
    """Draw states within a part of the limits."""
    middle, half = (UPPER + LOWER) / 2, (UPPER - LOWER) / 2 * part
    return middle + np.random.default_rng(seed).uniform(-half, half, (count, len(middle)))


def test_poses_are_those_of_the_simulated_arm(arm):
    mujoco = pytest.importorskip('mujoco')
    from oxygen_ros.sim.scene import build_model
    from oxygen_ros.sim.scene import GRASP_SITE
    model = build_model()
    data = mujoco.MjData(model)
    assert tuple(model.actuator(i).name for i in range(model.nu)) == ROBOT.joint_names
    for state in states(50):
        data.qpos[:len(state)] = state
        mujoco.mj_kinematics(model, data)
        pose = arm.pose(state)
        np.testing.assert_allclose(pose.position, data.site(GRASP_SITE).xpos, atol=2e-5)
        np.testing.assert_allclose(pose.rotation.ravel(), data.site(GRASP_SITE).xmat, atol=2e-5)


def test_poses_of_a_motion_give_back_the_motion(arm):
    for first, last in zip(states(20, part=0.8), states(20, seed=1, part=0.8)):
        motion = first + (last - first) * 0.3 * np.linspace(0, 1, 16)[:, None]
        found = arm.solve([arm.pose(state) for state in motion], motion[0])
        for state, wanted in zip(found, motion):
            assert np.linalg.norm(arm.pose(state).position - arm.pose(wanted).position) < 1e-4
        assert np.abs(np.diff(found, axis=0)).max() < 0.3       # no other branch of the arm


@pytest.mark.parametrize('goal', (
    (0.05, 0.0, -0.04), (0.0, 0.08, 0.0), (-0.03, -0.06, 0.05), (0.0, 0.0, 0.06)))
def test_a_reach_is_followed_within_3_mm(arm, goal):
    """Five joints cannot keep the rotation as well; the position comes first."""
    space = action_space(ROBOT)
    rows = np.zeros((16, 7))
    rows[:, :3] = np.linspace(0, 1, 16)[:, None] * goal
    targets = space.targets(rows, ABOVE_TABLE)
    start = arm.pose(ABOVE_TABLE).position
    for row, target in zip(rows, targets):
        assert np.linalg.norm(arm.pose(target).position - (start + row[:3])) < 0.003
    assert (targets >= LOWER).all() and (targets <= UPPER).all()
    assert np.abs(np.diff(targets, axis=0)).max() < 0.1
    np.testing.assert_allclose(space.actions(targets, ABOVE_TABLE)[:, :3], rows[:, :3], atol=3e-3)


def test_the_gripper_is_absolute_and_not_part_of_the_arm():
    rows = np.zeros((2, 7))
    rows[:, 6] = 0.2, 0.9
    targets = action_space(ROBOT).targets(rows, ABOVE_TABLE)
    np.testing.assert_allclose(targets[:, 5], [0.2, 0.9])
    np.testing.assert_allclose(targets[:, :5], [ABOVE_TABLE[:5]] * 2, atol=1e-4)


def test_out_of_reach_goes_to_the_nearest_and_is_told_once(caplog):
    arm = ArmKinematics(ROBOT)
    there = arm.pose(ABOVE_TABLE)
    far = [Pose(there.position + [0.05 * step, 0, 0], there.rotation) for step in range(12)]
    with caplog.at_level(logging.WARNING):
        targets = arm.solve(far, ABOVE_TABLE)
        arm.solve(far, ABOVE_TABLE)
    assert (targets >= LOWER).all() and (targets <= UPPER).all()
    assert arm.num_unreachable > 4
    x, y, _ = arm.pose(targets[-1]).position
    assert x > 0.35 and abs(np.arctan2(y, x)) < 0.1              # stretched out towards it
    told = [record.getMessage() for record in caplog.records]
    assert len(told) == 1 and 'out of reach' in told[0] and 'mm' in told[0]


def test_a_joint_at_its_limit_does_not_stop_the_others():
    """A target 3 cm nearer, and 1 cm beyond where the shoulder may turn to."""
    arm = ArmKinematics(ROBOT)
    state = ABOVE_TABLE.copy()
    state[0] = UPPER[0]
    there = arm.pose(state)
    outward = (there.position - [0.0388, 0, there.position[2]])    # from the shoulder's axis
    outward /= np.linalg.norm(outward)
    beyond = np.cross(outward, [0, 0, 1])
    goal = there.position - 0.03 * outward + 0.01 * beyond
    missed = goal - arm.pose(arm.solve([Pose(goal, there.rotation)], state)[0]).position
    assert abs(missed @ outward) < 0.002 and abs(missed[2]) < 0.002
    assert 0.002 < missed @ beyond < 0.011       # the wrist alone cannot make up for it


def test_a_chunk_is_solved_in_a_fraction_of_its_duration(arm):
    there = arm.pose(ABOVE_TABLE)
    poses = [Pose(there.position + [0.0, 0.004 * row, 0.0], there.rotation) for row in range(16)]
    durations_s = []
    for _ in range(5):
        started_s = time.process_time()
        arm.solve(poses, ABOVE_TABLE)
        durations_s.append(time.process_time() - started_s)
    assert min(durations_s) < 0.05          # the chunk lasts 0.8 s


@pytest.mark.parametrize('change, words', (
    ({'end_effector': EndEffector(tool_frame='claw')}, "tool_frame 'claw' is not in .*grasp"),
    ({'joints': (*ROBOT.joints[:4], replace(ROBOT.joints[4], name='twist'), ROBOT.joints[5])},
     'joint twist is not in urdf .*role: gripper.*wrist_roll')))
def test_names_that_the_urdf_lacks_are_refused_with_those_it_has(change, words):
    with pytest.raises(ConfigError, match=words):
        action_space(replace(ROBOT, **change))


def test_joints_may_be_listed_in_any_order(arm):
    order = [3, 5, 0, 4, 2, 1]
    other = kinematics(replace(ROBOT, joints=tuple(ROBOT.joints[i] for i in order)))
    state = states(1)[0]
    np.testing.assert_allclose(other.pose(state[order]).position, arm.pose(state).position)
    found = other.solve([arm.pose(state)], state[order])[0]
    np.testing.assert_allclose(found, state[order], atol=1e-3)


def test_a_joint_without_limits_turns_on(tmp_path):
    endless = Path(ROBOT.urdf).read_text(encoding='utf-8').replace(
        '<joint name="wrist_roll" type="revolute">',
        '<joint name="wrist_roll" type="continuous">')
    (tmp_path / 'arm.urdf').write_text(endless, encoding='utf-8')
    joints = tuple(replace(joint, lower=-20.0, upper=20.0) if joint.name == 'wrist_roll' else joint
                   for joint in ROBOT.joints)
    arm = kinematics(replace(ROBOT, urdf=str(tmp_path / 'arm.urdf'), joints=joints))
    state = ABOVE_TABLE.copy()
    state[4] = 9.0
    found = arm.solve([arm.pose(state + [0, 0, 0, 0, 0.2, 0])], state)[0]
    assert found[4] == pytest.approx(9.2, abs=1e-3)


def test_without_pinocchio_the_remedy_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, 'pinocchio', None)
    with pytest.raises(ConfigError, match='ee_delta needs the kinematics .*pip install "pin'):
        ArmKinematics(ROBOT)
