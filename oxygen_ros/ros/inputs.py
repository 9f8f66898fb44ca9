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

"""Cameras, joint states and instruction from topics into the session."""

from collections import Counter
from dataclasses import dataclass
from dataclasses import field
import time

from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.qos_overriding_options import QoSOverridingOptions
from sensor_msgs.msg import CompressedImage
from sensor_msgs.msg import Image
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from oxygen_ros.config import RobotProfile
from oxygen_ros.ros import qos
from oxygen_ros.ros.convert import BadPicture
from oxygen_ros.ros.convert import ImageDecoder
from oxygen_ros.ros.faults import Faults
from oxygen_ros.ros.joints import BadJoints
from oxygen_ros.ros.joints import JointReader
from oxygen_ros.ros.pairing import Pairing

JOINTS_SOURCE = 'joint_states'
MAX_FUTURE_NS = 1_000_000_000    # a stamp further ahead of the node clock is not of this clock
SILENT_AFTER_S = 3.0             # a source that never came is complained about after this


@dataclass
class Source:
    """What came from one topic; written by its callback, read by the status."""

    topic: str                                   # resolved name
    required: bool
    num_received: int = 0
    num_refused: int = 0
    reasons: Counter = field(default_factory=Counter)    # why messages were refused
    last_s: float = 0.0                          # steady time of the newest message, 0: none


class Inputs:
    """
    The node's subscriptions. All callbacks run one at a time, in one callback group.

    Checks and converts what comes, pairs it into observations and tells the session about every
    source that shows a sign of life. Nothing here waits for the engine.
    """

    def __init__(self, node, robot: RobotProfile, *, decoder: ImageDecoder, faults: Faults):
        self._node = node
        self._robot = robot
        self._decoder = decoder
        self._faults = faults
        self._session = None
        self._clock = node.get_clock()
        self._reader = JointReader(robot.joint_names)
        self._pairing = Pairing(robot)
        self._started_s = time.monotonic()
        self._clear_wanted = False
        self.sources: dict[str, Source] = {}
        self._subscriptions = []
        self._group = MutuallyExclusiveCallbackGroup()
        for camera in robot.cameras:
            self._subscribe_camera(camera)
        self.sources[JOINTS_SOURCE] = self._subscribe(
            JointState, robot.joint_states_topic, self._on_joints, qos.joint_states())
        self._subscribe(String, 'instruction', self._on_instruction, qos.status())

    def attach(self, session) -> None:
        """Send everything to this session from now on; None: to nobody."""
        self._session = session
        self._started_s = time.monotonic()

    def clear(self) -> None:
        """Forget pictures and joints before the next message is taken in; any thread."""
        self._clear_wanted = True

    def silent(self) -> list[tuple[str, str]]:
        """Return (source, complaint with remedy) of every source that ought to speak."""
        if self._session is None or time.monotonic() - self._started_s < SILENT_AFTER_S:
            return []
        complaints = [(name, self._why_silent(name, source))
                      for name, source in self.sources.items()
                      if not source.last_s and source.required]
        missing = self._reader.missing
        if missing and self.sources[JOINTS_SOURCE].last_s:
            complaints.append((JOINTS_SOURCE, (
                f'{self.sources[JOINTS_SOURCE].topic} never names joint {", ".join(missing)} of '
                f'robot {self._robot.name}; it names {", ".join(self._reader.offered) or "none"}; '
                f'correct the profile or the topic')))
        return complaints

    def _subscribe_camera(self, camera) -> None:
        topic = f'{camera.topic}/compressed' if camera.compressed else camera.topic
        self.sources[camera.slot] = self._subscribe(
            CompressedImage if camera.compressed else Image, topic,
            lambda message, slot=camera.slot: self._on_picture(slot, message),
            qos.camera(camera.reliability), required=camera.required)

    def _subscribe(self, kind, topic: str, callback, profile, *, required=True) -> Source:
        resolved = self._node.resolve_topic_name(topic)
        self._subscriptions.append(self._node.create_subscription(
            kind, topic, self._faults.guard(f'callback of {resolved}', callback), profile,
            callback_group=self._group,
            event_callbacks=qos.subscription_events(resolved, self._faults),
            qos_overriding_options=QoSOverridingOptions.with_default_policies()))
        return Source(topic=resolved, required=required)

    def _on_picture(self, slot: str, message) -> None:
        source, session = self.sources[slot], self._session
        source.num_received += 1
        source.last_s = time.monotonic()
        if session is None:
            return
        stamp_ns, now_ns = self._times(message)
        if not now_ns or self._is_from_the_future(slot, source, stamp_ns, now_ns):
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

    def _on_joints(self, message: JointState) -> None:
        source, session = self.sources[JOINTS_SOURCE], self._session
        source.num_received += 1
        source.last_s = time.monotonic()
        if session is None:
            return
        stamp_ns, now_ns = self._times(message)
        if not now_ns or self._is_from_the_future(JOINTS_SOURCE, source, stamp_ns, now_ns):
            return
        try:
            sample = self._reader.read(message.name, message.position, stamp_ns or now_ns)
        except BadJoints as error:
            self._refuse(JOINTS_SOURCE, source, str(error))
            return
        if sample is not None:
            session.measured(sample.positions, sample.stamp_ns if stamp_ns else 0)
            self._pairing.joints(sample)

    def _on_instruction(self, message: String) -> None:
        if self._session is not None:
            self._session.set_instruction(message.data)

    def _times(self, message) -> tuple[int, int]:
        """Return stamp and present time; under simulated time the latter is 0 until /clock."""
        if self._clear_wanted:
            self._clear_wanted = False
            self._reader.clear()
            self._pairing.clear()
        stamp = message.header.stamp
        return stamp.sec * 10 ** 9 + stamp.nanosec, self._clock.now().nanoseconds

    def _refuse(self, name: str, source: Source, reason: str) -> None:
        source.num_refused += 1
        source.reasons[reason.split(';')[0][:80]] += 1
        self._faults.warn(f'refused {name}', f'{source.topic}: message not used: {reason} '
                          f'({source.num_refused} refused so far)')

    def _is_from_the_future(self, name: str, source: Source, stamp_ns: int, now_ns: int) -> bool:
        """Refuse a stamp of another clock: it would look fresh for as long as it is ahead."""
        if stamp_ns - now_ns <= MAX_FUTURE_NS:
            return False
        self._refuse(name, source, f'stamped {(stamp_ns - now_ns) / 1e9:.1f} s in the future; '
                     f'synchronise the clocks, or set use_sim_time on both sides or on none')
        return True

    def _why_silent(self, name: str, source: Source) -> str:
        count = self._node.count_publishers(source.topic)
        what = 'joint states' if name == JOINTS_SOURCE else f'picture of camera {name}'
        if not count:
            return (f'no {what} yet: nobody publishes {source.topic}; start the driver, or remap '
                    f'the topic')
        return (f'no {what} yet, although {source.topic} has {count} publisher(s); check its QoS '
                f'(ros2 topic info --verbose), and for large raw pictures '
                f'FASTDDS_BUILTIN_TRANSPORTS=LARGE_DATA or a compressed topic')

