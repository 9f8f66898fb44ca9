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

"""Profiles of robots that are told poses or rates: contradictions are refused by name."""

from dataclasses import replace

import pytest

from oxygen_ros.config import Camera
from oxygen_ros.config import ConfigError
from oxygen_ros.config import Joint
from oxygen_ros.config import Linkage
from oxygen_ros.config import RobotProfile

AXES = tuple(Joint(axis) for axis in ('x', 'y', 'z', 'roll', 'pitch', 'yaw'))
GRIP = Joint('grip', role='gripper')
ROBOT = RobotProfile('bench', (Camera('front', 'front/image'),), (*AXES, GRIP),
                     command_type='pose_stamped', gripper_topic='grip')


def test_axes_are_found_in_any_order():
    turned = replace(ROBOT, joints=(GRIP, *reversed(AXES)))
    assert turned.pose_axes == (6, 5, 4, 3, 2, 1)
    assert turned.grippers == (0,)
    assert replace(ROBOT, joints=(*AXES[:5], GRIP), command_type='joint_state').pose_axes == ()


@pytest.mark.parametrize('changes, words', (
    ({'joints': (*AXES[:5], GRIP)}, 'command.type pose_stamped .*list the axes x y z roll'),
    ({'joints': (*AXES[:5], GRIP), 'command_type': 'joint_state', 'pose_topic': 'pose'},
     'joint_states.pose_topic .*list the axes'),
    ({'joints': (*AXES, Joint('rail'), GRIP)}, 'no place for joint rail.*role: gripper'),
    ({'gripper_topic': ''}, 'no place for the gripper; give command.gripper_topic'),
    ({'command_type': 'velocity_multi_array', 'gripper_topic': ''}, 'no place for the gripper'),
    ({'joints': AXES}, "gripper_topic is 'grip', but no joint has role: gripper"),
    ({'gripper_type': 'pose_stamped'}, 'gripper_type is .*choose one of: joint_trajectory'),
    ({'command_type': 'twist'}, 'command.type is .*choose one of: .*twist_stamped'),
    ({'action_offset': (1.0,)}, 'action_offset has 1 entries for 7 joints'),
    ({'action_scale': (float('nan'),) * 7}, 'action_scale is nan')))
def test_contradictions_are_refused_with_a_remedy(changes, words):
    with pytest.raises(ConfigError, match=words):
        replace(ROBOT, **changes)


@pytest.mark.parametrize('changes, words', (
    ({'role': 'hand'}, 'joints.a.role is .*choose one of: arm, gripper'),
    ({'flip': 'yes'}, 'joints.a.flip is'),
    ({'state_gains': (float('inf'),)}, 'joints.a.state_gains is inf'),
    ({'linkage': Linkage((0.1, 0.2), 0.1, 0.1, (0.0, 1.0), (0.0, 1.0))}, 'add role: gripper')))
def test_joints_are_checked(changes, words):
    with pytest.raises(ConfigError, match=words):
        Joint('a', **changes)


@pytest.mark.parametrize('changes, words', (
    ({'slide': (0.1, 0.1)}, 'linkage.slide is .*two different numbers'),
    ({'slide': (-0.1, 0.1)}, 'linkage.slide is .*above 0'),
    ({'action': (0.0,)}, 'linkage.action is .*two different'), ({'arm': 0.0}, 'linkage.arm is 0'),
    ({'state': (0.0, float('nan'))}, 'linkage.state is nan')))
def test_a_linkage_that_cannot_be_built_is_refused(changes, words):
    with pytest.raises(ConfigError, match=words):
        Linkage(**{'slide': (0.1, 0.2), 'arm': 0.1, 'horn': 0.1, 'state': (0.0, 1.0),
                   'action': (0.0, 1.0), **changes})
