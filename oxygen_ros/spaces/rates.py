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

"""Targets for robots that are told how fast to go."""

import numpy as np
from numpy.typing import NDArray

from oxygen_ros.spaces.base import ActionSpace


class FromState(ActionSpace):
    """
    Another action space, one row later: the first row is the state of the observation.

    A position is told ahead of time, at the beginning of the period at whose end it is due. A
    robot that is told rates goes from row to row instead, so what the first action asks for is
    the way from the state to its target. The last action has no period of its own.
    """

    def __init__(self, space: ActionSpace, *, is_rate: NDArray[np.bool_]):
        self._space = space
        self._is_rate = is_rate      # [num_joints]; grippers are told positions, as ever
        self.state_size, self.action_size = space.state_size, space.action_size
        self.state_range = space.state_range

    def model_state(self, state: NDArray) -> NDArray[np.float64]:
        """Return the state of the other space."""
        return self._space.model_state(state)

    def targets(self, actions: NDArray, state: NDArray) -> NDArray[np.float64]:
        """Return its targets, later by one row."""
        targets = self._space.targets(actions, state)
        later = np.vstack([state, targets[:-1]])
        return np.where(self._is_rate, later, targets)

    def actions(self, targets: NDArray, state: NDArray) -> NDArray[np.float64]:
        """Return the actions behind these targets; nothing is known of the last."""
        targets = np.asarray(targets, np.float64)
        earlier = np.vstack([targets[1:], targets[-1:]])
        actions = self._space.actions(np.where(self._is_rate, earlier, targets), state)
        actions[-1] = np.nan
        return actions
