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

"""Action spaces: from what a model says to where each joint of one robot goes, and back."""

from functools import lru_cache

import numpy as np

from oxygen_ros.config import RobotProfile
from oxygen_ros.spaces.arm import ArmKinematics
from oxygen_ros.spaces.base import ActionSpace
from oxygen_ros.spaces.end_effector import EndEffectorDelta
from oxygen_ros.spaces.joints import JointDelta
from oxygen_ros.spaces.joints import JointPosition
from oxygen_ros.spaces.joints import JointVelocity
from oxygen_ros.spaces.kinematics import Kinematics
from oxygen_ros.spaces.kinematics import Pose
from oxygen_ros.spaces.kinematics import PoseAxes
from oxygen_ros.spaces.rates import FromState

__all__ = ['action_space', 'ActionSpace', 'Kinematics', 'kinematics', 'Pose']

_JOINT_SPACES = {'joint_position': JointPosition, 'joint_delta': JointDelta,
                 'joint_velocity': JointVelocity}


@lru_cache(maxsize=8)
def action_space(robot: RobotProfile) -> ActionSpace:
    """Return the action space of a profile; one object per profile, for one thread."""
    if robot.action_space == 'ee_delta':
        space = EndEffectorDelta(robot, kinematics(robot))
    else:
        space = _JOINT_SPACES[robot.action_space](robot)
    if not robot.is_told_rates:
        return space
    return FromState(space, is_rate=np.array([joint.role == 'arm' for joint in robot.joints]))


def kinematics(robot: RobotProfile) -> Kinematics:
    """Return the kinematics of a robot: its own axes, or those of the arm in its URDF."""
    return PoseAxes(robot) if robot.pose_axes else ArmKinematics(robot)
