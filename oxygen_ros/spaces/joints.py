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

"""Action spaces of robots whose model speaks of joints. Grippers are absolute in all of them."""

import numpy as np
from numpy.typing import NDArray

from oxygen_ros.config import RobotProfile
from oxygen_ros.spaces.base import ActionSpace
from oxygen_ros.spaces.columns import Columns
from oxygen_ros.spaces.units import JointUnits
from oxygen_ros.spaces.units import model_state
from oxygen_ros.spaces.units import state_range


class JointPosition(ActionSpace):
    """Actions are targets per joint."""

    def __init__(self, robot: RobotProfile):
        self._units = [JointUnits(joint) for joint in robot.joints]
        self._is_arm = [joint.role == 'arm' for joint in robot.joints]
        self._columns = Columns(robot)
        self.state_range = state_range(self._units)
        self.state_size = len(self.state_range[0])
        self.action_size = robot.num_columns

    def model_state(self, state: NDArray) -> NDArray[np.float64]:
        """Return the positions as the model counts them."""
        return model_state(self._units, np.asarray(state, np.float64))

    def targets(self, actions: NDArray, state: NDArray) -> NDArray[np.float64]:
        """Return the positions that the actions ask for."""
        values = self._columns.to_robot(actions)
        return np.stack([
            self._follow(unit, column, start) if is_arm else unit.position(column)
            for unit, is_arm, column, start in zip(self._units, self._is_arm, values.T, state)
        ], axis=1)

    def actions(self, targets: NDArray, state: NDArray) -> NDArray[np.float64]:
        """Return the actions that ask for these positions."""
        targets = np.asarray(targets, np.float64)
        return self._columns.to_model(np.stack([
            self._explain(unit, column, start) if is_arm else unit.value(column)
            for unit, is_arm, column, start in zip(self._units, self._is_arm, targets.T, state)
        ], axis=1))

    def _follow(self, unit: JointUnits, column: NDArray, start: float) -> NDArray[np.float64]:
        return unit.position(column)

    def _explain(self, unit: JointUnits, column: NDArray, start: float) -> NDArray[np.float64]:
        return unit.value(column)


class JointDelta(JointPosition):
    """Actions are distances per joint from the state of the observation."""

    def _follow(self, unit: JointUnits, column: NDArray, start: float) -> NDArray[np.float64]:
        return start + unit.distance(column)

    def _explain(self, unit: JointUnits, column: NDArray, start: float) -> NDArray[np.float64]:
        return unit.distance(column - start)


class JointVelocity(JointPosition):
    """Actions are velocities per joint, each held for one period of the action rate."""

    def __init__(self, robot: RobotProfile):
        super().__init__(robot)
        self._dt_s = 1 / robot.action_rate_hz

    def _follow(self, unit: JointUnits, column: NDArray, start: float) -> NDArray[np.float64]:
        return start + unit.distance(np.cumsum(column)) * self._dt_s

    def _explain(self, unit: JointUnits, column: NDArray, start: float) -> NDArray[np.float64]:
        return unit.distance(np.diff(column, prepend=start)) / self._dt_s
