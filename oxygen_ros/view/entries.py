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

"""Messages as plain data for JSON; works on live messages and on those of a recording."""

import dataclasses
import math

from oxygen_ros.config.robot import POSE_AXES
from oxygen_ros.rotations import matrix_from_quaternion
from oxygen_ros.rotations import rpy_from_matrix


def seconds(stamp) -> float:
    """Return a builtin_interfaces/Time in s."""
    return stamp.sec + stamp.nanosec * 1e-9


def plain(message) -> dict:
    """Return the numbers, texts and arrays of a message, without stamps and nested messages."""
    if hasattr(message, 'get_fields_and_field_types'):
        names = message.get_fields_and_field_types()
    else:
        names = [field.name for field in dataclasses.fields(message)]
    values = {name: getattr(message, name) for name in names}
    return {name: plain_value(value) for name, value in values.items()
            if isinstance(value, str | bool | int | float | list) or hasattr(value, 'tolist')}


def plain_value(value):
    """Return a value as JSON knows it; what is no number becomes None."""
    if hasattr(value, 'tolist'):
        value = value.tolist()
    if isinstance(value, list):
        return [plain_value(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def positions(message) -> tuple[list[str], list[float]]:
    """Return names and numbers of joint states or of a command in any of its forms."""
    if hasattr(message, 'points'):
        values = list(message.points[0].positions) if message.points else []
        return list(message.joint_names), values
    if hasattr(message, 'layout'):
        label = message.layout.dim[0].label if message.layout.dim else ''
        names, values = label.split(','), list(message.data)
        if len(names) != len(values):
            names = [f'joint {number + 1}' for number in range(len(values))]
        return names, values
    if hasattr(message, 'pose'):
        place, turn = message.pose.position, message.pose.orientation
        angles = rpy_from_matrix(matrix_from_quaternion([turn.x, turn.y, turn.z, turn.w]))
        return list(POSE_AXES), [place.x, place.y, place.z, *angles.tolist()]
    if hasattr(message, 'twist'):
        speeds = [getattr(part, axis) for part in (message.twist.linear, message.twist.angular)
                  for axis in 'xyz']
        return [f'speed {axis}' for axis in POSE_AXES], speeds
    return list(message.name), list(message.position)


def diagnostic(status) -> dict:
    """Return a DiagnosticStatus."""
    level = status.level
    return {'name': status.name, 'message': status.message,
            'level': level[0] if isinstance(level, bytes) else int(level),
            'values': {value.key: value.value for value in status.values}}
