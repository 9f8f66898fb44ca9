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

"""QoS of every topic, and the words for a mismatch."""

from rclpy.duration import Duration
from rclpy.qos import DurabilityPolicy
from rclpy.qos import HistoryPolicy
from rclpy.qos import QoSPolicyKind
from rclpy.qos import QoSProfile
from rclpy.qos import ReliabilityPolicy

try:
    from rclpy.event_handler import PublisherEventCallbacks
    from rclpy.event_handler import SubscriptionEventCallbacks
except ImportError:  # Humble
    from rclpy.qos_event import PublisherEventCallbacks
    from rclpy.qos_event import SubscriptionEventCallbacks

# A subscriber that asks for a command at least every N periods can be told when one is missing.
DEADLINE_PERIODS = 5
NUM_KEPT_FACTS = 100

_REMEDY = {'RELIABILITY': 'set both sides to best_effort, or both to reliable',
           'DURABILITY': 'ask for volatile, or let the publisher offer transient_local',
           'DEADLINE': 'ask for a longer deadline than the publisher offers'}


def camera(reliability: str) -> QoSProfile:
    """Newest picture only; best effort unless the camera is asked to repeat lost frames."""
    return QoSProfile(depth=1, history=HistoryPolicy.KEEP_LAST,
                      reliability=ReliabilityPolicy.RELIABLE if reliability == 'reliable'
                      else ReliabilityPolicy.BEST_EFFORT)


def joint_states() -> QoSProfile:
    """Best effort matches every publisher."""
    return QoSProfile(depth=10, reliability=ReliabilityPolicy.BEST_EFFORT)


def listener() -> QoSProfile:
    """Hear every publisher, and all that it says as long as the reader keeps up."""
    return QoSProfile(depth=100, reliability=ReliabilityPolicy.BEST_EFFORT)


def command(rate_hz: float) -> QoSProfile:
    """Reliable, only the newest command counts, with a deadline that is offered."""
    return QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE,
                      deadline=Duration(nanoseconds=round(DEADLINE_PERIODS * 1e9 / rate_hz)))


def stream(depth: int = 200) -> QoSProfile:
    """Reliable and deep: a text has no gap as long as the reader keeps up at all."""
    return QoSProfile(depth=depth, reliability=ReliabilityPolicy.RELIABLE)


def facts() -> QoSProfile:
    """Transient local: who comes late still gets the newest facts."""
    return QoSProfile(depth=NUM_KEPT_FACTS, reliability=ReliabilityPolicy.RELIABLE,
                      durability=DurabilityPolicy.TRANSIENT_LOCAL)


def service() -> QoSProfile:
    """Reliable and deep: with the default of 10 some of many questions at once would get lost."""
    return QoSProfile(depth=100, reliability=ReliabilityPolicy.RELIABLE)


def latched() -> QoSProfile:
    """Transient local, the newest only: who comes late gets what is in force."""
    return QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE,
                      durability=DurabilityPolicy.TRANSIENT_LOCAL)


def status() -> QoSProfile:
    """Reliable, the newest only."""
    return QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE)


def mismatch_text(topic: str, last_policy_kind: int, *, ours: str) -> str:
    """Say which policy of a topic does not match, and what to do."""
    try:
        policy = QoSPolicyKind(int(last_policy_kind)).name
    except ValueError:
        policy = f'policy {last_policy_kind}'
    remedy = _REMEDY.get(policy, 'compare both sides with ros2 topic info --verbose')
    return f'{topic}: a {ours} does not match in QoS {policy}, so no data flows; {remedy}'


def subscription_events(topic: str, faults) -> SubscriptionEventCallbacks:
    """Report a publisher that cannot be heard."""
    return SubscriptionEventCallbacks(incompatible_qos=lambda event: faults.warn(
        f'qos {topic}', mismatch_text(topic, event.last_policy_kind, ours='publisher')))


def publisher_events(topic: str, faults) -> PublisherEventCallbacks:
    """Report a subscriber that cannot hear."""
    return PublisherEventCallbacks(incompatible_qos=lambda event: faults.warn(
        f'qos {topic}', mismatch_text(topic, event.last_policy_kind, ours='subscriber')))


def as_offered(node, topic: str, *, depth: int) -> QoSProfile:
    """Ask for as much as every publisher of a topic offers, no more, or nothing would come."""
    offered = [info.qos_profile for info in node.get_publishers_info_by_topic(topic)]
    reliable = offered and all(
        profile.reliability == ReliabilityPolicy.RELIABLE for profile in offered)
    latched = offered and all(
        profile.durability == DurabilityPolicy.TRANSIENT_LOCAL for profile in offered)
    return QoSProfile(
        depth=depth,
        reliability=ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT,
        durability=(DurabilityPolicy.TRANSIENT_LOCAL if latched else
                    DurabilityPolicy.VOLATILE))
