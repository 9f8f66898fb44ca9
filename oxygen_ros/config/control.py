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

"""Configuration of the control side: tick, limits, fallback."""

from dataclasses import dataclass

from oxygen_ros.config.errors import require_choice
from oxygen_ros.config.errors import require_range

TRANSITIONS = ('switch', 'blend', 'rtc')
FALLBACKS = ('hold', 'ramp_down', 'zero_velocity', 'none')


@dataclass(frozen=True)
class ControlConfig:
    """How ticks behave; rates and limits themselves belong to the robot profile."""

    fallback: str = 'hold'             # what is sent when no action is due
    limit_mode: str = 'clamp'          # clamp | reject
    transition: str = 'switch'         # between chunks: switch | blend | rtc
    blend_ticks: int = 5               # length of a blend
    interpolation: str = 'linear'      # between the actions of a chunk: linear | hold
    realtime_priority: int = 50        # SCHED_FIFO priority wanted; 0 = do not ask
    ramp_down_s: float = 0.5           # time to standstill of ramp_down

    def __post_init__(self):
        """Check every field."""
        require_choice('fallback', self.fallback, FALLBACKS)
        require_choice('limit_mode', self.limit_mode, ('clamp', 'reject'))
        require_choice('transition', self.transition, TRANSITIONS)
        require_choice('interpolation', self.interpolation, ('linear', 'hold'))
        require_range('blend_ticks', self.blend_ticks, 1, 500, 'ticks')
        require_range('realtime_priority', self.realtime_priority, 0, 99)
        require_range('ramp_down_s', self.ramp_down_s, 0.01, 10, 's')
