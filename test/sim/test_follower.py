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


"""Commands become servo targets: newest wins, named joints only, straight lines between points."""

import numpy as np
import pytest

from oxygen_ros.sim.follower import CommandError
from oxygen_ros.sim.follower import CommandFollower

NAMES = ('pan', 'lift')


@pytest.fixture
def follower():
    """Return a follower of two joints at rest at (1, 2)."""
    return CommandFollower(NAMES, np.array([1.0, 2.0]))


def test_holds_the_start_until_a_command_comes(follower):
    assert follower.target(100.0) == pytest.approx([1, 2])


def test_immediate_point_is_the_target_at_once_and_for_ever(follower):
    follower.follow([[3.0, 4.0]], names=NAMES, times_s=[0.0], now_s=10.0)
    assert follower.target(10.0) == pytest.approx([3, 4])
    assert follower.target(99.0) == pytest.approx([3, 4])


def test_point_in_the_future_is_reached_in_a_straight_line(follower):
    follower.follow([[3.0, 4.0]], names=NAMES, times_s=[2.0], now_s=10.0)
    assert follower.target(11.0) == pytest.approx([2, 3])
    assert follower.target(12.5) == pytest.approx([3, 4])


def test_joints_that_are_not_named_keep_their_target(follower):
    follower.follow([[5.0]], names=['lift'], times_s=[0.0], now_s=0.0)
    assert follower.target(0.0) == pytest.approx([1, 5])


def test_newest_command_replaces_the_rest_of_the_older(follower):
    follower.follow([[3.0, 2.0], [9.0, 2.0]], names=NAMES, times_s=[1.0, 2.0], now_s=0.0)
    follower.follow([[0.0]], names=['pan'], times_s=[1.0], now_s=1.0)
    assert follower.target(1.5) == pytest.approx([1.5, 2])
    assert follower.target(5.0) == pytest.approx([0, 2])


@pytest.mark.parametrize(('points', 'names', 'times_s', 'words'), [
    ([[1.0]], ['elbow'], [0.0], "'elbow' is not known; joints are pan, lift"),
    ([[np.nan, 1.0]], NAMES, [0.0], 'not finite'),
    ([[1.0]], NAMES, [0.0], 'shape'),
    ([[1.0, 1.0]], NAMES, [-1.0], 'do not increase'),
    ([[1.0, 1.0], [2.0, 2.0]], NAMES, [1.0, 1.0], 'do not increase'),
    (np.zeros((0, 2)), NAMES, [], 'shape')])
def test_bad_command_is_refused_and_changes_nothing(follower, points, names, times_s, words):
    with pytest.raises(CommandError, match=words):
        follower.follow(points, names=names, times_s=times_s, now_s=0.0)
    assert follower.target(0.0) == pytest.approx([1, 2])
