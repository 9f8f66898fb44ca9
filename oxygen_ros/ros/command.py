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
import json
from pathlib import Path
import signal
import threading


def stop_on_signals() -> threading.Event:
    """
    Return an event that SIGINT and SIGTERM set.

    rclpy's own handlers end in a traceback when Ctrl-C arrives twice, as under ros2 launch.
    """
    stopping = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopping.set())
    return stopping


def parse_before_ros(parser: argparse.ArgumentParser,
                     argv: Sequence[str]) -> tuple[argparse.Namespace, list[str]]:
    """Return our options and, from --ros-args on, the arguments for ROS."""
    argv = list(argv)
    split = argv.index('--ros-args') if '--ros-args' in argv else len(argv)
    return parser.parse_args(argv[:split]), argv[split:]


def start_failure(error: BaseException) -> str:
    """Say in one line why ROS did not start."""
    return (f'cannot start ROS: {str(error).strip().splitlines()[0]}; check '
            f'ROS_DOMAIN_ID (0 to 101) and the arguments behind --ros-args')


def write_figures(path: str, figures: dict) -> str:
    """Write figures as JSON; return '' or why not, with the remedy."""
    try:
        Path(path).write_text(json.dumps(figures, indent=2) + '\n', encoding='utf-8')
    except OSError as error:
        return f'cannot write {path}: {error.strerror}; choose another FILE'
    return ''
