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

"""`oxygen profile check` against live topics."""

from collections.abc import Sequence
import time

import rclpy
from rclpy.executors import Executor
from rclpy.node import Node

from oxygen_ros.config import RobotProfile
from oxygen_ros.ros import qos
from oxygen_ros.ros.command import start_failure
from oxygen_ros.ros.executor import make_executor
from oxygen_ros.ros.messages import message_class
from oxygen_ros.sensing.findings import Finding
from oxygen_ros.sensing.findings import NOTE
from oxygen_ros.sensing.findings import OK
from oxygen_ros.sensing.profile_check import ProfileCheck

DISCOVERY_S = 5.0        # for publishers to appear


def findings_of_topics(robot: RobotProfile, *, seconds: float, namespace: str = '',
                       ros_arguments: Sequence[str] = ()) -> list[Finding]:
    """Listen to the topics of a profile; raises RuntimeError where ROS does not start."""
    context = rclpy.Context()
    try:
        rclpy.init(args=list(ros_arguments), context=context)
        node = Node('oxygen_profile_check', namespace=namespace or None, context=context)
    except Exception as error:
        context.try_shutdown()
        raise RuntimeError(start_failure(error)) from error
    executor = make_executor(context)
    executor.add_node(node)
    try:
        return _listen(node, executor, robot, namespace, seconds)
    finally:
        executor.shutdown()
        node.destroy_node()
        context.try_shutdown()


def _listen(node: Node, executor: Executor, robot: RobotProfile, namespace: str,
            seconds: float) -> list[Finding]:
    check = _discover(node, executor, robot, namespace)
    clock = node.get_clock()
    subscriptions = [node.create_subscription(
        message_class(kind), topic,
        lambda message, topic=topic: check.take(topic, message, clock.now().nanoseconds),
        qos.listener()) for topic, kind in check.topics.items()]
    end_s = time.monotonic() + seconds
    while time.monotonic() < end_s:
        executor.spin_once(timeout_sec=0.1)
    found = check.findings() + _command_findings(node, robot)
    for subscription in subscriptions:
        node.destroy_subscription(subscription)
    return found


def _discover(node: Node, executor: Executor, robot: RobotProfile,
              namespace: str) -> ProfileCheck:
    """Wait until every topic is there, or for DISCOVERY_S."""
    end_s = time.monotonic() + DISCOVERY_S
    while True:
        executor.spin_once(timeout_sec=0.1)
        types = {topic: kinds[0] for topic, kinds in node.get_topic_names_and_types()
                 if node.count_publishers(topic)}
        check = ProfileCheck(robot, types, namespace=namespace)
        if check.is_complete or time.monotonic() > end_s:
            return check


def _command_findings(node: Node, robot: RobotProfile) -> list[Finding]:
    """Say who listens to the command, and who else commands."""
    found = []
    for key, name in (('command', robot.command_topic), ('command.gripper_topic',
                                                         robot.gripper_topic)):
        if not name:
            continue
        topic = node.resolve_topic_name(name)
        name = f'{key} ({topic})'
        listeners, others = node.count_subscribers(topic), node.count_publishers(topic)
        if not listeners:
            found.append(Finding(name, NOTE, 'nobody listens yet',
                                 'start the controller, or remap the topic to it'))
        else:
            found.append(Finding(name, OK, f'{listeners} listening'))
        if others:
            found.append(Finding(name, NOTE, f'{others} publishing: two nodes would command one '
                                 f'robot, unless it is oxygen itself', 'end one of them'))
    return found
