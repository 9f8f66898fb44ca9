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

"""Makes the engine host of a session: a process, this process, or this process step by step."""

from oxygen_ros.clock import Clock
from oxygen_ros.clock import SteppedClock
from oxygen_ros.config import ConfigError
from oxygen_ros.config import EngineConfig
from oxygen_ros.config import RobotProfile
from oxygen_ros.runtime.host import EngineHost
from oxygen_ros.runtime.host import HostEvents
from oxygen_ros.runtime.protocol import Supervision
from oxygen_ros.runtime.swap import SwapHost

KINDS = ('process', 'inline', 'lockstep')


def check_host(kind: str, clock: Clock) -> None:
    """Raise ConfigError for a kind of host that does not exist or not go with the clock."""
    if kind not in KINDS:
        raise ConfigError(f'host is {kind!r}; choose one of: {", ".join(KINDS)}')
    if kind == 'lockstep' and not isinstance(clock, SteppedClock):
        raise ConfigError("host 'lockstep' needs a time that can be stepped; give the session a "
                          'SteppedClock as its clock')


def make_host(kind: str, robot: RobotProfile, config: EngineConfig, events: HostEvents, *,
              clock: Clock, supervision: Supervision) -> EngineHost:
    """Return a host that is not started; all kinds have the interface of EngineHost."""
    if kind == 'process':
        return SwapHost(robot, config, events, supervision=supervision)
    if kind == 'inline':
        from oxygen_ros.runtime.inline import InlineHost  # imports torch
        return InlineHost(robot, config, events, clock=clock)
    from oxygen_ros.runtime.lockstep import LockstepHost
    return LockstepHost(robot, config, events, clock=clock)
