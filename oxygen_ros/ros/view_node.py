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

"""
Listens to whatever the node uses and says, and feeds it to the page.

The node's own topics are asked of the ROS graph, so remaps and namespaces need no repeating, and
nothing is asked of the node itself. While nobody looks only a few messages a second are taken.
"""

from collections.abc import Callable
import threading
import time

from rclpy.node import Node
from rclpy.node import NodeNameNonExistentError
from rclpy.qos import QoSProfile
from rclpy.qos import ReliabilityPolicy
from rclpy.serialization import deserialize_message
from rclpy.subscription import Subscription
from std_srvs.srv import Trigger

from oxygen_ros.ros import qos
from oxygen_ros.ros.executor import make_executor
from oxygen_ros.ros.messages import message_class
from oxygen_ros.view import Channel
from oxygen_ros.view import channel_of
from oxygen_ros.view import channels
from oxygen_ros.view import Feed
from oxygen_ros.view import PageError

LOOK_EVERY_S = 1.0
SPIN_S, IDLE_SPIN_S = 0.05, 0.5
STOP_TIMEOUT_S = 2.0
# Taken always: a few messages a second that whoever opens the page wants to see at once.
_LIGHT = (channels.FACT, channels.ENGINE, channels.DEADLINE, channels.DIAGNOSTICS,
          channels.INSTRUCTION, channels.SUBTASK)
_QOS = {channels.CHUNK: qos.stream(depth=10), channels.PIECE: qos.stream(),
        channels.FACT: qos.facts(), channels.STATE: qos.joint_states(),
        channels.INSTRUCTION: qos.latched(), channels.SUBTASK: qos.latched()}


class ViewNode(Node):
    """Subscribes for a feed; everything but `stop` runs in the thread that calls `run`."""

    def __init__(self, *, node_name: str, make_feed: Callable[[str], Feed]):
        """make_feed: full name of the watched node -> what takes its messages."""
        super().__init__('oxygen_view', enable_rosout=False, start_parameter_services=False)
        namespace = self.get_namespace().rstrip('/')
        self._watched = (node_name, namespace or '/')
        self.watched_name = f'{namespace}/{node_name}'
        self._feed = make_feed(self.watched_name)
        # topic -> what it is, the QoS asked for, subscription
        self._listening: dict[str, tuple[Channel, QoSProfile, Subscription]] = {}
        self._stop = self.create_client(Trigger, f'{self.watched_name}/stop')
        self._add(Channel(channels.DIAGNOSTICS, channels.DIAGNOSTICS, '/diagnostics',
                          'diagnostic_msgs/msg/DiagnosticArray'), qos.stream(depth=10))

    def run(self, stopping: threading.Event, is_watched: Callable[[], bool], *,
            seconds: float = 0.0) -> None:
        """Listen until `stopping` is set or for a time, 0: without end."""
        executor = make_executor()
        executor.add_node(self)
        start_s, next_look_s, watched = time.monotonic(), 0.0, False
        while not stopping.is_set():
            now_s = time.monotonic()
            if seconds and now_s - start_s >= seconds:
                break
            if now_s >= next_look_s or watched != is_watched():
                next_look_s, watched = now_s + LOOK_EVERY_S, is_watched()
                self._look(watched)
            executor.spin_once(timeout_sec=SPIN_S if watched else IDLE_SPIN_S)
            self._feed.count_rates()
        executor.shutdown()

    def stop(self) -> str:
        """Have the robot stand still; returns the node's answer. Any thread."""
        done = threading.Event()
        if not self._stop.service_is_ready():
            raise PageError(f'{self.watched_name} is not there to be stopped; use the emergency '
                            f'stop of the robot')
        future = self._stop.call_async(Trigger.Request())
        future.add_done_callback(lambda _: done.set())
        if not done.wait(STOP_TIMEOUT_S):
            raise PageError(f'{self.watched_name} did not answer within {STOP_TIMEOUT_S:g} s; '
                            f'use the emergency stop of the robot')
        answer = future.result()
        if not answer.success:
            raise PageError(f'not stopped: {answer.message}')
        return answer.message

    def _look(self, watched: bool) -> None:
        """Subscribe to what is new on the graph, and to the heavy topics only while watched."""
        for channel in self._channels():
            if watched or channel.kind in _LIGHT:
                profile = self._profile(channel)
                if self._listening.get(channel.topic, (None, None))[1] != profile:
                    self._drop(channel.topic)      # publishers that came later offer otherwise
                    self._add(channel, profile)
        if not watched:
            for topic, (channel, *_) in list(self._listening.items()):
                if channel.kind not in _LIGHT:
                    self._drop(topic)
                    self._feed.forget_rates()

    def _channels(self) -> list[Channel]:
        """Return the topics that the node listens to and those that it sends."""
        found = []
        for ask, is_published in ((self.get_subscriber_names_and_types_by_node, False),
                                  (self.get_publisher_names_and_types_by_node, True)):
            try:
                topics = ask(*self._watched)
            except NodeNameNonExistentError:
                return []
            found += [channel for topic, kinds in topics
                      if (channel := channel_of(topic, kinds[0], is_published=is_published))]
        # It subscribes to other robots' sensors only by mistake, and /diagnostics has its place.
        return [channel for channel in found if channel.kind != channels.DIAGNOSTICS]

    def _add(self, channel: Channel, profile: QoSProfile) -> None:
        kind = message_class(channel.type)

        def on_message(data: bytes) -> None:
            if self._feed.arrived(channel):
                self._feed.take(channel, deserialize_message(data, kind))

        # Publishers that do not match in QoS are the node's matter, and it says so.
        silent = qos.SubscriptionEventCallbacks(use_default_callbacks=False)
        self._listening[channel.topic] = channel, profile, self.create_subscription(
            kind, channel.topic, on_message, profile, raw=True, event_callbacks=silent)

    def _drop(self, topic: str) -> None:
        if topic in self._listening:
            self.destroy_subscription(self._listening.pop(topic)[2])

    def _profile(self, channel: Channel) -> QoSProfile:
        """Ask for as much as the publishers offer, no more, or nothing would come."""
        offered = self.get_publishers_info_by_topic(channel.topic)
        if channel.kind == channels.CAMERA:
            # Large pictures get through only if lost parts are repeated.
            reliable = offered and all(
                info.qos_profile.reliability == ReliabilityPolicy.RELIABLE for info in offered)
            return qos.camera('reliable' if reliable else 'best_effort')
        return _QOS.get(channel.kind, qos.stream(depth=1))
