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

"""Poses as named axes: continuous over a whole turn, joined with joint states, refused if none."""

from types import SimpleNamespace

import numpy as np
import pytest

from oxygen_ros.config import Camera
from oxygen_ros.config import Joint
from oxygen_ros.config import RobotProfile
from oxygen_ros.rotations import matrix_from_rpy
from oxygen_ros.rotations import quaternion_from_matrix
from oxygen_ros.sensing.convert import ImageDecoder
from oxygen_ros.sensing.intake import Intake
from oxygen_ros.sensing.intake import JOINTS_SOURCE
from oxygen_ros.sensing.intake import POSE_SOURCE
from oxygen_ros.sensing.intake import Source
from oxygen_ros.sensing.joints import JointReader

ROBOT = RobotProfile(
    'cartesian', (Camera('front', 'front/image'),),
    (*(Joint(axis, lower=-1, upper=1, unit='m') for axis in 'xyz'),
     Joint('roll', lower=2.6, upper=3.7), Joint('pitch', lower=-0.5, upper=0.5),
     Joint('yaw', lower=-7, upper=7), Joint('grip', role='gripper')),
    pose_topic='pose', gripper_topic='grip')


class Session:
    """Keeps what was measured."""

    def __init__(self):
        self.measured_at = []

    def measured(self, positions, stamp_ns):
        self.measured_at.append((positions, stamp_ns))


@pytest.fixture
def intake():
    refused = []
    intake = Intake(ROBOT, decoder=ImageDecoder('native'),
                    on_refused=lambda name, source, reason: refused.append((name, reason)))
    intake.sources.update({POSE_SOURCE: Source('pose', True),
                           JOINTS_SOURCE: Source('joint_states', True)})
    intake.session, intake.refused = Session(), refused
    return intake


def header(stamp_ns):
    return SimpleNamespace(stamp=SimpleNamespace(sec=0, nanosec=stamp_ns))


def show(intake, stamp_ns, position=(0.1, 0.2, 0.3), rpy=(3.0, 0.0, 0.0), quaternion=None):
    """Let a pose arrive."""
    if quaternion is None:
        quaternion = quaternion_from_matrix(matrix_from_rpy(np.array(rpy)))
    intake.pose(SimpleNamespace(header=header(stamp_ns), pose=SimpleNamespace(
        position=SimpleNamespace(**dict(zip('xyz', position))),
        orientation=SimpleNamespace(**dict(zip('xyzw', quaternion))))), now_ns=stamp_ns)


def grip(intake, stamp_ns, position=0.5):
    """Let the state of the gripper arrive."""
    intake.joints(SimpleNamespace(header=header(stamp_ns), name=['grip'], position=[position]),
                  now_ns=stamp_ns)


def test_pose_and_gripper_make_one_state_as_old_as_the_older(intake):
    show(intake, 1000)
    assert not intake.session.measured_at            # the gripper is missing
    grip(intake, 2000)
    positions, stamp_ns = intake.session.measured_at[-1]
    np.testing.assert_allclose(positions, [0.1, 0.2, 0.3, 3.0, 0, 0, 0.5], atol=1e-12)
    assert stamp_ns == 1000


def test_angles_begin_within_the_limits_and_go_on_over_a_whole_turn(intake):
    """A gripper that points down has roll pi, which is as well -pi: no command may spin it."""
    grip(intake, 1)
    found = []
    for step in range(60):
        show(intake, step + 2, rpy=(3.4 - 0.01 * step, 0.1, 0.1 * step))
        found.append(intake.session.measured_at[-1][0][3:6])
    np.testing.assert_allclose(
        found, [[3.4 - 0.01 * step, 0.1, 0.1 * step] for step in range(60)], atol=1e-9)


def test_a_jump_of_time_does_not_change_the_turn(intake):
    grip(intake, 1)
    for step in range(70):
        show(intake, step + 2, rpy=(3.0, 0.0, 0.1 * step))        # yaw to 6.9
    intake.clear()
    show(intake, 100, rpy=(3.0, 0.0, 6.9))
    grip(intake, 100)
    assert intake.session.measured_at[-1][0][5] == pytest.approx(6.9)


@pytest.mark.parametrize('change, words', (
    ({'quaternion': (0, 0, 0, 0)}, 'length 0'), ({'quaternion': (0, 0, 0, 2.0)}, 'length 2'),
    ({'quaternion': (np.nan, 0, 0, 1)}, 'length nan'),
    ({'position': (np.inf, 0, 0)}, 'position of the pose')))
def test_what_is_no_pose_is_refused(intake, change, words):
    show(intake, 1000, **change)
    [(name, reason)] = intake.refused
    assert name == POSE_SOURCE and words in reason
    assert intake.sources[POSE_SOURCE].num_refused == 1


def test_axes_named_in_joint_states_are_continuous_too():
    reader = JointReader(('roll', 'grip'), turning={'roll': np.pi})
    for roll, expected in ((-3.1, 2 * np.pi - 3.1), (3.0, 3.0), (-3.0, 2 * np.pi - 3.0)):
        sample = reader.read(['grip', 'roll'], [9.0, roll], 1)
        np.testing.assert_allclose(sample.positions, [expected, 9.0])
