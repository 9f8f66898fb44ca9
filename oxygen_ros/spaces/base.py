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

"""What a model's numbers mean on a robot: the interface between the two."""

from abc import ABC
from abc import abstractmethod

import numpy as np
from numpy.typing import NDArray


class ActionSpace(ABC):
    """
    Converts between robot units and the numbers a model was trained on, before normalisation.

    One per profile, made by `action_space(robot)`. Called once per chunk by whoever owns the
    model, never by the control tick.
    """

    state_size: int       # numbers in what the model calls the state
    action_size: int      # columns of the model's actions that this robot uses
    # (lowest, highest) model state, [state_size] each: for want of statistics
    state_range: tuple[NDArray[np.float64], NDArray[np.float64]]

    @abstractmethod
    def model_state(self, state: NDArray) -> NDArray[np.float64]:
        """Return what the model calls the state, [state_size], of [num_joints] robot units."""

    @abstractmethod
    def targets(self, actions: NDArray, state: NDArray) -> NDArray[np.float64]:
        """
        Return absolute targets [n, num_joints] in robot units for [n, action_size] model units.

        `state`: what was measured when the actions were asked for, [num_joints] robot units.
        """

    @abstractmethod
    def actions(self, targets: NDArray, state: NDArray) -> NDArray[np.float64]:
        """
        Undo `targets`: [n, num_joints] robot units to [n, action_size] model units.

        Not-a-number in a column about which the targets say nothing.
        """
