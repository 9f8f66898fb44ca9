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

"""
Presence is not enough: a source must be young.

Pinned: IMG-06 (frozen camera), TIM-03 (stamps before the first clock message), BAG-07 (zero).
"""

import logging

import pytest

from oxygen_ros.policy import JOINTS
from oxygen_ros.policy import SourceMonitor
from oxygen_ros.types import Cause

S = 1_000_000_000
NOW = 1_700_000_000 * S


@pytest.fixture
def monitor(new_profile):
    return SourceMonitor(new_profile())


def _see_all(monitor, now_ns):
    for source in (JOINTS, 'front', 'wrist'):
        monitor.seen(source, now_ns, now_ns)


def test_source_is_fresh_up_to_its_maximum_age(monitor):
    _see_all(monitor, NOW)
    assert monitor.stale_source(NOW + S // 5) is None
    assert monitor.stale_source(NOW + S // 5 + 1) == JOINTS
    monitor.seen(JOINTS, NOW + S // 4, NOW + S // 4)
    assert monitor.stale_source(NOW + 3 * S // 10) is None
    assert monitor.stale_source(NOW + 3 * S // 10 + 1) == 'front'
    assert monitor.cause('front', NOW + S) is Cause.CAMERA_STALE


def test_nothing_received_yet_is_stale(monitor):
    assert monitor.stale_source(NOW) == JOINTS
    assert monitor.describe('front', NOW) == 'front: nothing received yet'


def test_camera_that_repeats_an_old_stamp_is_frozen_then_fresh_again(monitor):
    for step in range(10):
        now = NOW + step * S // 10
        monitor.seen(JOINTS, now, now)
        monitor.seen('front', NOW, now)
    assert monitor.stale_source(now) == 'front'
    assert monitor.cause('front', now) is Cause.CAMERA_FROZEN
    assert monitor.describe('front', now) == 'front: repeats a picture stamped 0.900 s ago'
    monitor.seen('front', now, now)
    assert monitor.stale_source(now) is None


def test_frozen_camera_that_then_dies_is_stale(monitor):
    monitor.seen('front', NOW, NOW)
    monitor.seen('front', NOW, NOW + S)
    assert monitor.cause('front', NOW + S) is Cause.CAMERA_FROZEN
    assert monitor.cause('front', NOW + 2 * S) is Cause.CAMERA_STALE


def test_frozen_camera_whose_clock_runs_ahead_is_noticed_as_soon(monitor):
    stamp = NOW + S // 4
    for step in range(5):
        monitor.seen('front', stamp, NOW + step * S // 10)
    assert not monitor.is_fresh('front', NOW + 4 * S // 10)
    assert monitor.cause('front', NOW + 4 * S // 10) is Cause.CAMERA_FROZEN


def test_old_stamps_arriving_late_are_stale(monitor):
    for step in range(10):
        now = NOW + step * S // 10
        monitor.seen('front', now - S, now)
    assert not monitor.is_fresh('front', now)
    assert monitor.describe('front', now) == 'front: 1.000 s old, allowed 0.3 s'


def test_stamp_far_in_the_future_is_not_trusted(monitor):
    monitor.seen('front', NOW + 60 * S, NOW)
    assert not monitor.is_fresh('front', NOW)
    assert monitor.describe('front', NOW) == (
        'front: stamped 60.000 s in the future of the node clock')


def test_zero_stamp_counts_from_its_arrival_and_warns_once(monitor, caplog):
    with caplog.at_level(logging.WARNING):
        monitor.seen('front', 0, NOW)
        monitor.seen('front', 0, NOW + S // 4)
    assert monitor.is_fresh('front', NOW + S // 2)
    assert not monitor.is_fresh('front', NOW + S)
    assert monitor.cause('front', NOW + S) is Cause.CAMERA_STALE
    assert [record.message.split(' is ')[0] for record in caplog.records] == ['front']


def test_optional_camera_never_holds_the_robot_up(monitor):
    monitor.seen(JOINTS, NOW, NOW)
    monitor.seen('front', NOW, NOW)
    assert monitor.stale_source(NOW) is None
    assert not monitor.is_fresh('wrist', NOW)


def test_messages_of_before_a_jump_back_of_the_clock_do_not_count(monitor):
    _see_all(monitor, NOW)
    earlier = NOW - 60 * S
    assert monitor.stale_source(earlier) == JOINTS
    _see_all(monitor, earlier)
    assert monitor.stale_source(earlier) is None
    # A bag that loops brings the very same stamp again: it is a new message, not a frozen one.
    _see_all(monitor, NOW)
    monitor.seen('front', NOW, earlier)
    monitor.seen('front', earlier, earlier)
    assert monitor.is_fresh('front', earlier)


def test_stamps_of_before_the_first_clock_message_do_not_count(monitor):
    _see_all(monitor, 0)
    monitor.seen('front', NOW, 0)
    assert monitor.stale_source(100 * S) == JOINTS
    _see_all(monitor, 100 * S)
    assert monitor.stale_source(100 * S) is None


def test_unknown_source_is_a_mistake_that_shows(monitor):
    with pytest.raises(ValueError, match="'rear' is not in the robot profile; known: front"):
        monitor.seen('rear', NOW, NOW)
