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


"""A ROS domain of our own and a listener in this process that hears real messages over DDS."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest
import rclpy
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from ros_domain import draw_domain

from oxygen_ros.ros.executor import make_executor
from oxygen_ros.sim import TableTop


class Listener:
    """An independent ROS node that keeps all it hears, with the steady time of arrival."""

    def __init__(self, domain_id):
        self.context = rclpy.Context()
        rclpy.init(context=self.context, domain_id=domain_id,
                   signal_handler_options=SignalHandlerOptions.NO)
        self.node = Node('independent_listener', context=self.context)
        self.heard = {}
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._spin, daemon=True)
        self._thread.start()

    def subscribe(self, kind, topic, profile):
        """Begin to keep the messages of a topic."""
        self.heard[topic] = []
        self.node.create_subscription(
            kind, topic, lambda m: self.heard[topic].append((time.monotonic(), m)), profile)

    def messages(self, topic):
        """Return the messages heard so far."""
        return [message for _, message in list(self.heard[topic])]

    def wait_for(self, condition, what, timeout_s=20.0):
        """Wait until condition() is true; fail saying what was awaited."""
        deadline_s = time.monotonic() + timeout_s
        while not condition():
            assert time.monotonic() < deadline_s, f'waited {timeout_s:g} s for {what}'
            time.sleep(0.02)

    def close(self):
        """Leave the network."""
        self._stopping.set()
        self._thread.join(timeout=5)
        self.node.destroy_node()
        self.context.try_shutdown()

    def _spin(self):
        executor = make_executor(context=self.context)
        executor.add_node(self.node)
        while not self._stopping.is_set():
            executor.spin_once(timeout_sec=0.1)
        executor.shutdown()


@pytest.fixture
def domain_id(monkeypatch):
    """Return a domain that nothing else uses."""
    monkeypatch.setenv('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
    domain_id = draw_domain()
    monkeypatch.setenv('ROS_DOMAIN_ID', str(domain_id))
    return domain_id


@pytest.fixture
def listener(domain_id):
    """Return a node in this process that listens."""
    listener = Listener(domain_id)
    yield listener
    listener.close()


@pytest.fixture
def start(domain_id):
    """Start modules as processes; what still runs at the end is stopped."""
    processes = []

    def start_module(module, *arguments):
        process = subprocess.Popen([sys.executable, '-m', module, *arguments], text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   env=dict(os.environ))
        processes.append(process)
        return process

    yield start_module
    for process in processes:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
        process.communicate()


@pytest.fixture(scope='module')
def shared_table():
    """One compiled scene for the tests of a file; each resets it."""
    table = TableTop()
    yield table
    table.close()
