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

"""Which topic carries what: told by its type and name, so no profile is needed to look."""

from dataclasses import dataclass

CAMERA, STATE, COMMAND = 'camera', 'state', 'command'
CHUNK, PIECE, FACT = 'chunk', 'piece', 'fact'
ENGINE, DEADLINE, DIAGNOSTICS = 'engine', 'deadline', 'diagnostics'
INSTRUCTION, SUBTASK = 'instruction', 'subtask'

_BY_TYPE = {
    'sensor_msgs/msg/Image': CAMERA,
    'sensor_msgs/msg/CompressedImage': CAMERA,
    'trajectory_msgs/msg/JointTrajectory': COMMAND,
    'std_msgs/msg/Float64MultiArray': COMMAND,
    'oxygen_ros/msg/ActionChunk': CHUNK,
    'oxygen_ros/msg/TokenDelta': PIECE,
    'oxygen_ros/msg/MemoryFact': FACT,
    'oxygen_ros/msg/EngineStatus': ENGINE,
    'oxygen_ros/msg/Deadline': DEADLINE,
    'oxygen_ros/msg/Subtask': SUBTASK,
    'diagnostic_msgs/msg/DiagnosticArray': DIAGNOSTICS,
}
# Types that carry commands only where the node sends them.
_SENT = ('sensor_msgs/msg/JointState', 'geometry_msgs/msg/PoseStamped',
         'geometry_msgs/msg/TwistStamped')
_CAMERA_SUFFIXES = ('/compressed', '/image_raw', '/image_rect_color', '/image_color', '/image')


@dataclass(frozen=True)
class Channel:
    """One topic that is shown."""

    kind: str          # one of the words above
    name: str          # of the camera; else the kind
    topic: str         # full name
    type: str          # 'sensor_msgs/msg/Image'


def channel_of(topic: str, message_type: str, *,
               is_published: bool | None = None) -> Channel | None:
    """
    Return what a topic is, None for one that is not shown.

    is_published: by the node itself, then joint states and poses are commands; False: it listens
    to the topic. None, as in a recording: nobody knows, and the last part of the name decides.
    """
    kind = _BY_TYPE.get(message_type)
    last = topic.rsplit('/', 1)[-1]
    if message_type in _SENT and (is_published or 'command' in last):
        kind = COMMAND
    elif message_type == 'sensor_msgs/msg/JointState' or (
            message_type == 'geometry_msgs/msg/PoseStamped' and is_published is False):
        kind = STATE
    elif message_type == 'std_msgs/msg/String' and last == (
            'instruction' if is_published is None else 'instruction_in_force'):
        kind = INSTRUCTION
    if kind is None:
        return None
    return Channel(kind, camera_name(topic) if kind == CAMERA else kind, topic, message_type)


def camera_name(topic: str) -> str:
    """Return the part of a picture topic that tells the cameras apart."""
    name = topic
    for suffix in _CAMERA_SUFFIXES:
        name = name.removesuffix(suffix)
    return name.strip('/') or topic.strip('/')
