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

"""One joint in the units of the robot and in those of the model."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from oxygen_ros.config import Joint
from oxygen_ros.config import Linkage


class JointUnits:
    """Sign, gains, offset and linkage of one joint. Every method takes a number or an array."""

    def __init__(self, joint: Joint):
        self._sign = -1.0 if joint.flip else 1.0
        self._gains = np.array(joint.state_gains, np.float64) * self._sign
        self._offset = joint.state_offset
        self._linkage = joint.linkage
        lower, upper = joint.range
        ends = np.array([self.state(lower), self.state(upper)])
        self.state_range = ends.min(axis=0), ends.max(axis=0)

    def state(self, position: float) -> NDArray[np.float64]:
        """Return the columns of the model's state, of a measured position."""
        if self._linkage is None:
            return self._gains * position + self._offset
        angle = _motor_angle(self._linkage, position)
        low, high = self._linkage.state
        return self._gains * (angle - low) / (high - low) + self._offset

    def position(self, value: NDArray) -> NDArray[np.float64]:
        """Return the position that an absolute action asks for."""
        if self._linkage is None:
            return self._sign * value
        low, high = self._linkage.action
        return (value - low) / (high - low)

    def value(self, position: NDArray) -> NDArray[np.float64]:
        """Undo `position`."""
        if self._linkage is None:
            return self._sign * position
        low, high = self._linkage.action
        return low + position * (high - low)

    def distance(self, value: NDArray) -> NDArray[np.float64]:
        """Return how far a relative action moves the joint; its own inverse."""
        return self._sign * value


def model_state(units: Sequence[JointUnits], positions: NDArray) -> NDArray[np.float64]:
    """Return the columns of the model's state of several joints."""
    return np.concatenate([unit.state(position) for unit, position in zip(units, positions)]
                          or [np.zeros(0)])


def state_range(units: Sequence[JointUnits]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return (lowest, highest) of these columns."""
    return tuple(np.concatenate([unit.state_range[end] for unit in units] or [np.zeros(0)])
                 for end in (0, 1))


def _motor_angle(linkage: Linkage, opening: float) -> NDArray[np.float64]:
    """Return the angle of the motor's horn, rad, where the fingers are this far open."""
    low, high = linkage.slide
    slide = low + np.asarray(opening, np.float64) * (high - low)
    cosine = ((linkage.horn ** 2 + slide ** 2 - linkage.arm ** 2)
              / (2 * linkage.horn * slide))
    return np.arcsin(np.clip(cosine, -1.0, 1.0))
