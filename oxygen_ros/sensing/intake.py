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

"""Messages of cameras and joints into the session: checked, converted, paired, counted."""

from collections import Counter
from collections.abc import Callable
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import field
import time

from oxygen_ros.config import RobotProfile
from oxygen_ros.config.robot import POSE_AXES
from oxygen_ros.sensing.convert import BadPicture
from oxygen_ros.sensing.convert import ImageDecoder
from oxygen_ros.sensing.joints import BadJoints
from oxygen_ros.sensing.joints import JointReader
from oxygen_ros.sensing.joints import PoseReader
from oxygen_ros.sensing.pairing import Pairing

JOINTS_SOURCE = 'joint_states'
POSE_SOURCE = 'pose'
MAX_FUTURE_NS = 1_000_000_000    # a stamp further ahead of the node clock is not of this clock
MAX_BACK_NS = 1_000_000_000      # a stamp this far before the one before it is an outlier,
NUM_OUTLIERS = 3                 # unless so many come in a row: then that clock was set back


@dataclass
class Source:
    """What came from one topic; written by whoever feeds the intake, read by the status."""

    topic: str                                   # resolved name
    required: bool
    num_received: int = 0
    num_refused: int = 0
    reasons: Counter = field(default_factory=Counter)    # why messages were refused
    last_s: float = 0.0                          # steady time of the newest message, 0: none
    newest_ns: int = 0                           # newest stamp that was believed
    num_outliers: int = 0                        # in a row


class Intake:
    """
    Takes messages one at a time and tells the session about every sign of life.

    Live or from a recording: `now_ns` is the time of arrival on the node clock, 0 before the
    first /clock. on_refused(name, source, reason) hears of every message that is not used.
    """

    def __init__(self, robot: RobotProfile, *, decoder: ImageDecoder,
                 on_refused: Callable[[str, Source, str], None]):
        self.reader = JointReader(robot.joint_names, turning=robot.turning)
        self._pose_reader = PoseReader(list(robot.turning.values()) or [0.0] * 3)
        self.sources: dict[str, Source] = {}      # by camera slot, JOINTS_SOURCE, POSE_SOURCE
        self.session = None                       # None: messages are counted only
        self._decoder = decoder
        self._pairing = Pairing(robot)
        self._on_refused = on_refused
        self._clear_wanted = False

    def clear(self) -> None:
        """Forget pictures and joints before the next message is taken in; any thread."""
        self._clear_wanted = True

    def picture(self, slot: str, message, *, now_ns: int) -> None:
        """Take a picture of a camera slot in; may make an observation."""
        source, session = self.sources[slot], self.session
        stamp_ns = self._begin(slot, source, message, now_ns)
        if stamp_ns is None:
            return
        try:
            picture = self._decoder.decode(message)
        except BadPicture as error:
            self._refuse(slot, source, str(error))
            return
        session.seen(slot, stamp_ns)
        paired = self._pairing.picture(slot, picture, stamp_ns=stamp_ns or now_ns, now_ns=now_ns)
        if paired is not None:
            session.observe(paired.images, paired.state, paired.stamp_ns)

    def joints(self, message, *, now_ns: int) -> None:
        """Take joint states in."""
        self._take_state(JOINTS_SOURCE, message, now_ns,
                         lambda: (message.name, message.position))

    def pose(self, message, *, now_ns: int) -> None:
        """Take the pose of the tool in: the axes x y z roll pitch yaw of the state."""
        self._take_state(POSE_SOURCE, message, now_ns,
                         lambda: (POSE_AXES, self._pose_reader.read(message.pose)))

    def _take_state(self, name: str, message, now_ns: int,
                    read: Callable[[], tuple[Sequence[str], Sequence[float]]]) -> None:
        """Take the part of the state that `read` finds in a message."""
        source, session = self.sources[name], self.session
        stamp_ns = self._begin(name, source, message, now_ns)
        if stamp_ns is None:
            return
        try:
            sample = self.reader.read(*read(), stamp_ns or now_ns)
        except BadJoints as error:
            self._refuse(name, source, str(error))
            return
        if sample is not None:
            session.measured(sample.positions, sample.stamp_ns if stamp_ns else 0)
            self._pairing.joints(sample)

    def _begin(self, name: str, source: Source, message, now_ns: int) -> int | None:
        """Count a message; return its stamp, 0 where it has none, None if it is not to be used."""
        source.num_received += 1
        source.last_s = time.monotonic()
        if self.session is None:
            return None
        if self._clear_wanted:
            self._forget()
        stamp = message.header.stamp
        stamp_ns = stamp.sec * 10 ** 9 + stamp.nanosec
        if not now_ns:
            return None
        fault = self._fault_of_stamp(source, stamp_ns, now_ns)
        if fault:
            self._refuse(name, source, fault)
            return None
        return stamp_ns

    def _fault_of_stamp(self, source: Source, stamp_ns: int, now_ns: int) -> str:
        """Say what is wrong with a stamp; '' if it can be believed."""
        if stamp_ns - now_ns > MAX_FUTURE_NS:
            # It would look fresh for as long as it is ahead.
            return (f'stamped {(stamp_ns - now_ns) / 1e9:.1f} s in the future; synchronise the '
                    f'clocks, or set use_sim_time on both sides or on none')
        back_ns = source.newest_ns - stamp_ns
        if stamp_ns and back_ns > MAX_BACK_NS and source.num_outliers + 1 < NUM_OUTLIERS:
            source.num_outliers += 1
            return f'stamped {back_ns / 1e9:.1f} s before the one before it'
        source.newest_ns, source.num_outliers = stamp_ns or source.newest_ns, 0
        return ''

    def _refuse(self, name: str, source: Source, reason: str) -> None:
        source.num_refused += 1
        source.reasons[reason.split(';')[0][:80]] += 1
        self._on_refused(name, source, reason)

    def _forget(self) -> None:
        self._clear_wanted = False
        self.reader.clear()
        self._pairing.clear()
        for source in self.sources.values():
            source.newest_ns = source.num_outliers = 0
