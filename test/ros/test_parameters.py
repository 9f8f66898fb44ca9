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

"""Parameters of the node: described, ranged, and what they amount to."""

import pytest
from rclpy.parameter import Parameter
from ros_helpers import ROBOT_YAML

from oxygen_ros.config import ConfigError
from oxygen_ros.ros.parameters import NodeParameters
from oxygen_ros.ros.parameters import PARAMETERS


@pytest.fixture(scope='module')
def node(make_node):
    """Return a node to declare on."""
    return make_node('parameters_test')


@pytest.fixture
def robot_file(tmp_path):
    """Return the path of a profile."""
    path = tmp_path / 'bench.yaml'
    path.write_text(ROBOT_YAML)
    return str(path)


@pytest.fixture
def declare(make_node, robot_file):
    """Declare the parameters on a fresh node."""
    count = 0

    def make(**overrides) -> NodeParameters:
        nonlocal count
        count += 1
        node = make_node(f'parameters_{count}')
        parameters = NodeParameters(node, {'robot': robot_file, **overrides})
        parameters.node = node
        return parameters
    return make


def test_every_parameter_has_a_description_and_a_range_or_choices_or_is_free_text(declare):
    parameters = declare()
    for name in parameters.names:
        descriptor = parameters.node.describe_parameter(name)
        assert len(descriptor.description) > 20, name
        value = parameters.get(name)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            assert descriptor.integer_range or descriptor.floating_point_range, name


def test_the_profile_is_changed_by_parameters(declare):
    parameters = declare(**{
        'control_rate_hz': 100, 'command_type': 'joint_state', 'instruction': 'wait',
        'cameras.front.reliability': 'reliable', 'cameras.wrist.compressed': True,
        'cameras.wrist.max_age_s': 1})
    robot = parameters.read().robot
    assert robot.control_rate_hz == 100.0
    assert robot.command_type == 'joint_state'
    assert robot.instruction == 'wait'
    assert [camera.reliability for camera in robot.cameras] == ['reliable', 'best_effort']
    assert [camera.compressed for camera in robot.cameras] == [False, True]
    assert robot.cameras[1].max_age_s == 1.0


def test_engine_and_control_follow_the_parameters(declare):
    settings = declare(replan_hz=5, fallback='ramp_down', num_threads=2,
                       tasks_file='none').read()
    assert settings.engine.scheduler.replan_hz == 5.0
    assert settings.engine.num_threads == 2
    assert settings.control.fallback == 'ramp_down'
    assert settings.tasks == ()


def test_shipped_tasks_are_the_default(declare):
    assert [task.name for task in declare().read().tasks] == ['narrate', 'subtask', 'memory']


def test_unknown_names_are_found_and_those_of_rclpy_are_not(declare):
    names = ('robot', 'robbot', 'use_sim_time', 'qos_overrides./clock.subscription.depth')
    assert declare().unknown(names) == ['robbot']


def test_a_change_at_run_time_is_checked_and_live_ones_are_told(declare):
    parameters = declare()
    told, is_configured = [], False
    parameters.on_change(told.append, lambda: is_configured)
    change = parameters.node.set_parameters
    assert change([Parameter('instruction', value='open the box')])[0].successful
    assert told == [{'instruction': 'open the box'}]
    assert change([Parameter('replan_hz', value=5)])[0].successful
    assert parameters.get('replan_hz') == 5.0
    refused = change([Parameter('replan_hz', value='often')])[0]
    assert not refused.successful
    assert 'given text' in refused.reason and 'wanted number' in refused.reason
    assert not change([Parameter('replan_hz', value=0.0)])[0].successful
    assert not change([Parameter('fallback', value='zero')])[0].successful
    read_only = change([Parameter('command_type', value='joint_state')])[0]
    assert not read_only.successful


def test_what_was_read_at_configure_is_refused_while_configured_with_the_reason(declare):
    parameters = declare()
    told = []
    parameters.on_change(told.append, lambda: True)
    change = parameters.node.set_parameters_atomically
    refused = change([Parameter('fallback', value='none'), Parameter('num_threads', value=2)])
    assert not refused.successful
    assert 'num_threads is read at configure' in refused.reason and 'clean up' in refused.reason
    assert not told and parameters.get('fallback') == 'hold'
    assert change([Parameter('num_threads', value=parameters.get('num_threads'))]).successful


def test_a_change_that_cannot_be_made_is_refused_as_a_whole(declare):
    parameters = declare()
    def refuse(changes):
        parameters.tasks(changes)
    parameters.on_change(refuse, lambda: True)
    refused = parameters.node.set_parameters_atomically([
        Parameter('fallback', value='none'), Parameter('tasks_file', value='/no/such.yaml')])
    assert not refused.successful and '/no/such.yaml does not exist' in refused.reason
    assert parameters.get('fallback') == 'hold'


@pytest.mark.parametrize('value', [10, 2.5, True, ['a']])
def test_a_number_in_place_of_text_is_refused_naming_both_types(declare, value):
    with pytest.raises(ConfigError, match='parameter checkpoint: given .* wanted text'):
        declare(checkpoint=value)


def test_names_are_unique():
    names = [parameter.name for parameter in PARAMETERS]
    assert len(names) == len(set(names))
