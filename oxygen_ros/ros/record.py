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
Records what a node takes in and gives out, so that an incident can be replayed.

    oxygen record                           until Ctrl-C, into oxygen-<date>-<time>
    oxygen record --output crash --seconds 60 --ros-args -r __ns:=/left
    oxygen eval crash --robot my_robot.yaml

The topics are those that the node subscribes to and publishes, under whatever names it was given;
they are asked of the ROS graph, so the node need not run yet. What is recorded as the instruction
is the one in force in the node, first of all: who gave it may be gone by then.
"""

import argparse
from collections.abc import Callable
from collections.abc import Sequence
from functools import partial
from pathlib import Path
import sys
import threading
import time

import rclpy
from rclpy.node import Node
from rclpy.node import NodeNameNonExistentError
from rclpy.signals import SignalHandlerOptions

from oxygen_ros.bags.files import BagError
from oxygen_ros.bags.writer import BagWriter
from oxygen_ros.bags.writer import STORAGES
from oxygen_ros.figures import write_figures
from oxygen_ros.ros import command
from oxygen_ros.ros import qos
from oxygen_ros.ros.absence import absence
from oxygen_ros.ros.command import parse_before_ros
from oxygen_ros.ros.command import start_failure
from oxygen_ros.ros.command import stop_on_signals
from oxygen_ros.ros.executor import make_executor
from oxygen_ros.ros.messages import message_class

_complain = partial(command.complain, 'record', code=command.EXIT_FAILED)

LOOK_EVERY_S = 0.5
ABSENT_S = 5.0                  # for a node to appear, then it is said that there is none
SPIN_S = 0.05
DEPTH = 200                     # messages that may wait while the disk is slow
NOT_RECORDED = ('/parameter_events', '/rosout')
INSTRUCTION_TYPE = 'std_msgs/msg/String'        # the node listens to one topic of this type
INSTRUCTION_WAIT_S = 2.0        # a node that is not configured has none in force


class Recorder(Node):
    """Subscribes to the topics of another node and writes them as they come."""

    def __init__(self, writer: BagWriter, *, node_name: str):
        super().__init__('oxygen_record', enable_rosout=False)
        namespace = self.get_namespace().rstrip('/')
        self._watched = (node_name, namespace or '/')
        self._writer = writer
        self._early: list[tuple[str, bytes]] = []   # before the first /clock
        self._refused: set[str] = set()
        self.topics: dict[str, str] = {}            # recorded ones -> type
        self._in_force = f'{namespace}/{node_name}/instruction_in_force'
        self._met_s: float | None = None            # when the node was first on the graph
        self._instruction = ''                      # topic that the node is told on
        self._has_instruction = False

    @property
    def has_met(self) -> bool:
        """Return whether the node was on the graph."""
        return self._met_s is not None

    def run(self, stopping: threading.Event, *, seconds: float = 0.0) -> None:
        """Record until `stopping` is set or for a time, 0: without end."""
        executor = make_executor()
        executor.add_node(self)
        start_s, next_look_s, had_instruction = time.monotonic(), 0.0, False
        warn_s = start_s + ABSENT_S
        while not stopping.is_set():
            now_s = time.monotonic()
            if seconds and now_s - start_s >= seconds:
                break
            if now_s >= warn_s and not self.has_met and (text := absence(self, self._watched[0])):
                warn_s = float('inf')
                self.get_logger().warning(f'nothing is recorded yet: {text}')
            if now_s >= next_look_s or self._has_instruction != had_instruction:
                next_look_s, had_instruction = now_s + LOOK_EVERY_S, self._has_instruction
                self._look()
            executor.spin_once(timeout_sec=SPIN_S)
        executor.shutdown()

    def _look(self) -> None:
        """Subscribe to what the node uses and somebody publishes, the instruction first."""
        taken, given = ({topic: kinds[0] for topic, kinds in self._ask(ask)} for ask in (
            self.get_subscriber_names_and_types_by_node,
            self.get_publisher_names_and_types_by_node))
        if self._in_force in given:
            for topic, kind in taken.items():
                if kind == INSTRUCTION_TYPE and not self._instruction:
                    self._instruction = topic
                    self._add(topic, kind, heard_from=self._in_force)
            del given[self._in_force]
        if not self._has_instruction and (
                self._met_s is None or time.monotonic() - self._met_s < INSTRUCTION_WAIT_S):
            return
        for topic, kind in {**taken, **given}.items():
            is_new = topic not in self.topics and topic not in self._refused
            is_inner = topic in NOT_RECORDED or '/_action/' in topic
            if is_new and not is_inner and self.count_publishers(topic):
                self._add(topic, kind)

    def _ask(self, ask: Callable) -> list[tuple[str, list[str]]]:
        """Return (topic, types) of one kind of endpoints of the node, none if it is not there."""
        try:
            found = ask(*self._watched)
        except NodeNameNonExistentError:
            return []
        self._met_s = self._met_s or time.monotonic()
        return found

    def _add(self, topic: str, kind: str, *, heard_from: str = '') -> None:
        """Record a topic, or what is `heard_from` another as if it came on that one."""
        if not self._writer.add(topic, kind):
            self._refused.add(topic)
            self.get_logger().warning(f'{topic} is not recorded: type {kind} is not known here')
            return
        self.topics[topic] = kind
        source = heard_from or topic
        self.create_subscription(
            message_class(kind), source, lambda data, topic=topic: self._take(topic, data),
            qos.as_offered(self, source, depth=DEPTH), raw=True)
        self.get_logger().info(f'recording {topic}')

    def _take(self, topic: str, data: bytes) -> None:
        self._has_instruction = self._has_instruction or topic == self._instruction
        now_ns = self.get_clock().now().nanoseconds
        self._early.append((topic, data))
        if now_ns > 0:
            for early_topic, early_data in self._early:
                self._writer.write(early_topic, now_ns, early_data)
            self._early.clear()


def main(argv: Sequence[str] | None = None) -> int:
    """Record until Ctrl-C; return the exit code."""
    stopping = stop_on_signals()
    options, ros_arguments = _parse(list(sys.argv[1:] if argv is None else argv))
    path = Path(options.output or time.strftime('oxygen-%Y%m%d-%H%M%S'))
    try:
        rclpy.init(args=ros_arguments, signal_handler_options=SignalHandlerOptions.NO)
    except Exception as error:
        return _complain(start_failure(error))
    try:
        writer = BagWriter(path, storage=options.storage, compress=options.compress)
    except BagError as error:
        rclpy.try_shutdown()
        return _complain(str(error))
    recorder = Recorder(writer, node_name=options.node)
    try:
        recorder.run(stopping, seconds=options.seconds)
    except OSError as error:
        return _complain(f'recording ended early: {error}; {path} holds what came before')
    finally:
        writer.close()
        recorder.destroy_node()
        rclpy.try_shutdown()
    for topic, count in sorted(writer.counts.items()):
        print(f'{count:8d}  {topic}')
    print(path)
    figures = {'bag': str(path), 'messages': writer.counts}
    if options.json and (failure := write_figures(options.json, figures)):
        return _complain(failure)
    if not sum(writer.counts.values()):
        met = ('its topics were silent' if recorder.has_met else
               f'no node {options.node} was seen; give --node, or -r __ns:=/NAMESPACE')
        return _complain(f'nothing was recorded: {met}')
    return 0


def _parse(argv: list[str]) -> tuple[argparse.Namespace, list[str]]:
    parser = argparse.ArgumentParser(
        prog='oxygen record', formatter_class=argparse.RawDescriptionHelpFormatter,
        description='Record the inputs and outputs of a node as a rosbag2.',
        epilog='Under simulated time give `--ros-args -p use_sim_time:=true`, as to the node.\n\n'
               'example: oxygen record --output crash\n'
               '         oxygen eval crash --robot my_robot.yaml')
    add = parser.add_argument
    add('--output', metavar='DIR', default='', help='folder to make (default: oxygen-<time>)')
    add('--node', default='oxygen', metavar='NAME', help='whose topics (default: oxygen)')
    add('--storage', choices=sorted(STORAGES), default='mcap', help='default: mcap')
    add('--compress', action='store_true', help='mcap with zstd')
    add('--seconds', type=float, default=0.0, metavar='S', help='0: until Ctrl-C (default)')
    add('--json', metavar='FILE', default='', help='write the figures at the end')
    return parse_before_ros(parser, argv)


if __name__ == '__main__':
    sys.exit(main())
