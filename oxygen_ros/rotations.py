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
Rotations as matrix, rotation vector, roll-pitch-yaw and quaternion, each continuous on demand.

Roll, pitch and yaw turn about the fixed axes x, y, z in this order (REP 103, URDF). One
orientation has many rotation vectors and many triples of angles: `near` picks the one that goes
on from another, so that a sequence has no jumps of a whole turn.
"""

import math

import numpy as np
from numpy.typing import NDArray

_TURN = 2 * math.pi
_SMALL = 1e-12


def matrix_from_rotvec(rotvec: NDArray) -> NDArray[np.float64]:
    """Return the matrix [3, 3] of a rotation vector [3], rad."""
    x, y, z = np.asarray(rotvec, np.float64)
    angle = math.sqrt(x * x + y * y + z * z)
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    if angle < 1e-8:
        return np.eye(3) + cross
    return (np.eye(3) + (math.sin(angle) / angle) * cross
            + ((1 - math.cos(angle)) / angle ** 2) * (cross @ cross))


def rotvec_from_matrix(matrix: NDArray, *, near: NDArray | None = None) -> NDArray[np.float64]:
    """Return the rotation vector [3] of a matrix: the shortest, or the one nearest to `near`."""
    x, y, z, w = quaternion_from_matrix(matrix)
    length = math.sqrt(x * x + y * y + z * z)
    if length < _SMALL:
        axis, angle = np.zeros(3), 0.0
    else:
        axis, angle = np.array([x, y, z]) / length, 2 * math.atan2(length, w)
    if angle > math.pi:
        angle -= _TURN
    if near is None:
        return axis * angle
    if length < _SMALL:   # no rotation, or whole turns about any axis
        size = float(np.linalg.norm(near))
        axis = np.asarray(near) / size if size > _SMALL else axis
    return axis * nearest_turn(angle, float(axis @ near))


def matrix_from_rpy(rpy: NDArray) -> NDArray[np.float64]:
    """Return the matrix [3, 3] of roll, pitch, yaw, rad."""
    (cr, cp, cy), (sr, sp, sy) = np.cos(rpy), np.sin(rpy)
    return np.array([[cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
                     [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
                     [-sp, cp * sr, cp * cr]])


def rpy_from_matrix(matrix: NDArray, *, near: NDArray | None = None) -> NDArray[np.float64]:
    """Return roll, pitch, yaw of a matrix, rad; of all triples the one nearest to `near`."""
    if near is None:
        near = np.zeros(3)
    (a, _, _), (b, c, d), (e, f, g) = matrix
    pitch = math.atan2(-e, math.hypot(a, b))
    if math.hypot(a, b) < 1e-6:
        # Roll and yaw turn about one line: keep the roll, let the yaw do the rest.
        roll = float(near[0])
        turned = matrix @ matrix_from_rpy(np.array([roll, pitch, 0.0])).T
        candidates = [(roll, pitch, math.atan2(turned[1, 0], turned[0, 0]))]
    else:
        roll, yaw = math.atan2(f, g), math.atan2(b, a)
        candidates = [(roll, pitch, yaw), (roll + math.pi, math.pi - pitch, yaw + math.pi)]
    found = [np.array([nearest_turn(angle, wanted) for angle, wanted in zip(angles, near)])
             for angles in candidates]
    return min(found, key=lambda angles: float(np.abs(angles - near).sum()))


def matrix_from_quaternion(quaternion: NDArray) -> NDArray[np.float64]:
    """Return the matrix [3, 3] of a quaternion x, y, z, w of any length but 0."""
    x, y, z, w = np.asarray(quaternion, np.float64) / np.linalg.norm(quaternion)
    return np.array([[1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
                     [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                     [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]])


def quaternion_from_matrix(matrix: NDArray) -> NDArray[np.float64]:
    """Return the unit quaternion x, y, z, w of a matrix, with w >= 0."""
    m = np.asarray(matrix, np.float64)
    xx, yy, zz = m[0, 0], m[1, 1], m[2, 2]
    # The row with the largest diagonal is the one that loses no digits.
    table = np.array([
        [1 + xx - yy - zz, m[0, 1] + m[1, 0], m[0, 2] + m[2, 0], m[2, 1] - m[1, 2]],
        [m[0, 1] + m[1, 0], 1 - xx + yy - zz, m[1, 2] + m[2, 1], m[0, 2] - m[2, 0]],
        [m[0, 2] + m[2, 0], m[1, 2] + m[2, 1], 1 - xx - yy + zz, m[1, 0] - m[0, 1]],
        [m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1], 1 + xx + yy + zz]])
    row = table[int(np.argmax(np.diagonal(table)))]
    return row / np.linalg.norm(row) * (1.0 if row[3] >= 0 else -1.0)


def nearest_turn(angle: float, wanted: float) -> float:
    """Return the angle plus whole turns that is nearest to `wanted`, rad."""
    return angle + _TURN * round((wanted - angle) / _TURN)
