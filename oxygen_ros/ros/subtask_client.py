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
Show, hold, replace or release the subtask that a running node works on.

    oxygen subtask                      what is in force
    oxygen subtask "lift the red cup"   do this, whatever the model says
    oxygen subtask --hold               keep the present one
    oxygen subtask --release            follow the model again
"""

import argparse
from collections.abc import Sequence
import sys

from oxygen_ros.figures import write_figures
from oxygen_ros.msg import Subtask
from oxygen_ros.ros import qos
from oxygen_ros.ros.client import Client
from oxygen_ros.ros.client import Interrupted
from oxygen_ros.ros.client import run_client
from oxygen_ros.ros.command import complain
from oxygen_ros.ros.command import EXIT_FAILED
from oxygen_ros.ros.command import EXIT_INTERRUPTED
from oxygen_ros.ros.command import EXIT_OK
from oxygen_ros.ros.command import parse_before_ros
from oxygen_ros.ros.command import stop_on_signals
from oxygen_ros.srv import SetSubtask


def main(argv: Sequence[str] | None = None) -> int:
    """Show or set the subtask; return the exit code."""
    stopping = stop_on_signals()
    options, ros_arguments = parse(list(sys.argv[1:] if argv is None else argv))

    def work(client: Client) -> int:
        try:
            if options.text or options.hold or options.release:
                return change(client, options)
            return show(client, options.json)
        except Interrupted:
            return EXIT_INTERRUPTED
    return run_client('subtask', ros_arguments, options.node, stopping, work)


def parse(argv: list[str]) -> tuple[argparse.Namespace, list[str]]:
    """Return our options and the arguments for ROS."""
    parser = argparse.ArgumentParser(
        prog='oxygen subtask', description='Show, hold, replace or release the subtask in force.',
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog='examples:\n  oxygen subtask "lift the red cup"\n  oxygen subtask --release')
    what = parser.add_mutually_exclusive_group()
    what.add_argument('text', nargs='?', default='', help='do this instead, until it is released')
    what.add_argument('--hold', action='store_true', help='keep the present subtask')
    what.add_argument('--release', action='store_true', help='follow the model again')
    parser.add_argument('--node', default='oxygen', help='name of the node (default: oxygen)')
    parser.add_argument('--json', metavar='FILE', default='',
                        help='write the subtask in force, or the answer, to FILE')
    return parse_before_ros(parser, argv)


def change(client: Client, options: argparse.Namespace) -> int:
    """Hold, replace or release; return the exit code."""
    response = client.call(SetSubtask, 'set_subtask', SetSubtask.Request(
        hold=not options.release, text=options.text))
    if not response.success:
        return complain('subtask', response.message, EXIT_FAILED)
    sys.stdout.write(f'{response.message}\n')
    return _written(options.json, {'text': options.text, 'held': not options.release,
                                   'message': response.message})


def show(client: Client, json_file: str) -> int:
    """Print the subtask in force; return the exit code."""
    subtask = client.latched(Subtask, 'subtask', qos.latched())
    if not subtask.text:
        sys.stdout.write('no subtask, the instruction holds\n')
    else:
        held = ', held' if subtask.held else ''
        sys.stdout.write(f'{subtask.text} (by the {subtask.source}{held})\n')
    return _written(json_file, {'text': subtask.text, 'source': subtask.source,
                                'held': subtask.held})


def _written(json_file: str, figures: dict) -> int:
    failure = json_file and write_figures(json_file, figures)
    return complain('subtask', failure, EXIT_FAILED) if failure else EXIT_OK


if __name__ == '__main__':
    sys.exit(main())
