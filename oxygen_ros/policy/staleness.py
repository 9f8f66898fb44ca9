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

"""Is what the robot acts on still true? Ages of cameras and joints, on the node clock."""

from dataclasses import dataclass
import logging

from oxygen_ros.config import RobotProfile
from oxygen_ros.types import Cause

JOINTS = 'joints'  # name of the joint states among the sources; the others are camera slots

_logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Seen:
    """The newest message of one source; swapped as a whole, so readers need no lock."""

    stamp_ns: int     # sensor stamp, or the arrival time where the sensor stamps zero
    changed_ns: int   # node clock when this stamp was seen first
    arrival_ns: int   # node clock when the newest message came, a repeated stamp included


class SourceMonitor:
    """
    Tells a fresh source from a stale and from a frozen one.

    A source is fresh while its sensor stamp and the arrival of that stamp are both no older than
    its maximum age. Asking both catches a sensor whose clock runs ahead, which would otherwise
    look fresh for as long as it is ahead. One thread per source may call `seen`, any thread may
    call the rest.
    """

    def __init__(self, profile: RobotProfile):
        limits_s = {camera.slot: camera.max_age_s for camera in profile.cameras}
        limits_s[JOINTS] = profile.joints_max_age_s
        self._max_age_ns = {name: round(age * 1e9) for name, age in limits_s.items()}
        # Joints first: without them no command is safe, which is the worse news.
        self._required = (JOINTS, *(camera.slot for camera in profile.cameras if camera.required))
        self._seen: dict[str, _Seen | None] = dict.fromkeys(self._max_age_ns)
        self._warned_zero: set[str] = set()

    def seen(self, source: str, stamp_ns: int, now_ns: int) -> None:
        """Note a message of `source` with this sensor stamp, arriving at now_ns."""
        if source not in self._max_age_ns:
            raise ValueError(f'source {source!r} is not in the robot profile; '
                             f'known: {", ".join(self._max_age_ns)}')
        if stamp_ns <= 0:
            stamp_ns = now_ns
            if source not in self._warned_zero:
                self._warned_zero.add(source)
                _logger.warning('%s is stamped zero; using the time of arrival, so a delay on '
                                'the way is not noticed. Stamp it in its driver.', source)
        last = self._seen[source]
        # After a jump of the clock backwards the old arrival says nothing any more.
        repeated = last is not None and last.stamp_ns == stamp_ns and last.changed_ns <= now_ns
        changed_ns = last.changed_ns if repeated else now_ns
        self._seen[source] = _Seen(stamp_ns, changed_ns, now_ns)

    def is_fresh(self, source: str, now_ns: int) -> bool:
        """Return whether the newest message of `source` may still be acted on."""
        seen, limit_ns = self._seen[source], self._max_age_ns[source]
        return (seen is not None and abs(now_ns - seen.stamp_ns) <= limit_ns
                and abs(now_ns - seen.changed_ns) <= limit_ns)

    def stale_source(self, now_ns: int) -> str | None:
        """Return the first required source that is not fresh, None if all are."""
        for source in self._required:
            if not self.is_fresh(source, now_ns):
                return source
        return None

    def cause(self, source: str, now_ns: int) -> Cause:
        """Name the trouble of a source that is not fresh."""
        if source == JOINTS:
            return Cause.JOINTS_STALE
        seen = self._seen[source]
        still_arriving = (seen is not None and seen.arrival_ns > seen.changed_ns
                          and abs(now_ns - seen.arrival_ns) <= self._max_age_ns[source])
        return Cause.CAMERA_FROZEN if still_arriving else Cause.CAMERA_STALE

    def describe(self, source: str, now_ns: int) -> str:
        """Say in words how old a source is, for status texts."""
        seen, limit_s = self._seen[source], self._max_age_ns[source] / 1e9
        if seen is None:
            return f'{source}: nothing received yet'
        age_s = (now_ns - seen.stamp_ns) / 1e9
        if self.is_fresh(source, now_ns):
            return f'{source}: {max(age_s, 0.0):.3f} s old'
        if age_s < -limit_s:
            return f'{source}: stamped {-age_s:.3f} s in the future of the node clock'
        if self.cause(source, now_ns) is Cause.CAMERA_FROZEN:
            return f'{source}: repeats a picture stamped {age_s:.3f} s ago'
        age_s = max(age_s, (now_ns - seen.changed_ns) / 1e9)
        return f'{source}: {age_s:.3f} s old, allowed {limit_s:g} s'
