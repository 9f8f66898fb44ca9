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

"""What the intake believes: stamps of zero, of another clock, and outliers (BAG-07)."""

from types import SimpleNamespace

import pytest

from oxygen_ros.config import Camera
from oxygen_ros.config import Joint
from oxygen_ros.config import RobotProfile
from oxygen_ros.sensing.convert import ImageDecoder
from oxygen_ros.sensing.intake import Intake
from oxygen_ros.sensing.intake import JOINTS_SOURCE
from oxygen_ros.sensing.intake import Source

S = 10 ** 9
ROBOT = RobotProfile('bench', (Camera('front', 'front/image'),), (Joint('arm'),))


class Session:
    """Keeps what it is told."""

    def __init__(self):
        self.stamps_s, self.seen_s = [], []

    def seen(self, source, stamp_ns):
        self.seen_s.append(stamp_ns / S)

    def measured(self, positions, stamp_ns):
        pass

    def observe(self, images, state, stamp_ns):
        self.stamps_s.append(stamp_ns / S)


@pytest.fixture
def intake():
    refused = []
    intake = Intake(ROBOT, decoder=ImageDecoder('native'),
                    on_refused=lambda name, source, reason: refused.append(reason))
    intake.sources.update(front=Source('front/image', True),
                          joint_states=Source('joint_states', True))
    intake.session, intake.refused = Session(), refused
    return intake


def header(stamp_s):
    sec, nanosec = divmod(round(stamp_s * S), S)
    return SimpleNamespace(stamp=SimpleNamespace(sec=sec, nanosec=nanosec))


def arrive(intake, now_s, *, stamp_s=None):
    """Let joints and a picture arrive at a time."""
    stamp_s = now_s if stamp_s is None else stamp_s
    intake.joints(SimpleNamespace(header=header(now_s), name=['arm'], position=[0.1]),
                  now_ns=round(now_s * S))
    intake.picture('front', SimpleNamespace(
        header=header(stamp_s), encoding='rgb8', width=4, height=4, step=12, data=bytes(48)),
        now_ns=round(now_s * S))


def test_a_stamp_a_year_ahead_or_ten_seconds_back_is_dropped_and_counted(intake):
    for index in range(5):
        arrive(intake, 100 + index / 10, stamp_s={2: 1e8, 3: 90.3}.get(index))
    assert intake.session.stamps_s == [100, 100.1, 100.4]
    assert intake.sources['front'].num_refused == 2
    assert 'in the future' in intake.refused[0] and '9.8 s before' in intake.refused[1]


def test_a_sensor_clock_that_was_set_back_is_believed_after_a_few_messages(intake):
    for index in range(6):
        arrive(intake, 100 + index / 10, stamp_s=100 + index / 10 - (5 if index > 1 else 0))
    assert intake.sources['front'].num_refused == 2
    assert intake.session.seen_s[-2:] == [95.4, 95.5]


def test_a_repeated_old_stamp_still_reaches_the_session_which_sees_a_frozen_camera(intake):
    for index in range(40):
        arrive(intake, 100 + index, stamp_s=100)
    assert len(intake.session.seen_s) == 40 and not intake.refused


def test_a_stamp_of_zero_becomes_the_time_of_arrival(intake):
    arrive(intake, 100, stamp_s=0)
    assert intake.session.stamps_s == [100] and intake.session.seen_s == [0]


def test_after_a_jump_of_time_old_stamps_are_new_ones(intake):
    arrive(intake, 100)
    intake.clear()
    arrive(intake, 50)
    assert intake.session.stamps_s == [100, 50]
    assert not intake.sources[JOINTS_SOURCE].num_refused
