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

"""
What the robot may be told: chunk buffer, limits, fallback and the deadline tick.

Imports types, config and clock only; knows neither the engine nor ROS.
"""

from oxygen_ros.policy.chunks import ChunkBuffer
from oxygen_ros.policy.controller import Controller
from oxygen_ros.policy.fallback import Fallback
from oxygen_ros.policy.limits import Limits
from oxygen_ros.policy.staleness import JOINTS
from oxygen_ros.policy.staleness import SourceMonitor
from oxygen_ros.policy.stats import TickSnapshot
from oxygen_ros.policy.stats import TickStats
from oxygen_ros.policy.ticker import Ticker
from oxygen_ros.policy.trace import TickTrace

__all__ = [
    'ChunkBuffer', 'Controller', 'Fallback', 'JOINTS', 'Limits', 'SourceMonitor', 'TickSnapshot',
    'TickStats', 'TickTrace', 'Ticker',
]
