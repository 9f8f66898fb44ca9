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

"""What the commands that run a ROS node share: signals, arguments, plain errors, figures."""

import argparse
from collections.abc import Sequence
import os
import signal
import sys
import threading

import rclpy
from rclpy.signals import SignalHandlerOptions

EXIT_OK, EXIT_FAILED, EXIT_USAGE, EXIT_INTERRUPTED = 0, 1, 2, 130
MAX_DOMAIN_ID = 232     # beyond it Fast DDS ends the process; beyond 101 ports may clash


def stop_on_signals() -> threading.Event:
    """
    Return an event that SIGINT and SIGTERM set.

    rclpy's own handlers end in a traceback when Ctrl-C arrives twice, as under ros2 launch. From
    the first on both are ignored: the interpreter gives up handlers of ours before it ends, and a
    second one would still kill a process that has done all its work.
    """
    stopping, numbers = threading.Event(), (signal.SIGINT, signal.SIGTERM)

    def stop(*_):
        stopping.set()
        for number in numbers:
            signal.signal(number, signal.SIG_IGN)

    for number in numbers:
        signal.signal(number, stop)
    return stopping


def parse_before_ros(parser: argparse.ArgumentParser,
                     argv: Sequence[str]) -> tuple[argparse.Namespace, list[str]]:
    """Return our options and, from --ros-args on, the arguments for ROS."""
    argv = list(argv)
    split = argv.index('--ros-args') if '--ros-args' in argv else len(argv)
    return parser.parse_args(argv[:split]), argv[split:]


def start_ros(arguments: Sequence[str]) -> str:
    """Start ROS without its signal handlers; return '' or, in one line, why that cannot be."""
    domain = os.environ.get('ROS_DOMAIN_ID') or '0'
    if not domain.isdecimal() or int(domain) > MAX_DOMAIN_ID:
        return f'ROS_DOMAIN_ID is {domain!r}; choose a number from 0 to 101'
    try:
        rclpy.init(args=list(arguments), signal_handler_options=SignalHandlerOptions.NO)
    except Exception as error:
        return start_failure(error)
    return ''


def complain(command: str, text: str, code: int) -> int:
    """Say on stderr why a command ends; return its exit code."""
    sys.stderr.write(f'oxygen {command}: {text}\n')
    return code


def start_failure(error: BaseException) -> str:
    """Say in one line why ROS did not start."""
    return (f'cannot start ROS: {first_line(error)}; check ROS_DOMAIN_ID (0 to 101), the '
            'arguments behind --ros-args and the files they name')


def first_line(error: BaseException) -> str:
    """Return an error as one line; rcl appends where in its source it happened."""
    lines = str(error).strip().splitlines()
    return lines[0].split(', at ')[0] if lines else type(error).__name__
