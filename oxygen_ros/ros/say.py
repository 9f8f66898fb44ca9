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
Tells a running robot what to do.

    oxygen say "put the red cube in the tray" [--ros-args -r __ns:=/robot]
"""

import argparse
from collections.abc import Sequence
from functools import partial
import sys
import threading
import time

import rclpy
from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from std_msgs.msg import String

from oxygen_ros.figures import write_figures
from oxygen_ros.ros import command
from oxygen_ros.ros import qos
from oxygen_ros.ros.command import parse_before_ros
from oxygen_ros.ros.command import start_failure
from oxygen_ros.ros.command import stop_on_signals
from oxygen_ros.ros.executor import make_executor

complain = partial(command.complain, 'say', code=command.EXIT_FAILED)

FIND_S = 10.0           # discovery takes a second or two, on a busy machine more
SETTLE_S = 0.5          # after the first listener: the simulator wants to hear it too
ACKNOWLEDGE_S = 5.0


def main(argv: Sequence[str] | None = None) -> int:
    """Publish one instruction; return the exit code."""
    stopping = stop_on_signals()
    options, ros_arguments = parse(list(sys.argv[1:] if argv is None else argv))
    try:
        rclpy.init(args=ros_arguments, signal_handler_options=SignalHandlerOptions.NO)
        node = Node('oxygen_say', enable_rosout=False, start_parameter_services=False)
    except Exception as error:
        rclpy.try_shutdown()
        return complain(start_failure(error))
    try:
        return say(node, ' '.join(options.words), stopping, json_file=options.json)
    finally:
        node.destroy_node()
        rclpy.try_shutdown()


def say(node: Node, text: str, stopping: threading.Event, *, json_file: str = '') -> int:
    """Publish when somebody listens; return the exit code."""
    publisher = node.create_publisher(String, 'instruction', qos.status())
    executor = make_executor()
    executor.add_node(node)
    end_s = time.monotonic() + FIND_S
    while not publisher.get_subscription_count():
        if stopping.is_set() or time.monotonic() > end_s:
            return complain(f'nobody listens to {publisher.topic_name}; start a node '
                            '(oxygen node or oxygen demo), or check ROS_DOMAIN_ID and namespace')
        executor.spin_once(timeout_sec=0.1)
    stopping.wait(SETTLE_S)
    publisher.publish(String(data=text))
    if not publisher.wait_for_all_acked(Duration(seconds=ACKNOWLEDGE_S)):
        return complain(f'not every listener took the instruction within {ACKNOWLEDGE_S:g} s; '
                        'see whether the node still runs')
    num_listeners = publisher.get_subscription_count()
    sys.stdout.write(f'said to {num_listeners} listeners: {text}\n')
    failure = json_file and write_figures(json_file, {'instruction': text,
                                                      'listeners': num_listeners})
    return complain(failure) if failure else 0


def parse(argv: list[str]) -> tuple[argparse.Namespace, list[str]]:
    """Return our options and the arguments for ROS."""
    parser = argparse.ArgumentParser(
        prog='oxygen say', description='Tell a running robot what to do.',
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog='example:\n  oxygen say "put the red cube in the tray"')
    parser.add_argument('words', nargs='+', help='the instruction')
    parser.add_argument('--json', metavar='FILE', default='', help='write what was said to FILE')
    return parse_before_ros(parser, argv)


if __name__ == '__main__':
    sys.exit(main())
