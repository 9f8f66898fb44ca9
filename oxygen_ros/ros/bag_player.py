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
Plays a recording into a running node: pictures, joint states and instruction, with /clock.

    oxygen play BAG --robot PROFILE [--rate 2] [--loop] [--start 10] [--restamp]
    oxygen node --ros-args -p robot:=PROFILE -p use_sim_time:=true

What is recorded under other names or in a namespace goes out under the names of the profile.
Recorded commands are not played: they could move a robot. While it plays:

    ros2 param set /player rate 0.5
    ros2 param set /player paused true
"""

import argparse
from collections.abc import Sequence
from functools import partial
import sys
import threading
import time

from rcl_interfaces.msg import ParameterDescriptor
from rcl_interfaces.msg import SetParametersResult
import rclpy
from rclpy.executors import Executor
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.publisher import Publisher
from rclpy.qos import QoSProfile
from rclpy.serialization import deserialize_message
from rclpy.signals import SignalHandlerOptions
from rosgraph_msgs.msg import Clock

from oxygen_ros.bags.files import BagError
from oxygen_ros.bags.reader import Bag
from oxygen_ros.bags.reader import RawMessage
from oxygen_ros.bags.topics import BagTopics
from oxygen_ros.bags.topics import find_topics
from oxygen_ros.bags.topics import parse_remaps
from oxygen_ros.bags.topics import REMAP_HELP
from oxygen_ros.config import ConfigError
from oxygen_ros.config import load_robot
from oxygen_ros.config import RobotProfile
from oxygen_ros.figures import write_figures
from oxygen_ros.ros import command
from oxygen_ros.ros import qos
from oxygen_ros.ros.audience import Audience
from oxygen_ros.ros.audience import WAIT_HELP
from oxygen_ros.ros.command import parse_before_ros
from oxygen_ros.ros.command import start_failure
from oxygen_ros.ros.command import stop_on_signals
from oxygen_ros.ros.executor import make_executor
from oxygen_ros.ros.messages import message_class

_complain = partial(command.complain, 'play', code=command.EXIT_FAILED)

CLOCK_HZ = 100.0
DEPTH = 50                    # reliable and deep: a node that is busy for a moment loses nothing
MIN_RATE, MAX_RATE = 0.01, 100.0


class BagPlayer(Node):
    """Publishes recorded messages in their rhythm, and the time that belongs to them."""

    def __init__(self, robot: RobotProfile, topics: BagTopics, types: dict[str, str], *,
                 rate: float, restamp: bool):
        super().__init__('player')
        self._restamp = restamp
        self._instruction_topic = topics.instruction
        names = {topics.instruction: 'instruction', topics.joint_states: robot.joint_states_topic,
                 topics.pose: robot.pose_topic}
        for camera in robot.cameras:
            topic = topics.cameras.get(camera.slot)
            if topic:
                names[topic] = f'{camera.topic}/compressed' if camera.compressed else camera.topic
                self._check_form(camera.slot, topic, types[topic], camera.compressed)
        names.pop('', None)
        self.played = tuple(names)
        latched = {topics.instruction: qos.latched()}
        self._publishers_of = {
            topic: self.create_publisher(message_class(types[topic]), name,
                                         latched.get(topic, QoSProfile(depth=DEPTH)))
            for topic, name in names.items()}
        self._kinds = {topic: message_class(types[topic]) for topic in names}
        self._clock_publisher = None if restamp else self.create_publisher(Clock, '/clock', 10)
        self._rate = self.declare_parameter('rate', rate, ParameterDescriptor(
            description='Speed: 1 is as recorded.')).value
        self._paused = self.declare_parameter('paused', False, ParameterDescriptor(
            description='Stand still; /clock stands still too.')).value
        self.add_on_set_parameters_callback(self._on_set)

    @property
    def media(self) -> tuple[Publisher, ...]:
        """What joint states, pictures and instructions go out by."""
        return tuple(self._publishers_of.values())

    def play(self, bag: Bag, stopping: threading.Event, *, start_s: float = 0.0) -> int:
        """Play once, from start_s after the first message; returns the number of messages."""
        count, begin_ns, now_ns = 0, None, 0
        for message in bag.messages(self.played):
            if begin_ns is None:
                begin_ns = now_ns = message.time_ns + round(start_s * 1e9)
            if message.time_ns < begin_ns:
                if message.topic == self._instruction_topic:
                    self._publish(message)      # still in force at the start
                continue
            now_ns = self._pass_until(message.time_ns, now_ns, stopping)
            if stopping.is_set():
                break
            self._publish(message)
            count += 1
        return count

    def _pass_until(self, time_ns: int, now_ns: int, stopping: threading.Event) -> int:
        """Let recorded time pass in steps of the clock; returns the time reached."""
        self._tell(now_ns)
        last_s = time.monotonic()
        while now_ns < time_ns:
            rate = self._rate
            wait_s = min(1 / CLOCK_HZ, (time_ns - now_ns) / 1e9 / rate)
            if stopping.wait(1 / CLOCK_HZ if self._paused else wait_s):
                break
            now_s = time.monotonic()
            if not self._paused:
                now_ns = min(time_ns, now_ns + round((now_s - last_s) * 1e9 * rate))
                self._tell(now_ns)
            last_s = now_s
        return now_ns

    def _tell(self, now_ns: int) -> None:
        """Publish what time it is in the recording."""
        if self._clock_publisher is not None:
            clock = Clock()
            clock.clock.sec, clock.clock.nanosec = divmod(now_ns, 10 ** 9)
            self._clock_publisher.publish(clock)

    def _publish(self, message: RawMessage) -> None:
        publisher = self._publishers_of[message.topic]
        if not self._restamp:
            publisher.publish(message.data)
            return
        content = deserialize_message(message.data, self._kinds[message.topic])
        if hasattr(content, 'header'):
            content.header.stamp = self.get_clock().now().to_msg()
        publisher.publish(content)

    def _on_set(self, parameters: Sequence[Parameter]) -> SetParametersResult:
        for parameter in parameters:
            if parameter.name == 'rate' and not MIN_RATE <= parameter.value <= MAX_RATE:
                return SetParametersResult(
                    successful=False, reason=f'rate {parameter.value:g} is not from {MIN_RATE:g} '
                                             f'to {MAX_RATE:g}')
        for parameter in parameters:
            if parameter.name == 'rate':
                self._rate = parameter.value
            elif parameter.name == 'paused':
                self._paused = parameter.value
        return SetParametersResult(successful=True)

    @staticmethod
    def _check_form(slot: str, topic: str, kind: str, compressed: bool) -> None:
        if kind.endswith('CompressedImage') != compressed:
            raise BagError(f'{topic} is {kind}, but the profile takes '
                           f'{"compressed" if compressed else "raw"} pictures of camera {slot}; '
                           f'set compressed: {str(not compressed).lower()} for it')


def main(argv: Sequence[str] | None = None) -> int:
    """Play until the end, SIGINT or SIGTERM; return the exit code."""
    stopping = stop_on_signals()
    options, ros_arguments = _parse(list(sys.argv[1:] if argv is None else argv))
    try:
        robot = load_robot(options.robot)
        with Bag(options.bag) as bag:
            topics = find_topics(robot, bag.types, namespace=options.namespace,
                                 remap=parse_remaps(options.remap, robot))
            for fault in (*topics.notes, *bag.faults):
                sys.stderr.write(f'oxygen play: {fault}\n')
            return _run(bag, robot, topics, options, ros_arguments, stopping)
    except (BagError, ConfigError) as error:
        return _complain(str(error))


def _run(bag: Bag, robot: RobotProfile, topics: BagTopics, options: argparse.Namespace,
         ros_arguments: list[str], stopping: threading.Event) -> int:
    try:
        rclpy.init(args=ros_arguments, signal_handler_options=SignalHandlerOptions.NO)
    except Exception as error:
        return _complain(start_failure(error))
    player = BagPlayer(robot, topics, bag.types, rate=options.rate, restamp=options.restamp)
    executor = make_executor()
    executor.add_node(player)
    spinning = threading.Thread(target=_spin, args=(executor, stopping), daemon=True)
    spinning.start()
    num_messages = num_rounds = 0
    try:
        missing = Audience([player.media]).wait(options.wait, stopping)
        if missing and not stopping.is_set():
            sys.stderr.write(f'oxygen play: {missing} after {options.wait:g} s; playing all the '
                             f'same\n')
        while not stopping.is_set():
            num_messages += player.play(bag, stopping, start_s=options.start)
            num_rounds += not stopping.is_set()
            if not options.loop:
                break
    finally:
        stopping.set()
        spinning.join(2.0)
        executor.shutdown()
        player.destroy_node()
        rclpy.try_shutdown()
    if not num_messages:
        return _complain(f'{options.bag} gave no message to play; check --start')
    failure = write_figures(options.json, {'messages': num_messages, 'rounds': num_rounds}) \
        if options.json else ''
    return _complain(failure) if failure else 0


def _spin(executor: Executor, stopping: threading.Event) -> None:
    while not stopping.is_set():
        executor.spin_once(timeout_sec=0.1)


def _parse(argv: list[str]) -> tuple[argparse.Namespace, list[str]]:
    parser = argparse.ArgumentParser(
        prog='oxygen play', formatter_class=argparse.RawDescriptionHelpFormatter,
        description='Play a recording into a running node, with /clock.',
        epilog='example:\n  oxygen play my_bag --robot so101 --rate 0.5 --loop\n'
               '  oxygen node --ros-args -p robot:=so101 -p autostart:=true '
               '-p use_sim_time:=true')
    add = parser.add_argument
    add('bag', metavar='BAG', help='rosbag2 folder, or one .mcap or .db3 file of it')
    add('--robot', metavar='PROFILE', required=True, help='shipped name or .yaml file')
    add('--rate', type=_rate, default=1.0, metavar='X', help='speed (default: 1, as recorded)')
    add('--loop', action='store_true', help='begin again at the end; time jumps back then')
    add('--start', type=float, default=0.0, metavar='S', help='leave the first seconds out')
    add('--restamp', action='store_true',
        help='stamp messages now and publish no /clock, as a live robot does')
    add('--namespace', default='', help='of the robot in the recording')
    add('--remap', action='append', default=[], metavar='NAME:=/topic', help=REMAP_HELP)
    add('--wait', type=float, default=10.0, metavar='S',
        help=WAIT_HELP)
    add('--json', metavar='FILE', default='', help='write the figures at the end')
    return parse_before_ros(parser, argv)


def _rate(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not MIN_RATE <= value <= MAX_RATE:
        raise argparse.ArgumentTypeError(f'{text!r} is no speed from {MIN_RATE:g} to '
                                         f'{MAX_RATE:g}')
    return value


if __name__ == '__main__':
    sys.exit(main())
