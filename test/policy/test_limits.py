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

"""The last gate before the wire."""

import numpy as np
import pytest

from oxygen_ros.config import Camera
from oxygen_ros.config import ConfigError
from oxygen_ros.config import Joint
from oxygen_ros.config import RobotProfile
from oxygen_ros.policy import Limits
from oxygen_ros.types import Cause

INSIDE = np.array([0.0, 1.0])


def test_robot_without_limits_may_not_move_and_every_missing_one_is_named():
    profile = RobotProfile(
        name='bare', cameras=(Camera('front', 'image'),),
        joints=(Joint('lift', lower=-1.0, max_velocity=1.0), Joint('grip', lower=0.0, upper=2.0)))
    with pytest.raises(ConfigError, match=r'bare .*lift\.upper, grip\.max_velocity'):
        Limits(profile, rate_hz=50)


def test_step_is_the_velocity_over_the_rate_unless_a_smaller_step_is_set(new_profile):
    assert Limits(new_profile(), rate_hz=50).step == pytest.approx([0.02, 0.05])
    assert Limits(new_profile(), rate_hz=200).step == pytest.approx([0.005, 0.025])


def test_action_within_the_limits_passes_unchanged(new_profile):
    limits = Limits(new_profile(), rate_hz=50)
    command, num_clamped, cause = limits.apply(np.array([0.01, 1.02]), INSIDE)
    assert command == pytest.approx([0.01, 1.02], abs=0)
    assert (num_clamped, cause) == (0, Cause.NONE)


def test_clamp_counts_the_joints_it_changed(new_profile):
    limits = Limits(new_profile(), rate_hz=50)
    command, num_clamped, _ = limits.apply(np.array([9.0, 1.01]), INSIDE)
    assert command == pytest.approx([0.02, 1.01])
    assert num_clamped == 1
    command, num_clamped, _ = limits.apply(np.array([9.0, -9.0]), np.array([0.99, 0.01]))
    assert command.tolist() == [1.0, 0.0]
    assert num_clamped == 2
    assert limits.clamped_per_joint.tolist() == [2, 1]
    assert limits.describe() == 'lift: 2 times beyond a limit, grip: 1 times beyond a limit'


def test_float32_rounding_of_a_limit_is_neither_counted_nor_rejected():
    profile = RobotProfile(name='odd', cameras=(Camera('front', 'image'),),
                           joints=(Joint('a', lower=-1.1, upper=1.1, max_velocity=1.0),))
    target = np.float64([np.float32(1.1)])
    assert target[0] > 1.1
    for mode in ('clamp', 'reject'):
        command, num_clamped, cause = Limits(profile, rate_hz=50, mode=mode).apply(
            target, np.array([1.09]))
        assert (command[0], num_clamped, cause) == (1.1, 0, Cause.NONE)


def test_first_command_is_limited_by_start_jump_and_velocity(new_profile):
    tight = Limits(new_profile(start_jump=0.004), rate_hz=50)
    assert tight.apply(np.array([1.0, 2.0]), INSIDE, first=True)[0] == pytest.approx([.004, 1.004])
    wide = Limits(new_profile(start_jump=5.0), rate_hz=50)
    assert wide.apply(np.array([1.0, 2.0]), INSIDE, first=True)[0] == pytest.approx([.02, 1.05])


def test_reference_outside_the_limits_is_led_back_without_a_leap(new_profile):
    limits = Limits(new_profile(), rate_hz=50)
    reference = np.array([1.5, -0.2])
    path = [reference]
    for _ in range(40):
        path.append(limits.apply(np.array([0.9, 0.5]), path[-1])[0])
    steps = np.diff(path, axis=0)
    assert (np.abs(steps) <= limits.step + 1e-12).all()
    assert (steps[:, 0] <= 0).all() and (steps[:, 1] >= 0).all()
    assert path[-1] == pytest.approx([0.9, 0.5])


@pytest.mark.parametrize('target', [[1.5, 1.0], [0.0, -0.1], [0.021, 1.0], [0.0, 1.06]])
def test_reject_refuses_an_action_beyond_a_limit(new_profile, target):
    limits = Limits(new_profile(), rate_hz=50, mode='reject')
    reference = INSIDE if abs(target[0]) < 1 else np.array([0.995, 1.0])
    assert limits.apply(np.array(target), reference) == (None, 0, Cause.LIMIT)
    assert limits.rejected_per_joint.sum() == 1


def test_reject_approaches_an_action_it_has_to_join_within_start_jump(new_profile):
    limits = Limits(new_profile(), rate_hz=50, mode='reject')
    command, _, cause = limits.apply(np.array([0.09, 1.0]), INSIDE, joining=True)
    assert command == pytest.approx([0.02, 1.0])
    assert cause is Cause.NONE
    assert limits.apply(np.array([0.11, 1.0]), INSIDE, joining=True)[2] is Cause.LIMIT


@pytest.mark.parametrize('mode', ['clamp', 'reject'])
@pytest.mark.parametrize('bad', [np.nan, np.inf, -np.inf])
def test_not_finite_action_never_passes(new_profile, mode, bad):
    limits = Limits(new_profile(), rate_hz=50, mode=mode)
    assert limits.apply(np.array([0.0, bad]), INSIDE) == (None, 0, Cause.NOT_FINITE)


def test_rounding_does_not_carry_a_command_past_a_limit():
    profile = RobotProfile(name='odd', cameras=(Camera('front', 'image'),),
                           joints=(Joint('a', lower=-0.7, upper=0.7, max_velocity=500.0),))
    limits = Limits(profile, rate_hz=50)
    references = np.random.default_rng(0).uniform(-0.7, 0.7, 2000)
    assert any(reference + (0.7 - reference) > 0.7 for reference in references)
    for reference in references:
        for target in (-1.0, 1.0):
            command, _, _ = limits.apply(np.array([target]), np.array([reference]))
            assert abs(command[0]) <= 0.7
            assert abs(command[0]) == pytest.approx(0.7)
