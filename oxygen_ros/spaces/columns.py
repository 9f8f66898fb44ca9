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

"""Columns of actions: scale and offset between what the model gives and what is meant."""

import numpy as np
from numpy.typing import NDArray

from oxygen_ros.config import RobotProfile


class Columns:
    """Scale and offset of a profile."""

    def __init__(self, robot: RobotProfile):
        self._scale = robot.scale
        self._offset = robot.offset

    def to_robot(self, actions: NDArray) -> NDArray[np.float64]:
        """Return [n, columns] in units of the robot."""
        return np.asarray(actions, np.float64) * self._scale + self._offset

    def to_model(self, values: NDArray) -> NDArray[np.float64]:
        """Undo `to_robot`; not-a-number in a column whose scale is 0."""
        return (values - self._offset) / np.where(self._scale != 0, self._scale, np.nan)
