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

"""Does a robot profile fit what its topics carry? The same questions, live or to a recording."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from oxygen_ros.config import RobotProfile
from oxygen_ros.sensing.convert import ImageDecoder
from oxygen_ros.sensing.findings import Finding
from oxygen_ros.sensing.findings import NOTE
from oxygen_ros.sensing.findings import OK
from oxygen_ros.sensing.findings import WRONG
from oxygen_ros.sensing.inputs_check import JointsCheck
from oxygen_ros.sensing.inputs_check import PictureCheck
from oxygen_ros.sensing.inputs_check import PoseCheck

IMAGE = 'sensor_msgs/msg/Image'
COMPRESSED = 'sensor_msgs/msg/CompressedImage'
JOINT_STATE = 'sensor_msgs/msg/JointState'
POSE = 'geometry_msgs/msg/PoseStamped'
COMMANDS = {'joint_trajectory': 'trajectory_msgs/msg/JointTrajectory',
            'float64_multi_array': 'std_msgs/msg/Float64MultiArray', 'joint_state': JOINT_STATE,
            'velocity_multi_array': 'std_msgs/msg/Float64MultiArray', 'pose_stamped': POSE,
            'twist_stamped': 'geometry_msgs/msg/TwistStamped'}      # command.type -> message


@dataclass
class Wanted:
    """One input of the profile and the topic found for it."""

    key: str                     # of the profile: cameras.front, joint_states, ...
    name: str                    # topic as in the profile
    type: str
    check: PictureCheck | JointsCheck | PoseCheck
    is_required: bool
    topic: str = ''              # '' = not there
    trouble: Finding | None = None


class ProfileCheck:
    """
    Finds the topics of a profile, looks at what they carry, then says what fits and what not.

    `verb`: what is done to topics where they come from, 'published' or 'recorded'.
    """

    def __init__(self, robot: RobotProfile, types: Mapping[str, str], *, namespace: str = '',
                 verb: str = 'published'):
        self._robot = robot
        self._types = types      # topic -> type of all there is
        self._namespace = f'/{namespace.strip("/")}'.rstrip('/')
        self._verb = verb
        self._inputs = self._wanted()
        for wanted in self._inputs:
            self._find(wanted)

    @property
    def topics(self) -> dict[str, str]:
        """Topics to look at, with their types."""
        return {wanted.topic: wanted.type for wanted in self._inputs if wanted.topic}

    @property
    def is_complete(self) -> bool:
        """Whether there is a topic for every input that is required."""
        return all(wanted.topic for wanted in self._inputs if wanted.is_required)

    def take(self, topic: str, message: Any, now_ns: int) -> None:
        """Look at one message, which arrived or was recorded at now_ns."""
        for wanted in self._inputs:
            if wanted.topic == topic:
                wanted.check.take(message, now_ns)

    def findings(self) -> list[Finding]:
        """Return one finding or more per input, then those on the profile itself."""
        found = []
        for wanted in self._inputs:
            if wanted.trouble is not None:
                found.append(wanted.trouble)
            if wanted.topic:
                found += wanted.check.findings(f'{wanted.key} ({wanted.topic})')
        missing = self._robot.missing_limits
        if missing:
            found.append(Finding('limits', WRONG, f'no {", ".join(missing)}: the node will not '
                                 f'move this robot', 'add them to joints, or give the urdf'))
        else:
            found.append(Finding('limits', OK, 'every joint has position and velocity limits'))
        return found

    def command_finding(self) -> Finding:
        """Say whether the command topic is there; a robot that stands still may do without."""
        topic, kind = self._absolute(self._robot.command_topic), COMMANDS[self._robot.command_type]
        name = f'command ({topic})'
        if self._types.get(topic) == kind:
            return Finding(name, OK, f'{self._verb} as {kind}')
        other = f'is of type {self._types[topic]}, not {kind}' if topic in self._types \
            else f'is not {self._verb}'
        # Joint states and poses are mostly measured; they count where this robot is told in them.
        kinds = {kind, *COMMANDS.values()} - ({JOINT_STATE, POSE} - {kind})
        inputs = set(self.topics)
        alike = sorted(f'{topic} ({its.rsplit("/", 1)[-1]})' for topic, its in self._types.items()
                       if its in kinds and topic not in inputs)
        return Finding(name, NOTE, f'{topic} {other}; of a command type there is: '
                       f'{", ".join(alike) or "none"}',
                       'correct command.topic and command.type, or remap the topic')

    def _absolute(self, name: str) -> str:
        return name if name.startswith('/') else f'{self._namespace}/{name}'

    def _wanted(self) -> list[Wanted]:
        robot, decoder, found = self._robot, ImageDecoder(), []
        for camera in robot.cameras:
            name = f'{camera.topic}/compressed' if camera.compressed else camera.topic
            found.append(Wanted(f'cameras.{camera.slot}', name,
                                COMPRESSED if camera.compressed else IMAGE,
                                PictureCheck(camera, decoder), camera.required))
        if robot.pose_topic:
            found.append(Wanted('joint_states.pose_topic', robot.pose_topic, POSE,
                                PoseCheck(robot), True))
        if robot.reads_joint_states:
            found.append(Wanted('joint_states', robot.joint_states_topic, JOINT_STATE,
                                JointsCheck(robot), True))
        return found

    def _find(self, wanted: Wanted) -> None:
        """Find the topic of an input, or say what there is instead."""
        absolute = self._absolute(wanted.name)
        if self._types.get(absolute) == wanted.type:
            wanted.topic = absolute
            return
        alike = [topic for topic, kind in self._types.items()
                 if kind == wanted.type and topic.endswith(f'/{wanted.name.lstrip("/")}')]
        if len(alike) == 1:
            wanted.topic = alike[0]
            namespace = alike[0].removesuffix(f'/{wanted.name.lstrip("/")}')
            wanted.trouble = Finding(wanted.key, NOTE, f'{absolute} is not {self._verb}, '
                                     f'{alike[0]} is', f'start the node with namespace:='
                                     f'{namespace.lstrip("/")}, or remap the topic')
            return
        wanted.trouble = self._absence(wanted, absolute)

    def _absence(self, wanted: Wanted, absolute: str) -> Finding:
        level = WRONG if wanted.is_required else NOTE
        if absolute in self._types:
            text = f'{absolute} is of type {self._types[absolute]}, not {wanted.type}'
        else:
            text = f'{absolute} is not {self._verb}'
        other = f'{absolute}/compressed' if wanted.type == IMAGE \
            else absolute.removesuffix('/compressed')
        if wanted.type in (IMAGE, COMPRESSED) and self._types.get(other) in (IMAGE, COMPRESSED):
            flag = str(wanted.type == IMAGE).lower()
            return Finding(wanted.key, level, f'{text}, {other} is',
                           f'set {wanted.key}.compressed: {flag}')
        alike = sorted(topic for topic, kind in self._types.items() if kind == wanted.type)
        remedy = 'start the driver, or correct the topic'
        if alike:
            remedy = f'correct the topic; of this type there is: {", ".join(alike)}'
        return Finding(wanted.key, level, text, remedy)
