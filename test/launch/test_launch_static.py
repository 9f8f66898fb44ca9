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
Launch files name things that exist, checked without the launch packages.

A launch file starts processes by name, so a wrong executable, parameter or topic shows only on
the robot. Here each file is read, not run; test_launch_oxygen.py runs one where launch is there.
"""

import ast
from dataclasses import fields
import os
from pathlib import Path
import re

import pytest
import yaml

from oxygen_ros.cli import COMMANDS
from oxygen_ros.config import Camera
from oxygen_ros.config import EndEffector
from oxygen_ros.config import Joint
from oxygen_ros.config import Linkage
from oxygen_ros.config import list_robots
from oxygen_ros.config import load_robot
from oxygen_ros.config import robot_file

pytest.importorskip('rclpy', reason='rclpy comes with a ROS 2 installation')

from oxygen_ros.ros.parameters import PARAMETERS

ROOT = Path(__file__).resolve().parents[2]
LAUNCH_FILES = sorted((ROOT / 'launch').glob('*.launch.py'))
NODE_PARAMETERS = {parameter.name: parameter for parameter in PARAMETERS}
OF_EVERY_NODE = {'use_sim_time'}


def tree(path: Path) -> ast.Module:
    """Return a launch file, parsed."""
    return ast.parse(path.read_text(encoding='utf-8'))


def calls(path: Path, name: str) -> list[dict[str, ast.expr]]:
    """Return keyword arguments of every call of name, the first positional one as ''."""
    found = []
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Call) and getattr(node.func, 'id', '') == name:
            arguments = {keyword.arg: keyword.value for keyword in node.keywords}
            found.append({'': node.args[0] if node.args else None, **arguments})
    return found


def literal(expression: ast.expr):
    """Return the value of a literal, None for anything computed at launch."""
    try:
        return ast.literal_eval(expression)
    except ValueError:
        return None


def parameters_set(node: dict[str, ast.expr]) -> dict:
    """Return name -> literal value (or None) of the parameters that a Node sets."""
    found = {}
    for part in getattr(node.get('parameters'), 'elts', []):
        if isinstance(part, ast.Dict):
            found |= {literal(key): literal(value)
                      for key, value in zip(part.keys, part.values)}
    return found


def topics() -> set[str]:
    """Return the relative topics of the node with the shipped profiles."""
    names = {'instruction'}
    for robot in (load_robot(name) for name in list_robots()):
        names |= {robot.command_topic, robot.joint_states_topic}
        names |= {camera.topic for camera in robot.cameras}
    return names


@pytest.fixture(params=LAUNCH_FILES, ids=lambda path: path.name)
def launch_file(request):
    return request.param


def test_there_are_launch_files():
    assert {path.name for path in LAUNCH_FILES} >= {
        'oxygen.launch.py', 'demo.launch.py', 'eval.launch.py', 'two_robots.launch.py'}


def test_it_compiles_and_has_no_logic(launch_file):
    parsed = tree(launch_file)
    logic = [node for node in ast.walk(parsed)
             if isinstance(node, (ast.If, ast.For, ast.While, ast.Lambda, ast.IfExp))]
    assert not logic, f'line {logic[0].lineno}: logic belongs into the node, where it is tested'
    functions = [node.name for node in parsed.body if isinstance(node, ast.FunctionDef)]
    assert functions == ['generate_launch_description']


def test_its_executables_are_installed(launch_file):
    cmake = (ROOT / 'CMakeLists.txt').read_text(encoding='utf-8')
    installed = re.search(r'install\(PROGRAMS (.+?)\s+DESTINATION', cmake, re.S).group(1).split()
    nodes = calls(launch_file, 'Node')
    assert nodes
    for node in nodes:
        assert literal(node['package']) == 'oxygen_ros'
        script = f'scripts/{literal(node["executable"])}'
        assert script in installed
        assert os.access(ROOT / script, os.X_OK)
        if script == 'scripts/oxygen':
            assert literal(node['arguments'].elts[0]) in COMMANDS


def test_each_parameter_it_sets_is_declared(launch_file):
    for node in calls(launch_file, 'Node'):
        given = parameters_set(node)
        assert set(given) <= OF_EVERY_NODE or literal(node['executable']) == 'oxygen_node'
        assert set(given) <= set(NODE_PARAMETERS) | OF_EVERY_NODE
        for name, value in given.items():
            if value is not None and name not in OF_EVERY_NODE:
                NODE_PARAMETERS[name].check(value)


def test_each_remap_source_is_a_topic(launch_file):
    for node in calls(launch_file, 'Node'):
        for pair in getattr(node.get('remappings'), 'elts', []):
            assert literal(pair.elts[0]) in topics()


def test_each_argument_is_described_and_used(launch_file):
    declared = {literal(call['']): call for call in calls(launch_file, 'DeclareLaunchArgument')}
    used = {literal(call['']) for call in calls(launch_file, 'LaunchConfiguration')}
    assert set(declared) == used
    for name, call in declared.items():
        assert literal(call.get('description')), f'argument {name} has no description'
        assert 'default_value' in call, f'argument {name} has no default'


def test_its_docstring_has_a_command_that_starts_it(launch_file):
    text = ast.get_docstring(tree(launch_file))
    assert f'ros2 launch oxygen_ros {launch_file.name}' in text
    declared = {literal(call['']) for call in calls(launch_file, 'DeclareLaunchArgument')}
    assert set(re.findall(r'\b(\w+):=', text)) <= declared


def test_shipped_parameter_file_sets_known_parameters_to_their_defaults():
    data = yaml.safe_load((ROOT / 'config' / 'oxygen.yaml').read_text(encoding='utf-8'))
    assert list(data) == ['/**'], 'a file for one node name is ignored in another namespace'
    for name, value in data['/**']['ros__parameters'].items():
        assert NODE_PARAMETERS[name].check(value) == NODE_PARAMETERS[name].default


def test_template_profile_has_every_key_and_loads():
    path = ROOT / 'config' / 'robots' / 'template.yaml'
    robot = load_robot(str(path))
    assert not robot.missing_limits
    text = path.read_text(encoding='utf-8')
    known = {*robot_file.TOP_KEYS, *(key for keys in robot_file.SECTION_KEYS.values()
                                     for key in keys)}
    for part in (Camera, Joint, Linkage, EndEffector):
        known |= {field.name for field in fields(part)} - {'slot'}
    missing = {name for name in known if not re.search(rf'\b{name}:', text)}
    assert not missing, f'undocumented keys: {missing}'
