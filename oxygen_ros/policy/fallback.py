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

"""Fallback: what the robot is told when no action of the model may be sent."""

import numpy as np
from numpy.typing import NDArray

from oxygen_ros.config import ControlConfig


class Fallback:
    """
    Positions to go to while falling back; Limits decides how fast. Used by the tick thread alone.

    hold            the position measured when the fallback began; latched, so that an arm that
                    sags is not followed downwards
    ramp_down       on along the last commands, slowing to standstill in ramp_down_s
    zero_velocity   the last command again: the set-point stops at once
    none            nothing is sent, the controller's own time-out decides

    A joint that is told rates stands still at once in all of them but ramp_down.
    """

    def __init__(self, control: ControlConfig, *, rate_hz: float,
                 is_rate: NDArray[np.bool_] | bool = False):
        self.kind = control.fallback
        self._is_rate = is_rate      # [num_joints]
        self._num_ramp_ticks = max(1, round(control.ramp_down_s * rate_hz))
        self._target: NDArray[np.float64] | None = None  # None: not falling back
        self._step: NDArray[np.float64] | None = None
        self._tick = 0

    @property
    def is_running(self) -> bool:
        """Return whether a fallback has begun and not ended."""
        return self._target is not None

    def begin(self, measured: NDArray[np.float64] | None, last: NDArray[np.float64] | None,
              last_step: NDArray[np.float64] | None) -> None:
        """
        Latch the position to fall back to.

        `last` is the last command and `last_step` its distance from the one before; None before
        the first. At least one of measured and last must be there.
        """
        use_measured = measured is not None and (self.kind == 'hold' or last is None)
        self._target = measured if use_measured else last
        self._step = last_step if self.kind == 'ramp_down' and last is not None else None
        self._tick = 0

    def target(self, reference: NDArray[np.float64]) -> NDArray[np.float64] | None:
        """Return where to go on this tick from `reference`, None to send nothing."""
        if self.kind == 'none':
            return None
        step = np.zeros_like(reference)
        if self._step is not None and self._tick < self._num_ramp_ticks:
            self._tick += 1
            step = self._step * (1 - self._tick / self._num_ramp_ticks)
        self._target = self._target + step
        return np.where(self._is_rate, reference + step, self._target)

    def end(self) -> None:
        """Forget the latched position: an action of the model was sent."""
        self._target = None
