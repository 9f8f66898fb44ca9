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
import random
import threading

# Before rclpy is imported anywhere: nothing of this run may meet another robot or run.
os.environ['ROS_DOMAIN_ID'] = str(random.SystemRandom().randint(1, 100))
os.environ['ROS_AUTOMATIC_DISCOVERY_RANGE'] = 'LOCALHOST'
os.environ['ROS_LOCALHOST_ONLY'] = '1' if os.environ.get('ROS_DISTRO') == 'humble' else '0'

import pytest
import rclpy
from rclpy.exceptions import InvalidHandle  # noqa: E402
from rclpy.executors import MultiThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from ros_helpers import ROBOT_YAML
import yaml

from oxygen_ros.config.robot import robot_from_dict


@pytest.fixture(scope='session')
def executor():
    """Spin every node of this process in the background."""
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    executor = MultiThreadedExecutor(num_threads=2)
    stopping = threading.Event()

    def spin():
        while not stopping.is_set():
            try:
                executor.spin_once(timeout_sec=0.1)
            except InvalidHandle:      # a test destroyed its node in this moment
                pass

    thread = threading.Thread(target=spin, daemon=True)
    thread.start()
    yield executor
    stopping.set()
    thread.join(timeout=5)
    executor.shutdown()
    rclpy.try_shutdown()


@pytest.fixture(scope='module')
def make_node(executor):
    """Make nodes in this process that end with the module."""
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


@pytest.fixture(scope='session')
def bench_robot():
    """Return the profile that the tests use."""
    return robot_from_dict(yaml.safe_load(ROBOT_YAML))
