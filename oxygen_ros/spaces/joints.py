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

"""Action spaces of robots whose model speaks of joints."""

import numpy as np
from numpy.typing import NDArray

from oxygen_ros.config import RobotProfile
from oxygen_ros.spaces.base import ActionSpace

# A joint without position limits is taken to have these, unit.
_UNLIMITED = np.pi


class JointPosition(ActionSpace):
    """Actions are targets per joint, times the profile's scale."""

    def __init__(self, robot: RobotProfile):
        self.state_size = self.action_size = len(robot.joints)
        self._scale = robot.scale
        self._lower = np.array([-_UNLIMITED if joint.lower is None else joint.lower
                                for joint in robot.joints])
        self._upper = np.array([_UNLIMITED if joint.upper is None else joint.upper
                                for joint in robot.joints])

    @property
    def state_range(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the position limits."""
        return self._lower, self._upper

    def model_state(self, state: NDArray) -> NDArray[np.float64]:
        """Return the positions as they are."""
        return np.asarray(state, np.float64)

    def targets(self, actions: NDArray, state: NDArray) -> NDArray[np.float64]:
        """Return the scaled actions."""
        return np.asarray(actions, np.float64) * self._scale

    def actions(self, targets: NDArray, state: NDArray) -> NDArray[np.float64]:
        """Undo the scale; the action has no say in a joint whose scale is 0."""
        known = np.where(self._scale != 0, self._scale, np.nan)
        return np.asarray(targets, np.float64) / known


class JointDelta(JointPosition):
    """Actions are distances per joint from the state of the observation."""

    def targets(self, actions: NDArray, state: NDArray) -> NDArray[np.float64]:
        """Return the state plus the scaled actions."""
        return super().targets(actions, state) + state

    def actions(self, targets: NDArray, state: NDArray) -> NDArray[np.float64]:
        """Return the scaled distance from the state."""
        return super().actions(np.asarray(targets, np.float64) - state, state)
