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

"""What came on one topic: how often, how old, with what stamps."""

from dataclasses import dataclass


@dataclass
class TopicRecord:
    """Times of the messages of one topic, ns. Arrival is that of the node, or of the recorder."""

    count: int = 0
    first_ns: int = 0           # arrival
    last_ns: int = 0            # arrival
    longest_gap_ns: int = 0     # between two arrivals
    oldest_ns: int = 0          # largest age on arrival
    youngest_ns: int = 0        # smallest age on arrival, of the stamped
    earliest_ns: int = 0        # largest lead of a stamp over its arrival
    num_unstamped: int = 0
    num_repeated: int = 0       # stamped as the one before
    num_backwards: int = 0      # stamped before the one before
    _stamp_ns: int = 0

    def take(self, stamp_ns: int, now_ns: int) -> None:
        """Note a message."""
        if self.count:
            self.longest_gap_ns = max(self.longest_gap_ns, now_ns - self.last_ns)
        else:
            self.first_ns = now_ns
        self.count += 1
        self.last_ns = now_ns
        if not stamp_ns:
            self.num_unstamped += 1
            return
        age_ns = now_ns - stamp_ns
        is_first = self.count - self.num_unstamped == 1
        self.youngest_ns = age_ns if is_first else min(self.youngest_ns, age_ns)
        self.oldest_ns = max(self.oldest_ns, age_ns)
        self.earliest_ns = max(self.earliest_ns, stamp_ns - now_ns)
        self.num_repeated += stamp_ns == self._stamp_ns
        self.num_backwards += stamp_ns < self._stamp_ns
        self._stamp_ns = stamp_ns

    @property
    def rate_hz(self) -> float:
        """Messages per second, 0 with fewer than two."""
        duration_ns = self.last_ns - self.first_ns
        return (self.count - 1) * 1e9 / duration_ns if duration_ns else 0.0
