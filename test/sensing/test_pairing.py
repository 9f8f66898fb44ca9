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

"""When an observation is due and what goes into it."""

import numpy as np

from oxygen_ros.config import Camera
from oxygen_ros.config import Joint
from oxygen_ros.config import RobotProfile
from oxygen_ros.sensing.joints import JointSample
from oxygen_ros.sensing.pairing import Pairing

MS = 1_000_000


def picture(value: int) -> np.ndarray:
    """Return a picture that can be told from others."""
    return np.full((2, 2, 3), value, np.uint8)


def pairing(*, second_required=True) -> Pairing:
    """Return a pairing of two cameras and one joint."""
    return Pairing(RobotProfile(
        name='test', joints=(Joint('arm'),), joints_max_age_s=0.2, cameras=(
            Camera('front', 'front/image', max_age_s=0.5),
            Camera('wrist', 'wrist/image', max_age_s=0.5, required=second_required))))


def sample(position: float, stamp_ms: int) -> JointSample:
    """Return a joint state."""
    return JointSample(positions=np.array([position]), stamp_ns=stamp_ms * MS)


def show(paired: Pairing, slot: str, value: int, at_ms: int, stamp_ms=None):
    """Give a picture to the pairing."""
    stamp_ms = at_ms if stamp_ms is None else stamp_ms
    return paired.picture(slot, picture(value), stamp_ns=stamp_ms * MS, now_ns=at_ms * MS)


def test_one_observation_per_round_of_both_cameras():
    paired = pairing()
    paired.joints(sample(0.5, 0))
    seen = []
    for turn in range(5):
        seen.append(show(paired, 'front', turn, 20 * turn + 1))
        seen.append(show(paired, 'wrist', turn, 20 * turn + 2))
    due = [observation for observation in seen if observation is not None]
    assert seen[0] is None                   # the wrist camera has shown nothing yet
    assert len(due) == 5
    assert sorted(due[-1].images) == ['front', 'wrist']
    assert due[-1].images['front'][0, 0, 0] == 4


def test_the_stamp_is_the_oldest_inside_and_joints_are_those_of_the_picture():
    paired = pairing()
    for at_ms in range(0, 200, 20):
        paired.joints(sample(at_ms, at_ms))
    show(paired, 'front', 1, 190, stamp_ms=95)
    observation = show(paired, 'wrist', 1, 195, stamp_ms=101)
    assert observation.state[0] == 100
    assert observation.stamp_ns == 95 * MS


def test_a_slow_camera_does_not_hold_up_a_fast_one():
    paired = pairing()
    paired.joints(sample(0.5, 0))
    show(paired, 'wrist', 9, 1)
    due = []
    for at_ms in range(2, 200, 10):
        paired.joints(sample(0.5, at_ms))
        due.append(show(paired, 'front', 1, at_ms))
    assert sum(observation is not None for observation in due) >= 9


def test_a_stale_required_camera_stops_observations_and_its_return_starts_them():
    paired = pairing()
    show(paired, 'wrist', 9, 0)
    seen = []
    for at_ms in range(0, 1000, 50):
        paired.joints(sample(0.5, at_ms))
        seen.append((at_ms, show(paired, 'front', 1, at_ms)))
    assert all(observation is None for at_ms, observation in seen if at_ms > 500)
    assert show(paired, 'wrist', 10, 1001) is not None


def test_a_stale_optional_camera_is_left_out():
    paired = pairing(second_required=False)
    show(paired, 'wrist', 9, 0)
    paired.joints(sample(0.5, 900))
    observation = show(paired, 'front', 1, 900)
    assert list(observation.images) == ['front']


def test_a_repeated_frame_is_not_a_new_look():
    paired = pairing(second_required=False)
    paired.joints(sample(0.5, 0))
    show(paired, 'front', 1, 10, stamp_ms=5)
    assert show(paired, 'front', 1, 60, stamp_ms=55) is not None
    assert show(paired, 'front', 1, 110, stamp_ms=55) is None


def test_cameras_of_one_rate_are_paired_within_a_frame_not_across_two():
    paired = pairing(second_required=False)
    stamps = []
    for at_ms in range(0, 1000, 200):
        paired.joints(sample(0.5, at_ms))
        for slot in ('front', 'wrist'):
            if at_ms or slot == 'front':       # the second camera starts later
                observation = show(paired, slot, 1, at_ms)
                if observation is not None:
                    stamps.append((at_ms, sorted(observation.images),
                                   observation.stamp_ns // MS))
    assert [(at_ms, stamp_ms) for at_ms, slots, stamp_ms in stamps if len(slots) == 2] == [
        (200, 200), (400, 400), (600, 600), (800, 800)]


def test_no_observation_without_joints_or_with_stale_ones():
    paired = pairing(second_required=False)
    assert show(paired, 'front', 1, 10) is None
    paired.joints(sample(0.5, 20))
    assert show(paired, 'front', 1, 30) is not None
    assert show(paired, 'front', 1, 300) is None
