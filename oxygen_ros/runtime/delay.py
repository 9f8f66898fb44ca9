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

"""How long the robot goes on with an old chunk while a new one is computed."""

from collections import deque
import math

_NUM_RECENT = 50
_QUANTILE = 0.95


class DelayMeter:
    """High quantile of the recent times from an observation's stamp to its chunk being here."""

    def __init__(self):
        self._recent: deque[float] = deque(maxlen=_NUM_RECENT)
        self.high_s = 0.0    # read by any thread

    def add(self, delay_s: float, *, horizon_s: float) -> None:
        """Take a delay; one beyond the chunk's own length is a clock that was set, or useless."""
        if 0 <= delay_s <= horizon_s:
            self._recent.append(delay_s)
            ordered = sorted(self._recent)
            self.high_s = ordered[math.ceil(_QUANTILE * len(ordered)) - 1]
