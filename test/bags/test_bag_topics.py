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

"""Recorded topics find their way to the inputs of a robot, under any names."""

from dataclasses import replace

import pytest

from oxygen_ros.bags.files import BagError
from oxygen_ros.bags.topics import find_topics
from oxygen_ros.bags.topics import parse_remaps
from oxygen_ros.config import Camera
from oxygen_ros.config import ConfigError
from oxygen_ros.config import Joint
from oxygen_ros.config import RobotProfile

IMAGE, JPEG = 'sensor_msgs/msg/Image', 'sensor_msgs/msg/CompressedImage'
TRAJECTORY = 'trajectory_msgs/msg/JointTrajectory'
JOINTS, NUMBERS = 'sensor_msgs/msg/JointState', 'std_msgs/msg/Float64MultiArray'
STRING = 'std_msgs/msg/String'
ROBOT = RobotProfile(
    'bench', (Camera('front', 'front/image'), Camera('wrist', 'wrist/image', required=False)),
    (Joint('arm'),))


def test_names_of_the_profile_are_found_raw_or_compressed():
    found = find_topics(ROBOT, {'/front/image/compressed': JPEG, '/joint_states': JOINTS,
                                '/wrist/image': IMAGE, '/wrist/image/compressed': JPEG,
                                '/command': NUMBERS})
    assert found.cameras == {'front': '/front/image/compressed', 'wrist': '/wrist/image'}
    assert found.commands == '/command' and not found.instruction and not found.notes
    assert found.wanted[0] == '/joint_states'     # before the pictures they belong to


def test_a_namespace_is_given_or_found_and_then_told():
    types = {'/left/front/image': IMAGE, '/left/joint_states': JOINTS}
    assert not find_topics(ROBOT, types, namespace='left').notes
    found = find_topics(ROBOT, types)
    assert found.cameras == {'front': '/left/front/image'}
    assert found.notes[0] == '/left/front/image is taken for front/image'
    assert find_topics(ROBOT, types, namespace='right').notes[0] == (
        'nothing is recorded in namespace /right; check --namespace')


def test_of_two_robots_none_is_guessed():
    types = {f'/{name}/{topic}': kind for name in ('left', 'right')
             for topic, kind in (('front/image', IMAGE), ('joint_states', JOINTS))}
    with pytest.raises(BagError, match='lacks camera front .* and joint states'):
        find_topics(ROBOT, types)
    assert find_topics(ROBOT, types, namespace='/right').joint_states == '/right/joint_states'


def test_other_names_are_mapped():
    types = {'/cam/color': IMAGE, '/arm/state': JOINTS}
    found = find_topics(ROBOT, types, remap={'front/image': '/cam/color',
                                             'joint_states': 'arm/state'})
    assert found.cameras == {'front': '/cam/color'} and found.joint_states == '/arm/state'


def test_topics_that_could_hold_the_commands_are_offered_where_none_are_recorded():
    types = {'/front/image': IMAGE, '/joint_states': JOINTS, '/arm/goal': TRAJECTORY}
    assert find_topics(ROBOT, types).maybe_commands == ('/arm/goal',)
    mapped = find_topics(ROBOT, types, remap={'command': '/arm/goal'})
    assert mapped.commands == '/arm/goal' and not mapped.maybe_commands
    assert not find_topics(ROBOT, {**types, '/command': NUMBERS}).maybe_commands


def test_a_topic_is_mapped_by_its_name_in_the_profile_or_by_what_it_is_for():
    robot = replace(ROBOT, joint_states_topic='/arm/joint_states', command_topic='arm/goal')
    for names in (('joint_states', 'command', 'instruction'),
                  ('arm/joint_states', '/arm/goal', '/instruction')):
        remap = parse_remaps([f'{name}:=/x{index}' for index, name in enumerate(names)], robot)
        found = find_topics(robot, {'/front/image': IMAGE, '/x0': JOINTS, '/x1': NUMBERS,
                                    '/x2': STRING}, remap=remap)
        assert (found.joint_states, found.commands, found.instruction) == ('/x0', '/x1', '/x2')


def test_a_mapping_of_what_the_robot_does_not_have_is_refused_with_the_names_it_has():
    with pytest.raises(ConfigError, match='bench has no front/imge.* command, front/image, '
                                          'front/image/compressed, instruction, joint_states'):
        parse_remaps(['front/imge:=/camera/image_raw'], ROBOT)


def test_texts_that_could_be_the_instruction_are_offered():
    types = {'/front/image': IMAGE, '/joint_states': JOINTS, '/task/text': STRING,
             '/robot_description': STRING}
    assert find_topics(ROBOT, types).maybe_instruction == ('/task/text',)


def test_a_mapping_to_nothing_or_to_another_type_is_refused():
    types = {'/cam/color': JOINTS, '/joint_states': JOINTS}
    with pytest.raises(BagError, match='/cam/depth is not recorded'):
        find_topics(ROBOT, types, remap={'front/image': '/cam/depth'})
    with pytest.raises(BagError, match='/cam/color is sensor_msgs/msg/JointState'):
        find_topics(ROBOT, types, remap={'front/image': '/cam/color'})


def test_what_is_missing_is_named_with_what_there_is():
    with pytest.raises(BagError, match=r'camera front .* it has /tf \[TFMessage\]'):
        find_topics(ROBOT, {'/tf': 'tf2_msgs/msg/TFMessage'})
