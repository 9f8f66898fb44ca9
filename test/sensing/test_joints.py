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

"""Joint states by name, whatever their order (pinned: JS-01)."""

import math
import random

import numpy as np
import pytest

from oxygen_ros.sensing.joints import BadJoints
from oxygen_ros.sensing.joints import JointReader

NAMES = [f'joint_{index}' for index in range(1, 8)]
VALUES = [index / 10 for index in range(1, 8)]


def test_any_order_gives_profile_order():
    reader = JointReader(NAMES)
    shuffler = random.Random(0)
    for round_index in range(20):
        pairs = list(zip(NAMES, VALUES))
        shuffler.shuffle(pairs)
        names, values = zip(*pairs)
        sample = reader.read(list(names), list(values), round_index)
        np.testing.assert_array_equal(sample.positions, VALUES)
        assert sample.stamp_ns == round_index


def test_unknown_joints_are_ignored():
    sample = JointReader(NAMES).read(['a', *NAMES, 'b'], [9.0, *VALUES, 8.0], 5)
    np.testing.assert_array_equal(sample.positions, VALUES)


@pytest.mark.parametrize('names, positions, reason', [
    (NAMES, VALUES[:6], '7 names but 6 positions'),
    (NAMES, [*VALUES[:6], math.nan], 'position of joint_7 is nan'),
    (NAMES, [math.inf, *VALUES[1:]], 'position of joint_1 is inf'),
    (['joint_1', *NAMES[:6]], VALUES, 'joint_1 is named twice'),
])
def test_a_message_that_contradicts_itself_is_refused_and_the_state_kept(names, positions, reason):
    reader = JointReader(NAMES)
    reader.read(NAMES, VALUES, 1)
    with pytest.raises(BadJoints, match=reason):
        reader.read(names, positions, 2)
    sample = reader.read(['joint_1'], [0.5], 3)
    np.testing.assert_array_equal(sample.positions, [0.5, *VALUES[1:]])
    assert sample.stamp_ns == 1


def test_nan_in_a_joint_that_is_not_ours_does_no_harm():
    sample = JointReader(NAMES).read([*NAMES, 'other'], [*VALUES, math.nan], 1)
    np.testing.assert_array_equal(sample.positions, VALUES)


def test_two_broadcasters_make_one_state_as_old_as_its_oldest_part():
    reader = JointReader(['arm', 'gripper'])
    assert reader.read(['arm'], [1.0], 10) is None
    assert reader.missing == ('gripper',)
    sample = reader.read(['gripper'], [2.0], 20)
    np.testing.assert_array_equal(sample.positions, [1.0, 2.0])
    assert sample.stamp_ns == 10
    assert reader.read(['arm'], [1.5], 30).stamp_ns == 20


def test_a_sample_handed_out_never_changes():
    reader = JointReader(['arm'])
    first = reader.read(['arm'], [1.0], 1)
    reader.read(['arm'], [2.0], 2)
    assert first.positions[0] == 1.0


def test_a_message_of_another_robot_is_no_news():
    reader = JointReader(['arm'])
    assert reader.read(['wheel'], [1.0], 1) is None
    assert reader.missing == ('arm',)
    assert reader.offered == ('wheel',)
