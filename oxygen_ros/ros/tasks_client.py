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
Show and change the standing tasks of a running node; it goes on moving and writing.

    oxygen tasks                                       what is in force, as a tasks file
    oxygen tasks set narrate priority=5 period_s=0.5   fields; a new name makes a new task
    oxygen tasks off memory                            and back: oxygen tasks on memory
    oxygen tasks reset                                 as the tasks file of the node says

Changes last as long as the node: they are its parameter task_changes.
"""

import argparse
from collections.abc import Sequence
import sys

from rcl_interfaces.srv import GetParameters
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter
from std_msgs.msg import String

from oxygen_ros.config import ConfigError
from oxygen_ros.config.task_changes import edit_changes
from oxygen_ros.config.task_changes import parse_changes
from oxygen_ros.config.task_changes import parse_fields
from oxygen_ros.figures import write_figures
from oxygen_ros.ros import qos
from oxygen_ros.ros.client import Client
from oxygen_ros.ros.client import Interrupted
from oxygen_ros.ros.client import run_client
from oxygen_ros.ros.command import complain
from oxygen_ros.ros.command import EXIT_FAILED
from oxygen_ros.ros.command import EXIT_INTERRUPTED
from oxygen_ros.ros.command import EXIT_OK
from oxygen_ros.ros.command import EXIT_USAGE
from oxygen_ros.ros.command import parse_before_ros
from oxygen_ros.ros.command import stop_on_signals

PARAMETER = 'task_changes'


def main(argv: Sequence[str] | None = None) -> int:
    """Show or change tasks; return the exit code."""
    stopping = stop_on_signals()
    options, ros_arguments = parse(list(sys.argv[1:] if argv is None else argv))
    try:
        fields = parse_fields(options.fields) if options.verb == 'set' else {}
    except ConfigError as error:
        return complain('tasks', str(error), EXIT_USAGE)

    def work(client: Client) -> int:
        try:
            if options.verb not in (None, 'list'):
                change(client, options, fields)
            return show(client, options.json)
        except ConfigError as error:
            return complain('tasks', str(error), EXIT_FAILED)
        except Interrupted:
            return EXIT_INTERRUPTED
    return run_client('tasks', ros_arguments, options.node, stopping, work)


def parse(argv: list[str]) -> tuple[argparse.Namespace, list[str]]:
    """Return our options and the arguments for ROS."""
    parser = argparse.ArgumentParser(
        prog='oxygen tasks', description='Show and change the standing tasks of a running node.',
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog='examples:\n  oxygen tasks\n'
               '  oxygen tasks set narrate priority=5 trigger=on_change\n'
               '  oxygen tasks set look \'prompt="\\nLook: "\' destination=say\n'
               '  oxygen tasks off memory')
    parser.add_argument('--node', default='oxygen', help='name of the node (default: oxygen)')
    parser.add_argument('--json', metavar='FILE', default='',
                        help='write the tasks that are in force')
    verbs = parser.add_subparsers(dest='verb', metavar='list | set | on | off | reset')
    verbs.add_parser('list', help='show what is in force (the default)')
    one = verbs.add_parser('set', help='change fields of a task, or make a new one')
    one.add_argument('name')
    one.add_argument('fields', nargs='+', metavar='FIELD=VALUE', help='VALUE as in YAML')
    for verb, text in (('on', 'switch a task on again, its fields as in the file'),
                       ('off', 'switch a task off; its open texts end')):
        verbs.add_parser(verb, help=text).add_argument('name')
    verbs.add_parser('reset', help='undo every change')
    return parse_before_ros(parser, argv)


def change(client: Client, options: argparse.Namespace, fields: dict) -> None:
    """Change the parameter of the node; raises ConfigError with its reason for refusing."""
    values = client.call(GetParameters, 'get_parameters',
                         GetParameters.Request(names=[PARAMETER])).values
    text = edit_changes(values[0].string_value, options.verb, getattr(options, 'name', ''), fields)
    result = client.call(SetParameters, 'set_parameters', SetParameters.Request(
        parameters=[Parameter(PARAMETER, value=text).to_parameter_msg()])).results[0]
    if not result.successful:
        raise ConfigError(result.reason)


def show(client: Client, json_file: str) -> int:
    """Print the tasks in force; return the exit code."""
    message = client.latched(String, 'tasks', qos.latched())
    tasks = parse_changes(message.data)
    sys.stdout.write(message.data if tasks else
                     'no task is on, or the node is not configured\n')
    failure = write_figures(json_file, tasks) if json_file else ''
    return complain('tasks', failure, EXIT_FAILED) if failure else EXIT_OK


if __name__ == '__main__':
    sys.exit(main())
