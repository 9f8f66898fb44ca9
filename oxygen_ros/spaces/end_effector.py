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

"""Action space of models that speak of the tool: where it goes from where it was seen."""

import numpy as np
from numpy.typing import NDArray

from oxygen_ros.config import RobotProfile
from oxygen_ros.rotations import matrix_from_rotvec
from oxygen_ros.rotations import rotvec_from_matrix
from oxygen_ros.spaces.base import ActionSpace
from oxygen_ros.spaces.columns import Columns
from oxygen_ros.spaces.kinematics import Kinematics
from oxygen_ros.spaces.kinematics import Pose
from oxygen_ros.spaces.units import JointUnits
from oxygen_ros.spaces.units import model_state
from oxygen_ros.spaces.units import state_range

_REACH_M = 1.0   # of an arm, where a model has no statistics that say more


class EndEffectorDelta(ActionSpace):
    """
    Actions are [x y z, rotation vector, grippers]; the convention is in the profile.

    The model's state is the pose of the tool as position and rotation vector, then the grippers.
    """

    def __init__(self, robot: RobotProfile, kinematics: Kinematics):
        self.kinematics = kinematics
        self.action_size = robot.num_columns
        self._convention = robot.end_effector
        self._columns = Columns(robot)
        self._grippers = list(robot.grippers)
        self._units = [JointUnits(robot.joints[i]) for i in robot.grippers]
        self._near = np.array(robot.end_effector.rotation_near)
        lower, upper = state_range(self._units)
        reach = np.array([_REACH_M] * 3 + [np.pi] * 3)
        middle = np.concatenate([np.zeros(3), self._near])
        self.state_range = (np.concatenate([middle - reach, lower]),
                            np.concatenate([middle + reach, upper]))
        self.state_size = len(self.state_range[0])

    def model_state(self, state: NDArray) -> NDArray[np.float64]:
        """Return pose of the tool and grippers."""
        pose = self.kinematics.pose(state)
        return np.concatenate([pose.position, rotvec_from_matrix(pose.rotation, near=self._near),
                               model_state(self._units, np.asarray(state)[self._grippers])])

    def targets(self, actions: NDArray, state: NDArray) -> NDArray[np.float64]:
        """Return the joints for every pose, nearest to those before."""
        values = self._columns.to_robot(actions)
        start = before = self.kinematics.pose(state)
        poses = []
        for row in values:
            before = self._moved(before if self._is_stepwise else start, row[:3], row[3:6])
            poses.append(before)
        targets = self.kinematics.solve(poses, state)
        for unit, joint, column in zip(self._units, self._grippers, values.T[6:]):
            targets[:, joint] = unit.position(column)
        return targets

    def actions(self, targets: NDArray, state: NDArray) -> NDArray[np.float64]:
        """Return the actions that lead to these joints."""
        targets = np.asarray(targets, np.float64)
        start = before = self.kinematics.pose(state)
        values = np.empty((len(targets), self.action_size))
        for value, row in zip(values, targets):
            pose = self.kinematics.pose(row)
            value[:3], value[3:6] = self._distance(before if self._is_stepwise else start, pose)
            before = pose
            value[6:] = [unit.value(row[joint])
                         for unit, joint in zip(self._units, self._grippers)]
        return self._columns.to_model(values)

    @property
    def _is_stepwise(self) -> bool:
        return self._convention.relative_to == 'previous'

    def _moved(self, pose: Pose, move: NDArray, turn: NDArray) -> Pose:
        rotation = matrix_from_rotvec(turn)
        if self._convention.frame == 'tool':
            return Pose(pose.position + pose.rotation @ move, pose.rotation @ rotation)
        return Pose(pose.position + move, rotation @ pose.rotation)

    def _distance(self, start: Pose, end: Pose) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        move = end.position - start.position
        if self._convention.frame == 'tool':
            return (start.rotation.T @ move,
                    rotvec_from_matrix(start.rotation.T @ end.rotation))
        return move, rotvec_from_matrix(end.rotation @ start.rotation.T)
