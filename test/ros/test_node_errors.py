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
What cannot work is said in one line with a remedy, and the exit code is not 0.

Pinned: parameters that YAML turned into another type (LCH-01), names nobody reads (LCH-02).
"""

import json
import sys

import pytest
from ros_helpers import NodeProcess
from ros_helpers import ROOT

CASES = {
    'unknown robot': (
        {'robot': 'r2d2'}, (), {}, "'r2d2' is not known; choose one of"),
    'profile that is not there': (
        {'robot': '/no/such.yaml'}, (), {}, '/no/such.yaml does not exist; check the path'),
    'rate that is a word': (
        {'control_rate_hz': 'fast'}, (), {},
        "parameter control_rate_hz: given text 'fast', wanted number"),
    'text of digits': (
        {'checkpoint': '0012'}, (), {}, 'parameter checkpoint: given integer'),
    'text that YAML reads as yes': (
        {'instruction': 'yes'}, (), {}, 'parameter instruction: given boolean True, wanted text'),
    'text that YAML reads as a number': (
        {'instruction': '123E5'}, (), {}, "quote it twice: instruction:='\"...\"'"),
    'value beyond its range': (
        {'control_rate_hz': '1000.0'}, (), {}, 'control_rate_hz is 1000.0; give a value from'),
    'choice that does not exist': (
        {'fallback': 'zero'}, (), {}, "fallback is 'zero'; choose one of: hold, ramp_down"),
    'decoder that is not installed': (
        {'image_decoder': 'cv_bridge'}, (), {}, "use 'auto'"),
    'parameter file that is not there': (
        {}, ('--params-file', '/no/such.yaml'), {}, 'the arguments behind --ros-args'),
    'domain that does not exist': ({}, (), {'ROS_DOMAIN_ID': '4000'},
                                   "ROS_DOMAIN_ID is '4000'; choose a number"),
}


@pytest.fixture(scope='module')
def lost(tmp_path_factory):
    """Start a node whose checkpoint is not there."""
    node = NodeProcess(tmp_path_factory.mktemp('lost'), parameters={
        'checkpoint': '/no/such/model', 'autostart': True})
    yield node
    node.kill()


@pytest.fixture(scope='module')
def started(tmp_path_factory, lost):
    """Start every wrong node at once; most of their time is the start of Python."""
    folder = tmp_path_factory.mktemp('errors')
    nodes = {}
    for index, (name, (parameters, ros_arguments, env, _)) in enumerate(CASES.items()):
        if parameters.get('image_decoder') and _has_cv_bridge():
            continue
        nodes[name] = NodeProcess(folder / str(index), parameters=parameters,
                                  ros_arguments=ros_arguments, env=env)
        if index % 4 == 3:
            for node in nodes.values():
                _end(node)
    yield nodes
    for node in nodes.values():
        node.kill()


def _end(node: NodeProcess) -> None:
    if node.process.poll() is None:
        node.wait(timeout_s=40)


def _has_cv_bridge() -> bool:
    from oxygen_ros.sensing.convert import ros2_cv_bridge
    return ros2_cv_bridge() is not None


@pytest.mark.parametrize('name', CASES)
def test_a_wrong_start_ends_with_one_clear_line(started, name):
    if name not in started:
        pytest.skip('the cv_bridge of ROS 2 is installed here')
    node = started[name]
    assert node.wait(timeout_s=40) != 0
    assert CASES[name][3] in node.log
    assert 'Traceback' not in node.log
    complaints = [line for line in node.log.splitlines() if line.startswith('oxygen node: ')]
    assert len(complaints) == 1


def test_a_checkpoint_that_is_not_there_ends_an_autostarted_node(lost):
    assert lost.wait(timeout_s=60) == 1
    assert '/no/such/model' in lost.log
    assert 'cannot configure' in lost.log
    assert 'Traceback' not in lost.log


def test_numbers_and_quoted_text_are_taken_as_meant_and_unknown_names_are_told(tmp_path):
    parameters_file = tmp_path / 'parameters.yaml'
    parameters_file.write_text(
        '/**:\n  ros__parameters:\n    control_rate_hz: 20\n    instruction: "1.0"\n'
        '    replan_herz: 5.0\n    fancy: true\n')
    node = NodeProcess(
        tmp_path, parameters={'checkpoint': "'0012'", 'transition': 'blend'},
        arguments=('--json', str(tmp_path / 'given.json')),
        ros_arguments=('--params-file', str(parameters_file), '-r', '__ns:=/robot1',
                       '-r', '__node:=left', '-p', 'seed:=7'))
    try:
        node.wait_for_log('parameter replan_herz is not known')
        node.wait_for_log('parameter fancy is not known')
        assert 'ros2 param list /robot1/left' in node.log
        assert node.stop() == 0
        assert 'Traceback' not in node.log
        # The command line wins over parameters; figures are whole though nothing was configured.
        figures = json.loads((tmp_path / 'given.json').read_text())
        assert figures['ticks'] == figures['facts'] == 0 and 'lateness_ms' in figures
        assert not node.json_file.exists()
    finally:
        node.kill()


def test_help_has_an_example(tmp_path):
    import subprocess
    output = subprocess.run([sys.executable, '-m', 'oxygen_ros.ros.node', '--help'], cwd=ROOT,
                            capture_output=True, text=True, timeout=60)
    assert output.returncode == 0
    assert 'example:' in output.stdout and '--json' in output.stdout
