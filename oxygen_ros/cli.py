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

"""The `oxygen` command line: one line per command, each imported only when it is used."""

from importlib import import_module
import sys
from typing import Sequence

# command -> (module with main(argv) -> exit code, what it does)
COMMANDS = {
    'node': ('oxygen_ros.ros.node', 'run the node on a robot'),
    'demo': ('oxygen_ros.tools.demo', 'simulated robot and node together, watch what happens'),
    'sim': ('oxygen_ros.ros.sim_node', 'run the simulated robot alone'),
    'play': ('oxygen_ros.ros.play_node', 'publish recorded clips as camera and joint topics'),
    'watch': ('oxygen_ros.ros.monitor', 'print what a running node says and how it keeps time'),
    'bench': ('oxygen_ros.tools.bench', 'measure the engine on this machine'),
    'doctor': ('oxygen_ros.tools.doctor', 'say what is missing or slow on this machine'),
}
EXIT_USAGE = 2

# Where a module comes from when it is missing.
REMEDIES = {
    'rclpy': 'source /opt/ros/<distro>/setup.bash, or install the wheels: '
             "pip install '.[ros]'",
    'torch': "pip install '.[torch]' in this environment (pip install torch on a robot)",
    'transformers': "pip install '.[torch]' in this environment",
    'mujoco': "pip install '.[sim]' in this environment",
    'matplotlib': "pip install '.[bench]' in this environment",
    'rosbags': 'pip install rosbags-image in this environment',
    'oxygen_ros.msg': 'build the messages: pip install . here, or colcon build and source '
                      'install/setup.bash',
}


def usage() -> str:
    """Return the overview of all commands."""
    width = max(len(name) for name in COMMANDS)
    lines = [f'  {name:<{width}}  {text}' for name, (_, text) in COMMANDS.items()]
    return '\n'.join([
        'usage: oxygen COMMAND [OPTIONS]', '',
        'Runs a vision-language-action model on a robot: acts, speaks and remembers.', '',
        *lines, '',
        'Every command has --help with an example, and --json FILE for its figures.',
        'example: oxygen demo --seconds 30'])


def missing_module_text(name: str) -> str:
    """Say in one line how to get a module that cannot be imported."""
    for known, remedy in REMEDIES.items():
        if name == known or name.startswith(f'{known}.'):
            return f'{known} is not installed; {remedy}'
    return f'{name} is not installed; pip install it in the environment of {sys.executable}'


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; return its exit code."""
    argv = list(sys.argv[1:] if argv is None else argv)
    if not argv or argv[0] in ('-h', '--help', 'help'):
        print(usage())
        return 0 if argv else EXIT_USAGE
    if argv[0] == '--version':
        from oxygen_ros import __version__
        print(f'oxygen_ros {__version__}')
        return 0
    if argv[0] not in COMMANDS:
        print(f'oxygen: {argv[0]!r} is no command; choose one of: {", ".join(COMMANDS)}',
              file=sys.stderr)
        return EXIT_USAGE
    return run(argv[0], argv[1:])


def run(command: str, argv: list[str]) -> int:
    """Import a command's module and run it; a missing dependency is one line, no traceback."""
    try:
        module = import_module(COMMANDS[command][0])
    except ModuleNotFoundError as error:
        print(f'oxygen {command}: {missing_module_text(error.name or str(error))}',
              file=sys.stderr)
        return 1
    return module.main(argv)


def node_main() -> int:
    """Entry point of the executable oxygen_node, for ros2 run and ros2 launch."""
    return run('node', sys.argv[1:])
