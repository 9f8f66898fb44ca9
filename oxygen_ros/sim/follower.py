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


"""Turns commands, as they come from a controller, into a servo target for every step."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


class CommandError(ValueError):
    """A command that the robot refuses; the message says why."""


class CommandFollower:
    """
    Follows the newest command; joints it does not name keep their target.

    A command is one or more points in time. Between them, and from the target of now to the
    first of them, targets move in a straight line, as a trajectory controller does it.
    """

    def __init__(self, joint_names: Sequence[str], target: NDArray):
        self._index = {name: number for number, name in enumerate(joint_names)}
        self._times_s = np.zeros(1)
        self._points = np.array(target, np.float64)[None]

    def follow(self, points: NDArray, *, names: Sequence[str], times_s: Sequence[float],
               now_s: float) -> None:
        """Take points [len(times_s), len(names)] due times_s after now; CommandError if bad."""
        unknown = [name for name in names if name not in self._index]
        if unknown:
            raise CommandError(f'joint {unknown[0]!r} is not known; '
                               f'joints are {", ".join(self._index)}')
        points, times_s = np.asarray(points, np.float64), np.asarray(times_s, np.float64)
        if not len(times_s) or points.shape != (len(times_s), len(names)):
            raise CommandError(f'positions have shape {points.shape}; give one for each of '
                               f'{len(names)} joints at each of {len(times_s)} times')
        if not np.isfinite(points).all():
            raise CommandError('positions are not finite')
        if (np.diff(times_s) <= 0).any() or times_s[0] < 0:
            raise CommandError('times of the points do not increase')
        target = self.target(now_s)
        whole = np.tile(target, (len(times_s), 1))
        whole[:, [self._index[name] for name in names]] = points
        if times_s[0] > 0:
            whole, times_s = np.vstack([target, whole]), np.concatenate([[0.0], times_s])
        self._points, self._times_s = whole, now_s + times_s

    def target(self, now_s: float) -> NDArray[np.float64]:
        """Return where the servos shall be at now_s, [num_joints]."""
        return np.array([np.interp(now_s, self._times_s, column) for column in self._points.T])
