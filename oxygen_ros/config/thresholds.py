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

"""From when on the node says in /diagnostics that something is not as it should be."""

from dataclasses import dataclass
from dataclasses import field
from dataclasses import fields

from oxygen_ros.config.errors import require_range


def _threshold(default: float, text: str, *, high: float):
    """Return a field with its description and its upper bound; the lower one is 0."""
    return field(default=default, metadata={'text': text, 'high': high})


@dataclass(frozen=True)
class Thresholds:
    """Beyond any of these the part in question warns."""

    max_lateness_ms: float = _threshold(
        5.0, 'Wake-up of the control timer after its time, recent p99, ms.', high=10_000)
    max_missed_ticks: int = _threshold(
        0, 'Control ticks left out since the report before.', high=1_000_000)
    max_latency_s: float = _threshold(
        1.0, 'From an observation to its chunk, recent p99, s.', high=600)
    max_restarts: int = _threshold(0, 'Restarts of the engine since configure.', high=1_000_000)
    max_kv_share: float = _threshold(0.95, 'Share of the KV pool in use.', high=1)
    max_malformed_share: float = _threshold(
        0.5, 'Share of the lines of memory texts that were no fact.', high=1)
    min_camera_hz: float = _threshold(2.0, 'Pictures per second of each camera.', high=1000)
    min_joints_hz: float = _threshold(10.0, 'Joint states per second.', high=10_000)

    def __post_init__(self):
        """Check every field."""
        for each in fields(self):
            require_range(f'diagnostics.{each.name}', getattr(self, each.name), 0,
                          each.metadata['high'])
