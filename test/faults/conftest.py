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

"""Real processes on a domain of their own, whatever else runs in this test session."""

import os
from pathlib import Path
import sys

sys.path.insert(0, str(Path(__file__).parents[1] / 'ros'))   # ros_helpers

from background import spinning
import pytest
import rclpy
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from ros_domain import draw_domain

from oxygen_ros.ros.executor import make_executor


@pytest.fixture(scope='module')
def ros_env():
    """
    Return the environment that puts a process on the domain of this module.

    There are few domains and other programs may use the same one, so everything is in a namespace
    of its own as well.
    """
    old = os.environ.get('ROS_AUTOMATIC_DISCOVERY_RANGE')
    os.environ['ROS_AUTOMATIC_DISCOVERY_RANGE'] = 'LOCALHOST'
    number = draw_domain()
    yield {'ROS_DOMAIN_ID': str(number), 'NAMESPACE': f'/faults_{number}'}
    if old is None:
        del os.environ['ROS_AUTOMATIC_DISCOVERY_RANGE']
    else:
        os.environ['ROS_AUTOMATIC_DISCOVERY_RANGE'] = old


@pytest.fixture(scope='module')
def make_node(ros_env):
    """Make nodes in this process that are spun in the background and end with the module."""
    context = rclpy.Context()
    rclpy.init(context=context, domain_id=int(ros_env['ROS_DOMAIN_ID']),
               signal_handler_options=SignalHandlerOptions.NO)
    executor = make_executor(context)
    nodes = []

    def make(name: str, **kwargs) -> Node:
        node = Node(name, context=context, namespace=ros_env['NAMESPACE'], **kwargs)
        nodes.append(node)
        executor.add_node(node)
        return node

    with spinning(executor):
        yield make
    for node in nodes:
        node.destroy_node()
    context.try_shutdown()
