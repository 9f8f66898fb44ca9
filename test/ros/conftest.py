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

"""Real processes over real DDS: a domain of our own, a robot that publishes, node processes."""

import os

from ros_domain import draw_domain

# Before rclpy is imported anywhere: nothing of this run may meet another robot or run.
os.environ['ROS_DOMAIN_ID'] = str(draw_domain())
os.environ['ROS_AUTOMATIC_DISCOVERY_RANGE'] = 'LOCALHOST'
os.environ['ROS_LOCALHOST_ONLY'] = '1' if os.environ.get('ROS_DISTRO') == 'humble' else '0'

from background import spinning
from diagnostic_msgs.msg import DiagnosticArray
import pytest
import rclpy
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.signals import SignalHandlerOptions
from ros_helpers import FakeRobot
from ros_helpers import Listener
from ros_helpers import NodeProcess
from ros_helpers import REPLAN_HZ
from ros_helpers import ROBOT_YAML
from ros_helpers import wait_until
from trajectory_msgs.msg import JointTrajectory
import yaml

from oxygen_ros.config.robot_file import robot_from_dict
from oxygen_ros.msg import ActionChunk
from oxygen_ros.msg import Deadline
from oxygen_ros.msg import EngineStatus
from oxygen_ros.msg import MemoryFact
from oxygen_ros.msg import TokenDelta
from oxygen_ros.ros import qos
from oxygen_ros.ros.executor import make_executor


@pytest.fixture(scope='session')
def executor():
    """Spin every node of this process in the background."""
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    with spinning(make_executor()) as executor:
        yield executor
    rclpy.try_shutdown()


def _node_maker(executor):
    """Make nodes in this process and end them afterwards."""
    nodes = []

    def make(name: str, **kwargs) -> Node:
        node = Node(name, **kwargs)
        nodes.append(node)
        executor.add_node(node)
        return node

    yield make
    for node in nodes:
        executor.remove_node(node)
        node.destroy_node()


@pytest.fixture(scope='module')
def make_node(executor):
    """Make nodes in this process that end with the module."""
    yield from _node_maker(executor)


@pytest.fixture(scope='session')
def make_lasting_node(executor):
    """Make nodes in this process that last as long as the running node."""
    yield from _node_maker(executor)


@pytest.fixture(scope='session')
def bench_robot():
    """Return the profile that the tests use."""
    return robot_from_dict(yaml.safe_load(ROBOT_YAML))


@pytest.fixture(scope='session')
def robot(make_lasting_node):
    """Publish the cameras and joints that the running node sees."""
    robot = FakeRobot(make_lasting_node('fake_robot'))
    yield robot
    robot.stop()


@pytest.fixture(scope='session')
def heard(make_lasting_node):
    """Listen to everything the running node says."""
    listener = Listener(make_lasting_node('listener'))
    for kind, topic, profile in (
            (JointTrajectory, 'command', QoSProfile(depth=100)),
            (TokenDelta, 'oxygen/language', qos.stream()),
            (ActionChunk, 'oxygen/action_chunk', qos.stream(10)),
            (MemoryFact, 'oxygen/memory', qos.facts()),
            (Deadline, 'oxygen/deadline', qos.status()),
            (EngineStatus, 'oxygen/engine', qos.status()),
            (DiagnosticArray, '/diagnostics', qos.stream(10))):
        listener.listen(kind, topic, profile)
    return listener


@pytest.fixture(scope='session')
def caller(make_lasting_node):
    """Return a node to call services with."""
    return make_lasting_node('caller')


@pytest.fixture(scope='session')
def running_node(tmp_path_factory, robot, heard):
    """Start a node with three language tasks and wait until it acts."""
    node = NodeProcess(tmp_path_factory.mktemp('node'), parameters={
        'autostart': True, 'replan_hz': REPLAN_HZ})
    try:
        node.wait_for_log('active: 50 commands per second', timeout_s=240)
        wait_until(lambda: heard.last('oxygen/deadline')
                   and heard.last('oxygen/deadline').verdict == 'fresh', timeout_s=120)
        yield node
    finally:
        node.kill()


@pytest.fixture(scope='session')
def simulated_node(tmp_path_factory):
    """Start /robot1/left on simulated time with a parameter file; it waits for a clock."""
    folder = tmp_path_factory.mktemp('simulated')
    parameters_file = folder / 'parameters.yaml'
    parameters_file.write_text(
        '/**:\n  ros__parameters:\n    use_sim_time: true\n    autostart: true\n'
        '    control_rate_hz: 25\n    command_type: joint_state\n    replan_hz: 5\n')
    node = NodeProcess(folder, ros_arguments=(
        '--params-file', str(parameters_file), '-r', '__ns:=/robot1', '-r', '__node:=left'))
    try:
        node.wait_for_log('active: 25 commands per second on /robot1/command', timeout_s=240)
        yield node
        assert node.stop() == 0
        assert 'Traceback' not in node.log
    finally:
        node.kill()
