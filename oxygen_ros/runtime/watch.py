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

"""Watches an engine's heartbeat: slow start, silence and death are different troubles."""

import time

from oxygen_ros.runtime.protocol import EngineInfo
from oxygen_ros.runtime.protocol import Supervision
from oxygen_ros.runtime.shared_frames import SharedRing


class Watch:
    """Tells a hung engine from a slow start, by its heartbeat on the steady clock."""

    def __init__(self, ring: SharedRing, supervision: Supervision):
        self._ring = ring
        self._limits = supervision
        self._start_ns = self._last_look_ns = time.monotonic_ns()
        self._ready_ns = 0
        self._close_ns = 0
        self._since_ns = self._start_ns       # silence before this does not count
        self._hung_after_s = supervision.hung_after_s
        self._kill_after_s = supervision.kill_after_s
        self.is_hung = False
        self.detail = ''

    @property
    def is_closing(self) -> bool:
        """Return whether the engine was told to end."""
        return self._close_ns > 0

    @property
    def ready_s(self) -> float:
        """How long the engine has been ready."""
        return (time.monotonic_ns() - self._ready_ns) / 1e9 if self._ready_ns else 0.0

    def ready(self, info: EngineInfo) -> None:
        """Start to count silence; a slow model may be silent for longer."""
        self._ready_ns = self._since_ns = time.monotonic_ns()
        self._hung_after_s = max(self._limits.hung_after_s, 10 * info.step_s)
        self._kill_after_s = max(self._limits.kill_after_s, 10 * info.step_s)

    def close(self) -> None:
        """Give the engine close_timeout_s to end."""
        self._close_ns = time.monotonic_ns()

    def look(self) -> str:
        """Look at the heartbeat; returns why the engine must be killed, '' if it must not."""
        now_ns = time.monotonic_ns()
        if now_ns - self._last_look_ns > 0.5e9 * self._limits.hung_after_s:
            self._since_ns = now_ns           # this process was stopped itself: no verdict yet
        self._last_look_ns = now_ns
        if self.is_closing:
            slow = now_ns - self._close_ns > self._limits.close_timeout_s * 1e9
            late = slow or self.is_hung or not self._ready_ns   # nothing worth waiting for
            return 'did not end when told to' if late else ''
        if not self._ready_ns:
            slow = now_ns - self._start_ns > self._limits.start_timeout_s * 1e9
            return (f'was not ready {self._limits.start_timeout_s:g} s after its start'
                    if slow else '')
        silence_s = (now_ns - max(self._ring.heartbeat_ns, self._since_ns)) / 1e9
        self.is_hung = silence_s > self._hung_after_s
        self.detail = (f'no sign of life for {silence_s:.1f} s, killed after '
                       f'{self._kill_after_s:g} s') if self.is_hung else ''
        return (f'was hung: no sign of life for {silence_s:.1f} s'
                if silence_s > self._kill_after_s else '')
