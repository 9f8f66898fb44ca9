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

"""What a profile check says: each fault by its name, with the remedy, and nothing about a fit."""

from types import SimpleNamespace

import pytest

from oxygen_ros.config import Camera
from oxygen_ros.config import Joint
from oxygen_ros.config import RobotProfile
from oxygen_ros.sensing.findings import NOTE
from oxygen_ros.sensing.findings import OK
from oxygen_ros.sensing.findings import SLOW
from oxygen_ros.sensing.findings import WRONG
from oxygen_ros.sensing.profile_check import COMPRESSED
from oxygen_ros.sensing.profile_check import IMAGE
from oxygen_ros.sensing.profile_check import JOINT_STATE
from oxygen_ros.sensing.profile_check import POSE
from oxygen_ros.sensing.profile_check import ProfileCheck

S = 10 ** 9
START_NS = 1_700_000_000 * S
ROBOT = RobotProfile(
    'bench', (Camera('front', 'front/image', max_age_s=0.3),
              Camera('wrist', 'wrist/image', max_age_s=0.3, required=False)),
    (Joint('lift', lower=-1.0, upper=1.0, max_velocity=1.0),
     Joint('turn', lower=-2.0, upper=2.0, max_velocity=1.0)), joints_max_age_s=0.2)
TYPES = {'/front/image': IMAGE, '/wrist/image': IMAGE, '/joint_states': JOINT_STATE}


def header(stamp_ns, frame_id=''):
    sec, nanosec = divmod(stamp_ns, S)
    return SimpleNamespace(stamp=SimpleNamespace(sec=sec, nanosec=nanosec), frame_id=frame_id)


def picture(stamp_ns, *, width=8, encoding='rgb8', step=None):
    step = 3 * width if step is None else step
    return SimpleNamespace(header=header(stamp_ns), encoding=encoding, width=width, height=4,
                           step=step, data=bytes(12 * width))


def joints(stamp_ns, *, names=('lift', 'turn'), positions=(0.1, 0.2)):
    return SimpleNamespace(header=header(stamp_ns), name=list(names), position=list(positions))


def feed(check, topic, make, *, period_s=0.1, count=20, age_s=0.02, **kwargs):
    """Let messages arrive at a steady rate; make(stamp_ns, **kwargs) builds each."""
    for index in range(count):
        now_ns = START_NS + round(index * period_s * S)
        check.take(topic, make(now_ns - round(age_s * S), **kwargs), now_ns)


@pytest.fixture
def check():
    """Return a check to which wrist and joints are fine already."""
    check = ProfileCheck(ROBOT, TYPES)
    feed(check, '/wrist/image', picture)
    feed(check, '/joint_states', joints)
    return check


def wrongs(check):
    return [finding for finding in check.findings() if finding.level == WRONG]


def test_what_fits_is_said_with_rates_sizes_and_names(check):
    feed(check, '/front/image', picture)
    found = check.findings()
    assert {finding.level for finding in found} == {OK}
    text = '\n'.join(f'{finding.name}: {finding.text}' for finding in found)
    for part in ('cameras.front (/front/image): 10.0 Hz', '8x4 rgb8', 'names all 2 joints',
                 'within its limits', 'every joint has position and velocity limits'):
        assert part in text


@pytest.mark.parametrize('fault, words, remedy', (
    ({'period_s': 0.5}, '2.0 Hz with a gap of 0.50 s', 'cameras.front.max_age_s'),
    ({'age_s': 0.4}, '0.40 s old on arrival', 'synchronise'),
    ({'age_s': -2.0}, '2.0 s in the future', 'synchronise'),
    ({'encoding': '32FC1'}, 'depth image', 'rgb8'),
    ({'step': 0}, 'pictures cannot be used', 'rgb8'),
    ({'count': 0}, 'nothing came', 'QoS')))
def test_faults_of_a_camera(check, fault, words, remedy):
    feed(check, '/front/image', picture, **fault)
    [wrong] = wrongs(check)
    assert wrong.name == 'cameras.front (/front/image)'
    assert words in wrong.text and remedy in wrong.remedy


def test_a_source_that_repeats_its_stamp_looks_frozen(check):
    feed(check, '/front/image', lambda stamp_ns: picture(START_NS), count=3)
    [wrong] = wrongs(check)
    assert '2 messages repeat the stamp' in wrong.text and 'second publisher' in wrong.remedy


@pytest.mark.parametrize('fault, words, remedy', (
    ({'names': ('turn', 'elbow')}, 'never names lift; the newest message names turn, elbow',
     'joints'),
    ({'positions': (0.1,)}, '2 names but 1 positions', 'driver'),
    ({'positions': (0.1, float('nan'))}, 'position of turn is nan', 'driver'),
    ({'positions': (1.2, 0.2)}, 'lift measured from 1.2 to 1.2 rad, limits -1 to 1', 'limits'),
    ({'positions': (0.1, 45.0)}, 'turn measured from 45', 'looks like degrees')))
def test_faults_of_joint_states(fault, words, remedy):
    check = ProfileCheck(ROBOT, TYPES)
    for topic in ('/front/image', '/wrist/image'):
        feed(check, topic, picture)
    feed(check, '/joint_states', joints, **fault)
    found = {wrong.text: wrong.remedy for wrong in wrongs(check)}
    text = next(text for text in found if words in text)
    assert remedy in found[text]


