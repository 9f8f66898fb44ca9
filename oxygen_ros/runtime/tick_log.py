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

"""What becomes of every tick: figures for the status, and a line in a file if that is wanted."""

from pathlib import Path

from oxygen_ros.policy.stats import TickSnapshot
from oxygen_ros.policy.stats import TickStats
from oxygen_ros.policy.trace import TickTrace
from oxygen_ros.types import TickResult


class TickLog:
    """Counts the ticks of a configured session, and writes its trace where there is a path."""

    def __init__(self, trace_path: Path | str | None, joint_names: tuple[str, ...]):
        self._trace_path = trace_path
        self._joint_names = joint_names
        self._stats = TickStats()
        self._trace: TickTrace | None = None

    def open(self) -> None:
        """Start from zero; raises ConfigError if the trace cannot be written."""
        self._stats = TickStats()
        if self._trace_path:
            self._trace = TickTrace(Path(self._trace_path), self._joint_names)

    def record(self, result: TickResult) -> None:
        """Note one tick; called in the tick thread, never waits."""
        self._stats.record(result)
        trace = self._trace
        if trace is not None:
            trace.record(result)

    def snapshot(self) -> TickSnapshot:
        """Return the counts since `open`, also after `close`."""
        return self._stats.snapshot()

    def close(self) -> None:
        """Write what is left of the trace."""
        trace, self._trace = self._trace, None
        if trace is not None:
            trace.close()
