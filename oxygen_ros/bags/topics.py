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

"""Which recorded topic feeds which input of a robot."""

from collections.abc import Iterable
from collections.abc import Mapping
from dataclasses import dataclass

from oxygen_ros.bags.files import BagError
from oxygen_ros.config import ConfigError
from oxygen_ros.config import RobotProfile
from oxygen_ros.config.robot import POSITION_TYPES

PICTURES = ('sensor_msgs/msg/Image', 'sensor_msgs/msg/CompressedImage')
JOINT_STATES = 'sensor_msgs/msg/JointState'
POSE = 'geometry_msgs/msg/PoseStamped'
STRING = 'std_msgs/msg/String'
REMAP_HELP = ('a topic of the profile, or what it is for (joint_states, command, instruction), '
              'and its name in the recording; may be repeated')
INSTRUCTION = 'instruction'         # the node takes it under this name, whatever the robot
ROBOT_DESCRIPTION = 'robot_description'     # a String that is no instruction
COMMANDS = ('trajectory_msgs/msg/JointTrajectory', 'std_msgs/msg/Float64MultiArray', JOINT_STATES)


@dataclass(frozen=True)
class BagTopics:
    """The topics of a recording by what they are to the robot; '' = not recorded."""

    cameras: Mapping[str, str]      # slot -> topic, recorded ones only
    joint_states: str = ''
    pose: str = ''                  # of the tool, for robots whose profile has a pose topic
    instruction: str = ''
    commands: str = ''
    maybe_commands: tuple[str, ...] = ()    # where there are none: topics that could hold some
    maybe_instruction: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()     # choices that were made, in words

    @property
    def wanted(self) -> tuple[str, ...]:
        """Topics to read, pictures last: what belongs to a picture is there when it comes."""
        return tuple(topic for topic in (self.instruction, self.joint_states, self.pose,
                                         self.commands, *self.cameras.values()) if topic)


def find_topics(robot: RobotProfile, types: Mapping[str, str], *, namespace: str = '',
                remap: Mapping[str, str] | None = None) -> BagTopics:
    """
    Return where the inputs of a robot are among the topics of a bag.

    types: topic -> message type. remap: name in the profile -> name in the bag. A topic that is
    not there under its own name is looked for under any namespace, if only one fits. Raises
    BagError naming what is missing and what there is.
    """
    search = _Search(types, namespace, remap or {})
    cameras, missing = {}, []
    for camera in robot.cameras:
        names = [camera.topic, f'{camera.topic}/compressed']
        topic = search.find(names[::-1] if camera.compressed else names, PICTURES)
        if topic:
            cameras[camera.slot] = topic
        elif camera.required:
            missing.append(f'camera {camera.slot} ({camera.topic}, raw or compressed)')
    states = {}
    for name, kind, is_needed, topic in (
            ('joint_states', JOINT_STATES, robot.reads_joint_states, robot.joint_states_topic),
            ('pose', POSE, bool(robot.pose_topic), robot.pose_topic)):
        states[name] = search.find([topic], (kind,)) if is_needed else ''
        if is_needed and not states[name]:
            missing.append(f'{name.replace("_", " ")} ({topic})')
    if missing:
        known = ', '.join(f'{topic} [{kind.split("/")[-1]}]' for topic, kind in
                          sorted(types.items()))
        raise BagError(f'the recording lacks {" and ".join(missing)} of robot {robot.name}; it '
                       f'has {known}; correct the profile, or give --remap NAME:=/topic')
    # Recorded speeds or poses of a tool are no positions to compare actions with.
    commands, maybe = '', ()
    if robot.command_type in POSITION_TYPES:
        commands = search.find([robot.command_topic], COMMANDS)
        maybe = () if commands else tuple(sorted(
            topic for topic, kind in types.items() if kind in COMMANDS and kind != JOINT_STATES))
    instruction = search.find([INSTRUCTION], (STRING,))
    maybe_instruction = tuple(sorted(
        topic for topic, kind in types.items() if kind == STRING and topic != instruction
        and not topic.endswith(ROBOT_DESCRIPTION)))
    return BagTopics(cameras, **states, instruction=instruction, commands=commands,
                     maybe_commands=maybe, maybe_instruction=maybe_instruction,
                     notes=tuple(search.notes))


def parse_remaps(texts: Iterable[str], robot: RobotProfile) -> dict[str, str]:
    """
    Read NAME:=/topic and return name in the profile -> name in the bag.

    NAME is a topic of the profile, or what a topic is for: joint_states, pose, command or
    instruction. Raises ConfigError for any other, naming those there are.
    """
    topics = [name for camera in robot.cameras
              for name in (camera.topic, f'{camera.topic}/compressed')]
    roles = {'joint_states': robot.joint_states_topic, 'pose': robot.pose_topic,
             'command': robot.command_topic, 'instruction': INSTRUCTION}
    # The name of a topic goes before the name of a role.
    known = {name: topic for name, topic in roles.items() if topic}
    known |= {topic.lstrip('/'): topic for topic in [*topics, *known.values()]}
    remap = {}
    for text in texts:
        name, sign, topic = text.partition(':=')
        if not (name and sign and topic):
            raise ConfigError(f'--remap {text} is not NAME:=/topic')
        if name.lstrip('/') not in known:
            raise ConfigError(f'--remap {text}: robot {robot.name} has no {name}; the name on '
                              f'the left is one of {", ".join(sorted(known))}')
        remap[known[name.lstrip('/')]] = topic
    return remap


class _Search:
    """Looks names up, and remembers the choices that a user should know of."""

    def __init__(self, types: Mapping[str, str], namespace: str, remap: Mapping[str, str]):
        self._types = types
        self._namespace = f'/{namespace.strip("/")}' if namespace.strip('/') else ''
        self._remap = {name.lstrip('/'): topic for name, topic in remap.items()}
        self.notes: list[str] = []
        if self._namespace and not any(topic.startswith(f'{self._namespace}/') for topic in types):
            self.notes.append(f'nothing is recorded in namespace {self._namespace}; check '
                              f'--namespace')

    def find(self, names: list[str], kinds: tuple[str, ...]) -> str:
        for name in names:
            mapped = self._remap.get(name.lstrip('/'))
            if mapped is not None:
                topic = f'/{mapped.lstrip("/")}'
                if self._types.get(topic) not in kinds:
                    is_there = f'is {self._types[topic]}' if topic in self._types else \
                        'is not recorded'
                    raise BagError(f'--remap {name}:={mapped}: {topic} {is_there}; wanted one of '
                                   f'{", ".join(kinds)}')
                return topic
        for name in names:
            topic = name if name.startswith('/') else f'{self._namespace}/{name}'
            if self._types.get(topic) in kinds:
                return topic
        for name in names:
            fits = [topic for topic, kind in self._types.items()
                    if kind in kinds and topic.endswith(f'/{name.lstrip("/")}')]
            if len(fits) == 1:
                self.notes.append(f'{fits[0]} is taken for {name}')
                return fits[0]
        return ''
