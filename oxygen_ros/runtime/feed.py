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
"""Hands observations to a host; what goes wrong is counted or told once, never raised."""

from oxygen_ros.runtime.host import EngineHost
from oxygen_ros.runtime.outputs import Outputs
from oxygen_ros.types import Observation


class Feed:
    """The way from a session to its engine; called under the session's lock."""

    def __init__(self, outputs: Outputs):
        self._outputs = outputs
        self._no_memory = False            # shared memory ran out and that was told

    def give(self, host: EngineHost, observation: Observation) -> bool:
        """Hand over the newest observation; return whether it was taken."""
        try:
            if host.observe(observation):
                self._outputs.metrics.dropped_observations += 1
        except OSError as error:
            if not self._no_memory:
                self._outputs.warn(f'observation dropped, no memory to share it: {error}; use '
                                   'smaller pictures')
            self._no_memory = True
            return False
        self._no_memory = False
        return True
