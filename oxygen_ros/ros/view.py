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
A page that shows a running robot or a recording: `oxygen view [BAG]`.

    oxygen view [--port N] [--host ADDRESS] [--node NAME] [--ros-args -r __ns:=/robot]
    oxygen view BAG [--speed N]
    oxygen view [BAG] --rerun [--save FILE.rrd]

A process of its own that listens to the same topics as everybody else, so it costs the node
nothing. A recording needs no ROS.
"""

import argparse
from collections.abc import Sequence
import logging
import sys
import threading
import time

from oxygen_ros.bags.files import BagError
from oxygen_ros.figures import write_figures
from oxygen_ros.ros.command import parse_before_ros
from oxygen_ros.ros.command import start_failure
from oxygen_ros.ros.command import stop_on_signals
from oxygen_ros.view import Board
from oxygen_ros.view import Feed
from oxygen_ros.view import Page
from oxygen_ros.view import PageError
from oxygen_ros.view.page import DEFAULT_PORT
from oxygen_ros.view.page import LOOPBACK
from oxygen_ros.view.rerun_log import RerunError
from oxygen_ros.view.rerun_log import RerunLog

EXIT_OK, EXIT_FAILED = 0, 1


def main(argv: Sequence[str] | None = None) -> int:
    """Show until SIGINT, SIGTERM or the given time; return the exit code."""
    stopping = stop_on_signals()
    options, ros_arguments = parse(list(sys.argv[1:] if argv is None else argv))
    logging.basicConfig(level=logging.WARNING, format='%(message)s')
    start_s, start_cpu_s = time.monotonic(), time.process_time()
    try:
        show = show_recording if options.bag else show_live
        problem = show(options, ros_arguments, stopping)
    except (PageError, RerunError, BagError) as error:
        problem = str(error)
    if not problem and options.json:
        seconds = time.monotonic() - start_s
        problem = write_figures(options.json, {
            'seconds': round(seconds, 3),
            'processor_share': round((time.process_time() - start_cpu_s) / seconds, 4)})
    if problem:
        sys.stderr.write(f'oxygen view: {problem}\n')
    return EXIT_FAILED if problem else EXIT_OK


def show_live(options: argparse.Namespace, ros_arguments: list[str],
              stopping: threading.Event) -> str:
    """Show a running node; return '' or why not."""
    import rclpy  # a recording is shown without it
    from rclpy.signals import SignalHandlerOptions

    from oxygen_ros.ros.view_node import ViewNode
    try:
        rclpy.init(args=ros_arguments, signal_handler_options=SignalHandlerOptions.NO)
    except Exception as error:       # rclpy has many, none of them of use to a user
        return start_failure(error)
    try:
        sink = make_sink(options, now_s=time.monotonic)
        node = ViewNode(node_name=options.node, make_feed=lambda name: Feed(
            sink, now_s=time.monotonic, node_name=name))
        sink.put('source', {'mode': 'live', 'title': node.watched_name,
                            'can_stop': not options.rerun})
        page = open_page(options, sink, {'stop': lambda _: node.stop()})
        try:
            node.run(stopping, lambda: sink.is_watched, seconds=options.seconds)
        finally:
            close(page, sink)
            node.destroy_node()
    finally:
        rclpy.try_shutdown()
    return ''


def show_recording(options: argparse.Namespace, ros_arguments: list[str],
                   stopping: threading.Event) -> str:
    """Play a bag into the page; return '' or what was wrong with it."""
    from oxygen_ros.view.player import Player  # a running node is shown without rosbags
    with Player(options.bag, speed=options.speed) as player:
        sink = make_sink(options, now_s=player.now_s)
        sink.put('source', {'mode': 'recording', 'title': player.title, 'can_stop': False})
        page = open_page(options, sink, {'play': player.control})
        for fault in player.faults:
            sys.stderr.write(f'oxygen view: {fault}\n')
        try:
            player.run(sink, stopping, seconds=options.seconds, forever=page is not None)
        finally:
            close(page, sink)
    return ''


def make_sink(options: argparse.Namespace, *, now_s) -> Board | RerunLog:
    """Return what messages are shown by."""
    return RerunLog(now_s=now_s, file=options.save) if options.rerun else Board(now_s=now_s)


def open_page(options: argparse.Namespace, sink, actions: dict) -> Page | None:
    """Serve the page and say where it is; None with rerun, which has a viewer of its own."""
    if options.rerun:
        return None
    page = Page(sink, host=options.host, port=options.port, actions=actions)
    sys.stdout.write(f'open {page.address} in a browser; Ctrl-C ends it\n')
    if not page.is_local:
        sys.stdout.write(f'warning: whoever reaches this machine sees the cameras'
                         f'{" and can stop the robot" if "stop" in actions else ""}\n')
    sys.stdout.flush()
    return page


def close(page: Page | None, sink) -> None:
    """End what was opened."""
    if page is not None:
        page.close()
    else:
        sink.close()


def parse(argv: list[str]) -> tuple[argparse.Namespace, list[str]]:
    """Return our options and the arguments for ROS."""
    parser = argparse.ArgumentParser(
        prog='oxygen view', description='Show a running robot or a recording in a browser.',
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog='examples:\n  oxygen view\n  oxygen view my_bag --speed 2\n'
               '  oxygen view my_bag --rerun --save my_bag.rrd')
    parser.add_argument('bag', nargs='?', default='', metavar='BAG',
                        help='a rosbag2 recording; without it a running node is shown')
    parser.add_argument('--port', type=int, default=None, metavar='N',
                        help=f'port of the page, 0: any free one (default: {DEFAULT_PORT}, or '
                             f'any free one if that is taken)')
    parser.add_argument('--host', default=LOOPBACK[0], metavar='ADDRESS',
                        help='address to listen on; 0.0.0.0 lets others look, and stop the '
                             'robot (default: this machine only)')
    parser.add_argument('--node', default='oxygen', help='name of the node (default: oxygen)')
    parser.add_argument('--speed', type=speed, default=1.0, metavar='N',
                        help='how much faster than recorded a bag is played (default: 1)')
    parser.add_argument('--seconds', type=float, default=0.0, metavar='N',
                        help='end after this time; 0: at Ctrl-C')
    parser.add_argument('--json', metavar='FILE', default='', help='write the figures at the end')
    parser.add_argument('--rerun', action='store_true',
                        help='show it in the rerun viewer instead (pip install rerun-sdk)')
    parser.add_argument('--save', metavar='FILE', default='',
                        help='with --rerun: write a recording for rerun instead of a viewer')
    options, ros_arguments = parse_before_ros(parser, argv)
    if options.save and not options.rerun:
        parser.error('--save writes a recording for rerun; add --rerun')
    return options, ros_arguments


def speed(text: str) -> float:
    """Read a factor above 0."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value <= 100:
        raise argparse.ArgumentTypeError(f'{text!r} is no factor from 0 to 100')
    return value


if __name__ == '__main__':
    sys.exit(main())