def test_joints_that_the_profile_lacks_are_noted():
    check = ProfileCheck(ROBOT, TYPES)
    feed(check, '/joint_states', joints, names=('lift', 'forearm', 'turn'),
         positions=(0.1, 0.3, 0.2))
    [note] = [finding for finding in check.findings() if finding.name.startswith('joint_states')
              and finding.level == NOTE]
    assert note.text == 'also names forearm, which the profile does not have'


def test_a_source_that_stalls_once_is_slow_and_not_wrong(check):
    for index in range(20):
        stamp_ns = START_NS + index * S // 10
        stall_ends_ns = START_NS + 142 * S // 100 if index >= 10 else 0
        check.take('/front/image', picture(stamp_ns), max(stamp_ns + 1, stall_ends_ns))
    found = [finding for finding in check.findings() if finding.level not in (OK, NOTE)]
    assert {finding.level for finding in found} == {SLOW}
    gap, age = found
    assert 'with a gap of 0.52 s' in gap.text and 'up to 0.42 s old' in age.text
    assert 'synchronise' not in age.remedy


@pytest.mark.parametrize('types, level, words', (
    ({'/command': 'trajectory_msgs/msg/JointTrajectory'}, OK, 'published as'),
    ({'/command': 'std_msgs/msg/String'}, NOTE, 'is of type std_msgs/msg/String, not'),
    ({'/arm/joint_trajectory': 'trajectory_msgs/msg/JointTrajectory',
      '/arm/commands': 'std_msgs/msg/Float64MultiArray', '/other/joint_states': JOINT_STATE}, NOTE,
     '/command is not published; of a command type there is: /arm/commands (Float64MultiArray), '
     '/arm/joint_trajectory (JointTrajectory)'),
    ({}, NOTE, 'there is: none')))
def test_a_command_topic_that_is_not_there_is_noted(types, level, words):
    finding = ProfileCheck(ROBOT, {**TYPES, **types}).command_finding()
    assert finding.level == level and words in finding.text


def test_another_order_does_not_matter(check):
    feed(check, '/front/image', picture)
    feed(check, '/joint_states', joints, count=1, names=('x', 'turn', 'lift'),
         positions=(9, 0, 0), age_s=-3)
    assert 'another order' in '\n'.join(finding.text for finding in check.findings())


@pytest.mark.parametrize('types, words, remedy', (
    ({}, '/front/image is not published', 'start the driver'),
    ({'/front/image/compressed': COMPRESSED}, '/front/image/compressed is', 'compressed: true'),
    ({'/cam/color': IMAGE}, '/front/image is not published', '/cam/color'),
    ({'/front/image': JOINT_STATE}, 'is of type sensor_msgs/msg/JointState, not', 'topic')))
def test_a_camera_topic_that_is_not_there(types, words, remedy):
    check = ProfileCheck(ROBOT, {**types, '/joint_states': JOINT_STATE})
    feed(check, '/joint_states', joints)
    assert not check.is_complete
    found = {finding.name: finding for finding in check.findings()}
    assert found['cameras.front'].level == WRONG
    assert words in found['cameras.front'].text and remedy in found['cameras.front'].remedy
    assert found['cameras.wrist'].level == NOTE         # not required


def test_a_topic_under_a_namespace_is_found_and_told():
    check = ProfileCheck(ROBOT, {f'/left{topic}': kind for topic, kind in TYPES.items()},
                         verb='recorded')
    assert check.topics == {f'/left{topic}': kind for topic, kind in TYPES.items()}
    found = check.findings()[0]
    assert found.level == NOTE
    assert '/front/image is not recorded, /left/front/image is' in found.text
    assert 'namespace:=left' in found.remedy
    named = ProfileCheck(ROBOT, {f'/left{topic}': kind for topic, kind in TYPES.items()},
                         namespace='left')
    assert named.is_complete and named.findings()[0].level == WRONG     # nothing came yet


def test_missing_limits_are_named(check):
    feed(check, '/front/image', picture)
    robot = RobotProfile('bench', ROBOT.cameras, (ROBOT.joints[0], Joint('turn')))
    found = ProfileCheck(robot, TYPES).findings()[-1]
    assert found.level == WRONG and 'no turn.lower, turn.upper, turn.max_velocity' in found.text


def test_a_pose_in_another_frame_than_the_command():
    robot = RobotProfile(
        'cartesian', ROBOT.cameras[:1],
        tuple(Joint(axis, lower=-1, upper=1, max_velocity=1)
              for axis in ('x', 'y', 'z', 'roll', 'pitch', 'yaw')),
        command_type='pose_stamped', command_frame='base_link', pose_topic='pose')
    check = ProfileCheck(robot, {'/front/image': IMAGE, '/pose': POSE})
    feed(check, '/front/image', picture)

    def pose(stamp_ns):
        return SimpleNamespace(header=header(stamp_ns, 'world'), pose=SimpleNamespace(
            position=SimpleNamespace(x=0.1, y=0.2, z=1.5),
            orientation=SimpleNamespace(x=0.0, y=0.0, z=0.0, w=1.0)))
    feed(check, '/pose', pose)
    frame, limit = wrongs(check)
    assert 'in frame world, commands in base_link' in frame.text
    assert 'z measured from 1.5 to 1.5' in limit.text
