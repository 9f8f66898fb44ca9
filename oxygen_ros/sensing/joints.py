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

"""Joint states by name, in any order and from several broadcasters; poses as named axes."""

from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
import math

import numpy as np
from numpy.typing import NDArray

from oxygen_ros.rotations import matrix_from_quaternion
from oxygen_ros.rotations import nearest_turn
from oxygen_ros.rotations import rpy_from_matrix


class BadJoints(ValueError):
    """A joint state message that cannot be used; the message says why."""


@dataclass(frozen=True)
class JointSample:
    """Positions of every joint of the profile at one time."""

    positions: NDArray[np.float64]   # [num_joints], profile order
    stamp_ns: int                    # of the oldest position inside


class JointReader:
    """
    Collects joint states into profile order. One thread.

    Arms and grippers often have a broadcaster each on one topic, so a message may hold only
    some of the joints; the state is complete once every joint was seen.

    `turning`: angles that are known only up to whole turns, and where to begin. A reading is taken
    on the turn nearest to the one before it, so that an angle that passes half a turn goes on.
    """

    def __init__(self, joint_names: Sequence[str], *, turning: Mapping[str, float] | None = None):
        self._names = tuple(joint_names)
        self._near = {self._names.index(name): middle for name, middle in (turning or {}).items()}
        self._names_seen: list[str] = []      # of the newest useful message
        self._columns: list[int] = []         # in the message, per found joint
        self._found: list[int] = []           # profile index, per found joint
        self.clear()

    def clear(self) -> None:
        """Forget all positions, for example when time jumped back."""
        self._positions = np.full(len(self._names), np.nan)
        self._stamps_ns = [0] * len(self._names)

    @property
    def missing(self) -> tuple[str, ...]:
        """Joints of the profile that no message has named yet."""
        return tuple(name for name, position in zip(self._names, self._positions)
                     if math.isnan(position))

    @property
    def offered(self) -> tuple[str, ...]:
        """Joints named by the newest message."""
        return tuple(self._names_seen)

    def read(self, names: Sequence[str], positions: Sequence[float],
             stamp_ns: int) -> JointSample | None:
        """
        Take one message in; return the state when it is complete.

        Raises BadJoints and keeps the previous state when the message contradicts itself.
        """
        if len(names) != len(positions):
            raise BadJoints(f'{len(names)} names but {len(positions)} positions')
        if names != self._names_seen:
            self._look_up(names)
        values = [positions[column] for column in self._columns]
        for index, value in zip(self._found, values):
            if not math.isfinite(value):
                raise BadJoints(f'position of {self._names[index]} is {value}')
        if not self._found:
            return None
        updated = self._positions.copy()      # samples handed out never change
        for index, value in zip(self._found, values):
            if index in self._near:      # not forgotten by clear: commands are on this turn
                value = self._near[index] = nearest_turn(value, self._near[index])
            updated[index] = value
            self._stamps_ns[index] = stamp_ns
        self._positions = updated
        if np.isnan(updated).any():
            return None
        return JointSample(positions=updated, stamp_ns=min(self._stamps_ns))

    def _look_up(self, names: Sequence[str]) -> None:
        """Find our joints among names; kept until a message has other names or another order."""
        columns = {name: column for column, name in enumerate(names)}
        if len(columns) != len(names):
            twice = next(name for name in names if list(names).count(name) > 1)
            raise BadJoints(f'joint {twice} is named twice')
        self._names_seen = list(names)
        self._found = [index for index, name in enumerate(self._names) if name in columns]
        self._columns = [columns[self._names[index]] for index in self._found]


class PoseReader:
    """Reads a pose as the axes x y z roll pitch yaw, continuous as long as it moves smoothly."""

    def __init__(self, middle: Sequence[float]):
        """Begin with the angles nearest to `middle`, rad."""
        self._near = np.asarray(middle, np.float64)

    def read(self, pose) -> list[float]:
        """
        Return m and rad of a geometry_msgs/Pose.

        Raises BadJoints for numbers that are no pose.
        """
        place, turn = pose.position, pose.orientation
        position = [place.x, place.y, place.z]
        quaternion = np.array([turn.x, turn.y, turn.z, turn.w])
        length = float(np.linalg.norm(quaternion))
        if not all(map(math.isfinite, position)):
            raise BadJoints(f'position of the pose is {position}')
        if not abs(length - 1) < 0.01:       # also when it is not a number
            raise BadJoints(f'orientation of the pose has length {length:g}; a quaternion has 1')
        self._near = rpy_from_matrix(matrix_from_quaternion(quaternion), near=self._near)
        return [*position, *self._near.tolist()]
