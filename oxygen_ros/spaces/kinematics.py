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

"""From the state of a robot to the pose of its tool, and back."""

from abc import ABC
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from oxygen_ros.config import RobotProfile
from oxygen_ros.rotations import matrix_from_rpy
from oxygen_ros.rotations import rpy_from_matrix


@dataclass(frozen=True)
class Pose:
    """Where the tool is, in the frame of the base."""

    position: NDArray[np.float64]   # [3] m
    rotation: NDArray[np.float64]   # [3, 3]


class Kinematics(ABC):
    """Both directions between joints and pose. One thread."""

    @abstractmethod
    def pose(self, state: NDArray) -> Pose:
        """Return the pose of the tool for a state [num_joints]."""

    @abstractmethod
    def solve(self, poses: Sequence[Pose], state: NDArray) -> NDArray[np.float64]:
        """
        Return joints [n, num_joints] for a sequence of poses that begins near `state`.

        Neighbouring rows are as near to each other as their poses; grippers stay as in `state`.
        A pose out of reach gives the joints that come nearest to it.
        """


class PoseAxes(Kinematics):
    """A robot that takes poses itself: its axes are x y z roll pitch yaw."""

    def __init__(self, robot: RobotProfile):
        self._axes = list(robot.pose_axes)

    def pose(self, state: NDArray) -> Pose:
        """Return the pose that the axes say."""
        axes = np.asarray(state, np.float64)[self._axes]
        return Pose(axes[:3], matrix_from_rpy(axes[3:]))

    def solve(self, poses: Sequence[Pose], state: NDArray) -> NDArray[np.float64]:
        """Return the axes of every pose; angles go on over a whole turn."""
        targets = np.tile(np.asarray(state, np.float64), (len(poses), 1))
        rpy = targets[0, self._axes[3:]] if len(poses) else None
        for target, pose in zip(targets, poses):
            rpy = rpy_from_matrix(pose.rotation, near=rpy)
            target[self._axes] = np.concatenate([pose.position, rpy])
        return targets
