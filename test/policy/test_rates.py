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

"""Robots that are told how fast to go: rates on the wire, counted from the measured state."""

from dataclasses import replace

import numpy as np
import pytest

from oxygen_ros.config import Camera
from oxygen_ros.config import Joint
from oxygen_ros.config import RobotProfile
from oxygen_ros.rotations import matrix_from_rotvec
from oxygen_ros.rotations import matrix_from_rpy
from oxygen_ros.rotations import rpy_from_matrix
from oxygen_ros.types import Cause
from oxygen_ros.types import Verdict

RATE_HZ = 50


@pytest.fixture
def rig(new_rig, new_profile):
    """Return a rig of a robot whose lift is told velocities and whose grip positions."""
    profile = new_profile()
    lift, grip = profile.joints
    return new_rig(replace(profile, joints=(lift, replace(grip, role='gripper')),
                           command_type='velocity_multi_array', gripper_topic='grip'))


def ramp(velocity, *, start=0.0, grip=1.0):
    """Make a chunk whose lift goes at a velocity, from `start` on."""
    lift = start + velocity * 0.05 * np.arange(20)
    return np.column_stack([lift, np.full(20, grip)]).astype(np.float32)


def test_the_velocity_of_the_chunk_is_sent_whatever_the_arm_lags_behind(rig):
    rig.position = np.array([-0.3, 1.0])      # far from where the chunk begins
    rig.tick()
    rig.chunk(ramp(0.4))
    for result in rig.ticks(10):
        assert result.verdict is Verdict.FRESH
        assert result.command[0] == pytest.approx(0.4, rel=1e-4)
        assert result.command[1] == pytest.approx(1.0)       # the gripper is told a position


def test_a_new_chunk_does_not_make_up_for_the_lag_in_one_tick(rig):
    rig.tick()
    rig.chunk(ramp(0.4))
    rig.ticks(10)
    rig.chunk(ramp(0.4, start=-0.05))         # the arm lags 5 cm behind
    assert all(result.command[0] == pytest.approx(0.4, rel=1e-4) for result in rig.ticks(5))


def test_velocity_and_position_limits_bound_the_rate(rig):
    rig.tick()
    rig.chunk(ramp(9.0))
    assert rig.tick().command[0] == pytest.approx(1.0)       # max_velocity
    rig.position = np.array([0.995, 1.0])                    # 5 mm before the limit
    assert rig.tick().command[0] == pytest.approx(0.005 * RATE_HZ)
    rig.position = np.array([1.0, 1.0])
    result = rig.tick()
    assert result.command[0] == 0 and result.clamped == 1


def test_a_hand_that_pushes_the_arm_out_of_its_limits_is_led_back(rig):
    rig.position = np.array([1.01, 1.0])
    rig.tick()
    rig.chunk(ramp(0.5))
    assert rig.tick().command[0] < 0


@pytest.mark.parametrize('kind', ('hold', 'zero_velocity'))
@pytest.mark.parametrize('position', (0.2, 1.01))
def test_the_fallback_is_zero_wherever_the_arm_is(new_rig, rig, kind, position):
    rig = new_rig(rig.profile, fallback=kind)
    rig.tick()
    rig.chunk(ramp(0.4))
    assert rig.tick().command[0] > 0
    rig.reporting_cameras.clear()
    rig.position = np.array([position, 1.0])
    results = rig.ticks(30)
    assert results[-1].cause is Cause.CAMERA_STALE
    rig.position = np.array([position - 0.05, 1.0])          # it drifts: no command pulls it back
    assert rig.tick().command[0] == 0
    assert rig.controller.final_command()[0] == 0


def test_ramp_down_fades_the_velocity(new_rig, rig):
    rig = new_rig(rig.profile, fallback='ramp_down', ramp_down_s=0.2)
    rig.tick()
    rig.chunk(ramp(0.5))
    rig.ticks(3)
    rig.controller.stop()
    fading = [result.command[0] for result in rig.ticks(12)]
    assert fading[0] == pytest.approx(0.45, rel=1e-3)
    assert np.all(np.diff(fading) <= 1e-9)
    assert fading[-1] == 0


def test_nothing_is_sent_under_none(new_rig, rig):
    rig = new_rig(rig.profile, fallback='none')
    rig.tick()
    rig.chunk(ramp(0.5))
    rig.tick()
    rig.controller.stop()
    assert rig.tick().command is None


def test_the_last_row_of_a_chunk_stands_still(rig):
    rig.tick()
    rig.chunk(ramp(0.4), age_s=0.96)          # its last row is due
    assert rig.tick().command[0] == 0


def test_a_twist_holds_the_angular_velocity_about_the_fixed_axes(new_rig):
    """Rates of roll, pitch and yaw are another thing once the tool is tilted."""
    axes = [Joint(axis, lower=-1, upper=1, max_velocity=1.0, unit='m') for axis in 'xyz']
    angles = [Joint(axis, lower=-4, upper=4, max_velocity=5.0)
              for axis in ('roll', 'pitch', 'yaw')]
    rig = new_rig(RobotProfile(
        'cartesian', (Camera('front', 'front/image'), Camera('wrist', 'wrist/image')),
        (*axes, *angles), command_type='twist_stamped', control_rate_hz=50, start_jump=0.5))
    rig.position = np.array([0.1, 0.2, 0.3, 0.4, 0.8, -0.3])
    omega = np.array([0.2, -0.1, 0.3])        # rad/s
    rows = []
    for row in range(20):
        turned = matrix_from_rotvec(omega * 0.05 * row) @ matrix_from_rpy(rig.position[3:])
        rows.append([*(rig.position[:3] + 0.01 * row), *rpy_from_matrix(turned)])
    rig.tick()
    rig.chunk(np.array(rows, np.float32))
    command = rig.tick().command
    np.testing.assert_allclose(command[:3], [0.2] * 3, rtol=1e-3)
    np.testing.assert_allclose(command[3:], omega, atol=5e-3)
