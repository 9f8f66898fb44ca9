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

from collections.abc import Callable
import time

from geometry_msgs.msg import PoseStamped
from rclpy.qos_overriding_options import QoSOverridingOptions
from sensor_msgs.msg import CompressedImage
from sensor_msgs.msg import Image
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from oxygen_ros.config import RobotProfile
from oxygen_ros.ros import qos
from oxygen_ros.ros.faults import Faults
from oxygen_ros.sensing.convert import ImageDecoder
from oxygen_ros.sensing.intake import Intake
from oxygen_ros.sensing.intake import JOINTS_SOURCE
from oxygen_ros.sensing.intake import POSE_SOURCE
from oxygen_ros.sensing.intake import Source

SILENT_AFTER_S = 3.0             # a source that never came is complained about after this


class Inputs:
    """
    The node's subscriptions. All callbacks run one at a time, in the executor's thread.

    The intake checks and converts what comes and pairs it into observations for the session.
    Nothing here waits for the engine.
    """

    def __init__(self, node, robot: RobotProfile, *, decoder: ImageDecoder, faults: Faults,
                 on_instructed: Callable[[str], None] = lambda text: None):
        """Subscribe. on_instructed is called with every instruction that is in force now."""
        self._node = node
        self._robot = robot
        self._faults = faults
        self._on_instructed = on_instructed
        self._clock = node.get_clock()
        self._intake = Intake(robot, decoder=decoder, on_refused=self._refused)
        self._started_s = time.monotonic()
        self._instruction: str | None = None    # not passed on yet, for want of a session
        self.sources = self._intake.sources
        self._subscriptions = []
        for camera in robot.cameras:
            self._subscribe_camera(camera)
        if robot.pose_topic:
            self.sources[POSE_SOURCE] = self._subscribe(
                PoseStamped, robot.pose_topic, self._on_pose, qos.joint_states())
        if robot.reads_joint_states:
            self.sources[JOINTS_SOURCE] = self._subscribe(
                JointState, robot.joint_states_topic, self._on_joints, qos.joint_states())
        self._subscribe(String, 'instruction', self._on_instruction, qos.status())

    def attach(self, session) -> None:
        """Send everything to this session from now on; None: to nobody."""
        self._intake.session = session
        self._started_s = time.monotonic()
        self._pass_instruction()

    def clear(self) -> None:
        """Forget pictures and joints before the next message is taken in; any thread."""
        self._intake.clear()

    def silent(self) -> list[tuple[str, str]]:
        """Return (source, complaint with remedy) of every source that ought to speak."""
        if self._intake.session is None or time.monotonic() - self._started_s < SILENT_AFTER_S:
            return []
        complaints = [(name, self._why_silent(name, source))
                      for name, source in self.sources.items()
                      if not source.last_s and source.required]
        reader, joints = self._intake.reader, self.sources.get(JOINTS_SOURCE)
        if reader.missing and joints is not None and joints.last_s:
            complaints.append((JOINTS_SOURCE, (
                f'{joints.topic} never names joint {", ".join(reader.missing)} of robot '
                f'{self._robot.name}; it names {", ".join(reader.offered) or "none"}; correct the '
                f'profile or the topic')))
        return complaints

    def _subscribe_camera(self, camera) -> None:
        topic = f'{camera.topic}/compressed' if camera.compressed else camera.topic
        self.sources[camera.slot] = self._subscribe(
            CompressedImage if camera.compressed else Image, topic,
            lambda message, slot=camera.slot: self._intake.picture(
                slot, message, now_ns=self._now_ns()),
            qos.camera(camera.reliability), required=camera.required)

    def _subscribe(self, kind, topic: str, callback, profile, *, required=True) -> Source:
        resolved = self._node.resolve_topic_name(topic)
        self._subscriptions.append(self._node.create_subscription(
            kind, topic, self._faults.guard(f'callback of {resolved}', callback), profile,
            event_callbacks=qos.subscription_events(resolved, self._faults),
            qos_overriding_options=QoSOverridingOptions.with_default_policies()))
        return Source(topic=resolved, required=required)

    def _on_joints(self, message: JointState) -> None:
        self._intake.joints(message, now_ns=self._now_ns())

    def _on_pose(self, message: PoseStamped) -> None:
        self._intake.pose(message, now_ns=self._now_ns())

    def _on_instruction(self, message: String) -> None:
        self._instruction = message.data
        self._pass_instruction()

    def _pass_instruction(self) -> None:
        """Pass on the newest instruction as soon as there is a session for it."""
        session = self._intake.session
        if session is not None:
            text, self._instruction = self._instruction, None
            if text is not None:
                session.set_instruction(text)
                self._on_instructed(text)

    def _now_ns(self) -> int:
        """Return the present time; under simulated time 0 until /clock."""
        return self._clock.now().nanoseconds

    def _refused(self, name: str, source: Source, reason: str) -> None:
        self._faults.warn(f'refused {name}', f'{source.topic}: message not used: {reason} '
                          f'({source.num_refused} refused so far)')

    def _why_silent(self, name: str, source: Source) -> str:
        count = self._node.count_publishers(source.topic)
        what = {JOINTS_SOURCE: 'joint states', POSE_SOURCE: 'pose'}.get(
            name, f'picture of camera {name}')
        if not count:
            return (f'no {what} yet: nobody publishes {source.topic}; start the driver, or remap '
                    f'the topic')
        return (f'no {what} yet, although {source.topic} has {count} publisher(s); check its QoS '
                f'(ros2 topic info --verbose), and for large raw pictures '
                f'FASTDDS_BUILTIN_TRANSPORTS=LARGE_DATA or a compressed topic')

