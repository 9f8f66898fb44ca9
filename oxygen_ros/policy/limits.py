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

"""Per-joint position, velocity, step and start-jump limits: the last gate before the wire."""

import numpy as np
from numpy.typing import NDArray

from oxygen_ros.config import ConfigError
from oxygen_ros.config import RobotProfile
from oxygen_ros.types import Cause

# Chunks are float32: a target on a limit may be this much beyond it (relative) by rounding alone.
_ROUNDING = 1e-6


class Limits:
    """
    Turns a wanted position into one that may be sent, or refuses it.

    A command is never further from the one before it than one period's step, however many ticks
    were missed in between: a stall must not turn into a jump. Used by the tick thread alone.
    """

    def __init__(self, profile: RobotProfile, *, rate_hz: float, mode: str = 'clamp'):
        if profile.missing_limits:
            raise ConfigError(
                f'robot {profile.name} may not move: no {", ".join(profile.missing_limits)}; '
                f'add the limits to its profile')
        self.mode = mode
        self.lower = np.array([joint.lower for joint in profile.joints], np.float64)
        self.upper = np.array([joint.upper for joint in profile.joints], np.float64)
        velocity_step = np.array([joint.max_velocity / rate_hz for joint in profile.joints])
        step = np.array([np.inf if joint.max_step is None else joint.max_step
                         for joint in profile.joints])
        self.step = np.minimum(velocity_step, step)  # unit per tick
        self.start_jump = profile.start_jump
        self.clamped_per_joint = np.zeros(len(profile.joints), np.int64)   # ticks
        self.rejected_per_joint = np.zeros(len(profile.joints), np.int64)  # actions
        self._joint_names = profile.joint_names
        self._first_step = np.minimum(self.step, self.start_jump)
        self._tolerance = _ROUNDING * np.maximum(1.0, np.maximum(abs(self.lower), abs(self.upper)))

    def clip(self, position: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the position moved inside the position limits."""
        return np.clip(position, self.lower, self.upper)

    def fault_of_state(self, measured: NDArray[np.float64]) -> str:
        """
        Say why a measured state cannot be true, '' if it can.

        A joint may be pushed out of its limits, but not by more than its whole travel: that is
        another unit or a broken encoder, and no command may start from it.
        """
        if measured.shape != self.lower.shape:
            return f'{measured.size} positions for {len(self.lower)} joints'
        travel = self.upper - self.lower
        # Written so that not-a-number, which compares false, is a fault too.
        is_true = (measured >= self.lower - travel) & (measured <= self.upper + travel)
        for index in np.flatnonzero(~is_true):
            return (f'{self._joint_names[index]} measured at {measured[index]:g}, limits '
                    f'{self.lower[index]:g} to {self.upper[index]:g}')
        return ''

    def toward(self, target: NDArray[np.float64], reference: NDArray[np.float64], *,
               first: bool = False) -> NDArray[np.float64]:
        """
        Go one step from `reference` to `target` clipped into the position limits.

        `first`: reference is the measured state, not a command. A reference outside the position
        limits is led back inside step by step: a leap to the limit would be as fast as the motors.
        """
        step = self._first_step if first else self.step
        command = reference + np.clip(self.clip(target) - reference, -step, step)
        # Adding may round past a limit by one bit.
        return np.clip(command, np.minimum(self.lower, reference),
                       np.maximum(self.upper, reference))

    def apply(self, target: NDArray[np.float64], reference: NDArray[np.float64], *,
              first: bool = False, joining: bool = False,
              ) -> tuple[NDArray[np.float64] | None, int, Cause]:
        """
        Return (command or None, joints changed, cause of a refusal) for an action of the model.

        `joining`: the action follows a fallback or missed ticks, so it may be as far away as a
        start, and is approached at the velocity limit; else `reject` would refuse for ever.
        """
        if not np.isfinite(target).all():
            return None, 0, Cause.NOT_FINITE
        if self.mode == 'reject' and self._is_refused(target, reference, first or joining):
            return None, 0, Cause.LIMIT
        command = self.toward(target, reference, first=first)
        changed = np.abs(command - target) > self._tolerance
        self.clamped_per_joint += changed
        return command, int(np.count_nonzero(changed)), Cause.NONE

    def describe(self) -> str:
        """Name the joints whose limits actions broke, and how often; '' if none did."""
        counts = self.rejected_per_joint + self.clamped_per_joint
        return ', '.join(f'{name}: {count} times beyond a limit'
                         for name, count in zip(self._joint_names, counts) if count)

    def _is_refused(self, target, reference, is_start: bool) -> bool:
        outside = np.abs(target - self.clip(target)) > self._tolerance
        allowed = np.maximum(self.step, self.start_jump) if is_start else self.step
        broken = outside | (np.abs(target - reference) > allowed + self._tolerance)
        self.rejected_per_joint += broken
        return bool(broken.any())
