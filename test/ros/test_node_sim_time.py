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
A node with another name, in a namespace, with a parameter file, on simulated time.

Pinned: a clock of zero taken for a time (TIM-03), parameter files that do not match a namespace
(LCH-02), a bag that starts again. test_recordings.py goes on with the node.
"""

import threading
import time

from builtin_interfaces.msg import Time
import pytest
from rcl_interfaces.srv import GetParameters
from rclpy.qos import QoSProfile
from ros_helpers import call
from ros_helpers import FakeRobot
from ros_helpers import LIMIT_S
from ros_helpers import Listener
from ros_helpers import wait_until
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState

from oxygen_ros.msg import Deadline
from oxygen_ros.msg import TokenDelta
from oxygen_ros.ros import qos

COMMAND, DEADLINE, LANGUAGE = 'command', 'left/deadline', 'left/language'


class SimulatedClock:
    """Publishes /clock at 100 Hz while it runs."""

    def __init__(self, node):
        self._publisher = node.create_publisher(Clock, '/clock', 10)
        self.time_ns = 0            # 0: nothing is published
        self.is_paused = False
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def sensor_stamp_ns(self) -> int:
        """Return what sensors stamp: wall time as long as there is no clock."""
        return self.time_ns or 1_700_000_000 * 10 ** 9

    def stop(self):
        """Publish no more."""
        self._stopping.set()
        self._thread.join(timeout=5)

    def _run(self):
        last_s = time.monotonic()
        while not self._stopping.wait(0.01):
            now_s = time.monotonic()
            if self.time_ns and not self.is_paused:
                self.time_ns += round((now_s - last_s) * 1e9)
                sec, nanosec = divmod(self.time_ns, 10 ** 9)
                self._publisher.publish(Clock(clock=Time(sec=sec, nanosec=nanosec)))
            last_s = now_s


@pytest.fixture(scope='module')
def clock(make_node):
    """Return a clock that does not run yet."""
    clock = SimulatedClock(make_node('clock', namespace='robot1'))
    yield clock
    clock.stop()


@pytest.fixture(scope='module')
def heard(make_node, clock):
    """Publish as a robot and listen, both in the namespace."""
    robot = FakeRobot(make_node('fake_robot', namespace='robot1'), stamp_ns=clock.sensor_stamp_ns)
    listener = Listener(make_node('listener', namespace='robot1'))
    listener.listen(JointState, COMMAND, QoSProfile(depth=100))
    listener.listen(Deadline, DEADLINE, qos.status())
    listener.listen(TokenDelta, LANGUAGE, qos.stream())
    yield listener
    robot.stop()


@pytest.fixture(scope='module')
def node(heard, simulated_node):
    """Return the node, listened to since its start."""
    return simulated_node


def verdict(heard, wanted: str, cause: str = '', *, timeout_s: float = LIMIT_S):
    """Wait until the newest tick was of this kind."""
    def newest():
        message = heard.last(DEADLINE)
        return message and (message.verdict, message.cause) == (wanted, cause)
    wait_until(newest, timeout_s=timeout_s)


def test_the_parameter_file_is_in_force_under_another_name(node, make_node):
    answer = call(make_node('asker'), GetParameters, '/robot1/left/get_parameters',
                  GetParameters.Request(names=['control_rate_hz', 'command_type', 'replan_hz']))
    rate, kind, replan = answer.values
    assert rate.double_value == 25.0
    assert kind.string_value == 'joint_state'
    assert replan.double_value == 5.0


def test_nothing_moves_before_the_clock_runs(node, heard):
    verdict(heard, 'fallback', 'waiting_for_clock')
    time.sleep(1.0)
    assert not heard.messages[COMMAND]
    assert not heard.messages[LANGUAGE]


def test_the_first_command_follows_the_clock_and_carries_its_time(node, heard, clock):
    clock.time_ns = 100 * 10 ** 9
    start_s = time.monotonic()
    first = wait_until(lambda: heard.last(COMMAND))
    assert time.monotonic() - start_s < 3.0
    assert 100 <= first.header.stamp.sec < 110
    verdict(heard, 'fresh')


def test_a_paused_clock_stops_actions(node, heard, clock):
    clock.is_paused = True
    verdict(heard, 'fallback', 'waiting_for_clock')
    held = heard.next(COMMAND, timeout_s=2).position if heard.messages[COMMAND] else None
    time.sleep(0.5)
    assert heard.last(COMMAND).position == held
    clock.is_paused = False
    verdict(heard, 'fresh')


def test_a_clock_that_starts_again_starts_the_node_afresh_once(node, heard, clock):
    if clock.time_ns < 100 * 10 ** 9:       # this test alone
        clock.time_ns = 100 * 10 ** 9
    verdict(heard, 'fresh')
    clock.time_ns = 50 * 10 ** 9
    node.wait_for_log('jumped back')
    verdict(heard, 'fresh')
    assert heard.next(COMMAND).header.stamp.sec < 90
    node.wait_for_log('starting afresh')
    node.wait_for_log('reset: ')
    time.sleep(1.0)   # for a second one, which must not come
    assert node.log.count('starting afresh') == node.log.count('reset: ') == 1
    assert 'Traceback' not in node.log
