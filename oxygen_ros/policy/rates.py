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

"""Robots that are told how fast to go: rates from positions, after every limit."""

import numpy as np
from numpy.typing import NDArray

from oxygen_ros.config import RobotProfile
from oxygen_ros.rotations import matrix_from_rpy
from oxygen_ros.rotations import rotvec_from_matrix


class Rates:
    """
    What differs for a robot that is told rates. Used by the tick thread alone.

    Its next position is counted from the measured one, not from the last command: rates say
    nothing about where it is, and an error of the past must not be made up for in one tick.
    """

    def __init__(self, profile: RobotProfile, *, rate_hz: float):
        # [num_joints]: grippers are told positions by every robot.
        self.mask = np.array([profile.is_told_rates and joint.role == 'arm'
                              for joint in profile.joints])
        self.is_used = bool(self.mask.any())
        self._rate_hz = rate_hz
        self._turning = list(profile.pose_axes[3:]) if profile.is_told_rates else []

    def reference(self, last: NDArray, measured: NDArray) -> NDArray[np.float64]:
        """Return where the next step starts."""
        return last if not self.is_used else np.where(self.mask, measured, last)

    def wire(self, command: NDArray, reference: NDArray) -> NDArray[np.float64]:
        """
        Return what is sent for a command [num_joints] that leads away from the reference.

        Rates in unit/s; in place of roll, pitch and yaw the angular velocity about the fixed
        axes x, y and z, which is what a twist holds.
        """
        if not self.is_used:
            return command
        told = np.where(self.mask, (command - reference) * self._rate_hz, command)
        if self._turning:
            turn = (matrix_from_rpy(command[self._turning])
                    @ matrix_from_rpy(reference[self._turning]).T)
            told[self._turning] = rotvec_from_matrix(turn) * self._rate_hz
        return told
