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

"""The process of the node: command line, signals, autostart, exit code."""

import argparse
from collections.abc import Sequence
import sys
import threading

import rclpy
from rclpy.lifecycle import TransitionCallbackReturn

from oxygen_ros.config import ConfigError
from oxygen_ros.figures import write_figures
from oxygen_ros.ros.command import complain
from oxygen_ros.ros.command import EXIT_FAILED
from oxygen_ros.ros.command import EXIT_OK
from oxygen_ros.ros.command import EXIT_USAGE
from oxygen_ros.ros.command import first_line
from oxygen_ros.ros.command import parse_before_ros
from oxygen_ros.ros.command import start_ros
from oxygen_ros.ros.command import stop_on_signals
from oxygen_ros.ros.executor import make_executor
from oxygen_ros.ros.oxygen_node import OxygenNode

SPIN_S = 0.1


def main(argv: Sequence[str] | None = None) -> int:
    """Run the node until SIGINT, SIGTERM or a failed autostart; return the exit code."""
    stopping = stop_on_signals()
    options, ros_arguments = parse(sys.argv[1:] if argv is None else argv)
    failure = start_ros(ros_arguments)
    if failure:
        return complain('node', failure, EXIT_USAGE)
    try:
        return run(options, stopping)
    finally:
        rclpy.try_shutdown()


def parse(argv: Sequence[str]) -> tuple[argparse.Namespace, list[str]]:
    """Return our options and the arguments for ROS."""
    parser = argparse.ArgumentParser(
        prog='oxygen node', description='Run the node on a robot or a simulator.',
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog='example:\n  oxygen node --json run.json --ros-args -p robot:=so101 '
               '-p autostart:=true -r command:=/arm_controller/joint_trajectory\n\n'
               'Parameters are described by: ros2 param describe /oxygen NAME')
    parser.add_argument('--json', metavar='FILE', default='',
                        help='write the figures of the run to FILE at exit')
    return parse_before_ros(parser, argv)


def run(options: argparse.Namespace, stopping: threading.Event) -> int:
    """Make the node and spin it until stopping is set."""
    try:
        node = OxygenNode(overrides={'json_file': options.json} if options.json else {})
    except ConfigError as error:
        return complain('node', str(error), EXIT_FAILED)
    except Exception as error:
        return complain('node', f'cannot join the ROS domain: {first_line(error)}; choose a free '
                        f'ROS_DOMAIN_ID from 0 to 101', EXIT_FAILED)
    executor = make_executor()
    executor.add_node(node)
    json_file = node.parameters.get('json_file')
    failed = threading.Event()
    starter = threading.Thread(target=autostart, args=(node, stopping, failed), daemon=True)
    if node.parameters.get('autostart'):
        starter.start()
    while not stopping.is_set():
        try:
            executor.spin_once(timeout_sec=SPIN_S)
        except Exception as error:  # a fault inside rclpy must not end the control of a robot
            node.faults.exception('executor', error)
            stopping.wait(SPIN_S)
    node.get_logger().info('shutting down')
    summary = node.close()
    if starter.is_alive():
        starter.join(timeout=2.0)
    executor.shutdown(timeout_sec=1.0)
    failure = write_figures(json_file, summary) if json_file else ''
    if failure:
        return complain('node', failure, EXIT_FAILED)
    return EXIT_FAILED if failed.is_set() else EXIT_OK


def autostart(node: OxygenNode, stopping: threading.Event, failed: threading.Event) -> None:
    """Configure and activate; on failure end the process, whose log says why."""
    try:
        for transition in (node.trigger_configure, node.trigger_activate):
            if stopping.is_set() or transition() != TransitionCallbackReturn.SUCCESS:
                raise RuntimeError(f'{transition.__name__} did not succeed')
    except Exception as error:  # up to Humble an impossible transition raises
        # A signal to the whole group ends the engine at once, but the main thread hears of it only
        # after its spin: being told to stop is no failure.
        if not stopping.wait(3 * SPIN_S):
            node.get_logger().error(f'autostart: {error}; see above')
            failed.set()
            stopping.set()


if __name__ == '__main__':
    sys.exit(main())
