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

"""One joint (or Cartesian axis) of a robot profile: limits, role, and how the model sees it."""

from dataclasses import dataclass
import math

from oxygen_ros.config.errors import ConfigError
from oxygen_ros.config.errors import require_choice
from oxygen_ros.config.errors import require_range

ROLES = ('arm', 'gripper')


@dataclass(frozen=True)
class Linkage:
    """
    A gripper that the robot counts by the opening of its fingers, the model by its motor's angle.

    The motor turns a horn, an arm joins horn and finger, the finger slides on a line.
    """

    slide: tuple[float, float]     # m from the motor's axis, at opening 0 and 1
    arm: float                     # m
    horn: float                    # m
    state: tuple[float, float]     # rad that the model's state counts as 0 and 1
    action: tuple[float, float]    # what the model's action is at opening 0 and 1

    def __post_init__(self):
        """Check every field."""
        for key in ('slide', 'state', 'action'):
            pair = getattr(self, key)
            if not isinstance(pair, tuple) or len(pair) != 2 or pair[0] == pair[1]:
                raise ConfigError(f'linkage.{key} is {pair!r}; give two different numbers, for '
                                  f'the opening 0 and 1')
            for value in pair:
                require_range(f'linkage.{key}', value, -1e3, 1e3)
        for key in ('arm', 'horn'):
            require_range(f'linkage.{key}', getattr(self, key), 1e-6, 10, 'm')
        if min(self.slide) <= 0:
            raise ConfigError(f'linkage.slide is {self.slide!r}; give distances above 0 m')


@dataclass(frozen=True)
class Joint:
    """One joint with the limits that make it safe to move; a missing limit is None."""

    name: str
    lower: float | None = None             # unit
    upper: float | None = None             # unit
    max_velocity: float | None = None      # unit / s
    max_step: float | None = None          # unit per tick; None: max_velocity / rate
    unit: str = 'rad'
    role: str = 'arm'                      # gripper: its actions are absolute in every space
    flip: bool = False                     # the model counts the other way round
    state_gains: tuple[float, ...] = (1.0,)  # model state columns of this joint, times position
    state_offset: float = 0.0              # added to each of these columns
    linkage: Linkage | None = None         # grippers only

    def __post_init__(self):
        """Check every field that is there."""
        for key in ('lower', 'upper'):
            if getattr(self, key) is not None:
                require_range(f'joints.{self.name}.{key}', getattr(self, key), -1e6, 1e6)
        for key in ('max_velocity', 'max_step'):
            if getattr(self, key) is not None:
                require_range(f'joints.{self.name}.{key}', getattr(self, key), 1e-9, 1e6)
        if None not in (self.lower, self.upper) and self.lower >= self.upper:
            raise ConfigError(f'joints.{self.name}: lower {self.lower:g} is not below '
                              f'upper {self.upper:g}')
        require_choice(f'joints.{self.name}.role', self.role, ROLES)
        require_choice(f'joints.{self.name}.flip', self.flip, (True, False))
        require_range(f'joints.{self.name}.state_offset', self.state_offset, -1e6, 1e6)
        for gain in self.state_gains:
            require_range(f'joints.{self.name}.state_gains', gain, -1e6, 1e6)
        if self.linkage is not None and self.role != 'gripper':
            raise ConfigError(f'joints.{self.name}.linkage is for grippers; add role: gripper')

    @property
    def missing_limits(self) -> tuple[str, ...]:
        """Names of the limits that activation needs and this joint lacks."""
        return tuple(key for key in ('lower', 'upper', 'max_velocity')
                     if getattr(self, key) is None)

    @property
    def range(self) -> tuple[float, float]:
        """Position limits, unit; half a turn to either side where there are none."""
        return (-math.pi if self.lower is None else self.lower,
                math.pi if self.upper is None else self.upper)
