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
A player begins when those who listen take something in, not while their model still loads.

Pinned: a short recording that was over before the node was active, as under eval.launch.py.
"""

import threading
import time

import pytest
from rclpy.lifecycle import LifecycleNode
from rclpy.lifecycle import TransitionCallbackReturn
from ros_helpers import wait_until
from std_msgs.msg import String

from oxygen_ros.ros.audience import Audience


class Slow(LifecycleNode):
    """Subscribes when it is made, as ours does, and takes its time to load."""

    def __init__(self):
        super().__init__('slow', namespace='left')
        self.loaded = threading.Event()
        self.create_subscription(String, '/words', lambda message: None, 10)

    def on_configure(self, state):
        """Load until told that it is enough."""
        self.loaded.wait(60)
        return TransitionCallbackReturn.SUCCESS


@pytest.fixture
def slow(executor):
    """Return a node that is not configured yet."""
    node = Slow()
    executor.add_node(node)
    yield node
    node.loaded.set()
    executor.remove_node(node)
    node.destroy_node()


@pytest.fixture
def words(make_node):
    return make_node('player').create_publisher(String, '/words', 10)


def test_nobody_is_waited_for_only_so_long(words):
    began_s = time.monotonic()
    assert Audience([[words]]).wait(0.3, threading.Event()) == 'nobody listens'
    assert time.monotonic() - began_s >= 0.3


def test_a_listener_without_a_life_cycle_is_enough(words, make_node):
    make_node('plain').create_subscription(String, '/words', lambda message: None, 10)
    assert Audience([[words]]).wait(30.0, threading.Event()) == ''
    silent = make_node('other').create_publisher(String, '/nothing', 10)
    assert Audience([[words], [silent]]).wait(0.2, threading.Event()) == 'nobody listens'


def test_a_node_is_waited_for_until_it_is_active_however_long_it_loads(words, slow):
    wait_until(words.get_subscription_count, timeout_s=30)
    assert Audience([[words]]).wait(1.5, threading.Event()) == '/left/slow is unconfigured'
    results = []
    waiting = threading.Thread(
        target=lambda: results.append(Audience([[words]]).wait(1.5, threading.Event())))
    loading = threading.Thread(target=slow.trigger_configure)
    loading.start()
    waiting.start()
    waiting.join(3.0)
    assert not results and waiting.is_alive()      # twice as long as it waits for others
    slow.loaded.set()
    loading.join(30)
    slow.trigger_activate()
    waiting.join(30)
    assert results == ['']


def test_a_stop_ends_the_wait(words, slow):
    stopping = threading.Event()
    threading.Timer(0.3, stopping.set).start()
    began_s = time.monotonic()
    Audience([[words]]).wait(60.0, stopping)
    assert time.monotonic() - began_s < 30
