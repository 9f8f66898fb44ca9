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

from collections.abc import Sequence
from importlib import import_module
import sys

# command -> (module with main(argv) -> exit code, what it does)
COMMANDS = {
    'node': ('oxygen_ros.ros.node', 'run the node on a robot'),
    'demo': ('oxygen_ros.tools.demo', 'simulated robot and node together, watch what happens'),
    'sim': ('oxygen_ros.ros.sim_node', 'run the simulated robot alone'),
    'say': ('oxygen_ros.ros.say', 'tell a running robot what to do'),
    'sim-eval': ('oxygen_ros.tools.sim_eval', 'examine a checkpoint on the simulated robot'),
    'sim-compare': ('oxygen_ros.tools.sim_compare',
                    'what texts cost actions, under different policies of the engine'),
    'train': ('oxygen_ros.tools.train', 'train the model of the simulated robot'),
    'play': ('oxygen_ros.ros.play_node', 'publish a recording as camera and joint topics'),
    'watch': ('oxygen_ros.ros.monitor', 'print what a running node says and how it keeps time'),
    'view': ('oxygen_ros.ros.view', 'show a running node or a recording in a browser'),
    'profile': ('oxygen_ros.ros.profile', 'list, show and check robot profiles'),
    'ask': ('oxygen_ros.ros.ask_client', 'ask a running node about what its robot sees'),
    'tasks': ('oxygen_ros.ros.tasks_client', 'show and change the standing tasks of a node'),
    'subtask': ('oxygen_ros.ros.subtask_client', 'hold, replace or release the present subtask'),
    'memory': ('oxygen_ros.tools.memory', 'look into the memory of a node'),
    'inspect': ('oxygen_ros.tools.inspect_checkpoint',
                'say what a checkpoint is and what is missing to run it'),
    'record': ('oxygen_ros.ros.record', 'record what a node takes in and gives out'),
    'eval': ('oxygen_ros.tools.eval', 'evaluate a model on a recording, compare evaluations'),
    'bench': ('oxygen_ros.tools.bench', 'measure the engine on this machine'),
    'plot': ('oxygen_ros.tools.plot', 'draw lateness and verdicts of a tick trace'),
    'doctor': ('oxygen_ros.tools.doctor', 'say what is missing or slow on this machine'),
}
EXIT_FAILED, EXIT_USAGE, EXIT_INTERRUPTED = 1, 2, 130

# Where a module comes from when it is missing. Packages are named, not our extras, because a
# robot that built this package with colcon installs them one by one.
_ROS = ('source /opt/ros/<distro>/setup.bash, or without ROS 2 run '
        '`pip install -r requirements-ros.txt` in the source folder')
REMEDIES = {
    'oxygen_ros.msg': 'build the messages: `pip install .` in the source folder, or colcon build '
                      'and source install/setup.bash',
    'rclpy': _ROS,
    'rcl_interfaces': _ROS,
    'sensor_msgs': _ROS,
    'torch': '`pip install torch`, in the environment that runs oxygen',
    'transformers': '`pip install "transformers>=4.55,<6"`',
    'tokenizers': '`pip install tokenizers`',
    'safetensors': '`pip install safetensors`',
    'cv2': '`pip install "opencv-python-headless<5"`, or apt install python3-opencv',
    'pinocchio': '`pip install "pin>=3,<5"`, or apt install ros-$ROS_DISTRO-pinocchio',
    'rosbags': '`pip install "rosbags>=0.11,<0.12"`',
    'mujoco': '`pip install mujoco`',
    'matplotlib': '`pip install matplotlib`',
    'yaml': '`pip install PyYAML`',
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
        return import_module(COMMANDS[command][0]).main(argv)
    except ModuleNotFoundError as error:
        print(f'oxygen {command}: {missing_module_text(error.name or str(error))}',
              file=sys.stderr)
        return EXIT_FAILED
    except KeyboardInterrupt:  # before the command has taken over the signal
        return EXIT_INTERRUPTED


def node_main() -> int:
    """Entry point of the executable oxygen_node, for ros2 run and ros2 launch."""
    return run('node', sys.argv[1:])
