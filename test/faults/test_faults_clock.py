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
Clocks that step while the robot moves: what the wire carries stays right.

One node on simulated time, which is its node clock: what steps there steps for it. Pinned: TIM-03
(a paused clock), a bag that starts again, a computer whose clock is set by a minute.
"""

import threading
import time

from builtin_interfaces.msg import Time
from fault_helpers import namespaced
from fault_helpers import slow_robot
from fault_helpers import verdict
from fault_helpers import Wire
import pytest
from ros_helpers import FakeRobot
from ros_helpers import Listener
from ros_helpers import NodeProcess
from ros_helpers import wait_until
from rosgraph_msgs.msg import Clock

from oxygen_ros.msg import Deadline
from oxygen_ros.ros import qos

S = 10 ** 9


class SteppedClock:
    """Publishes /clock at 100 Hz; may be stepped, with the sensors' clock or without it."""

    def __init__(self, node):
        self._publisher = node.create_publisher(Clock, '/clock', 10)
        self._start_ns = time.monotonic_ns()
        self.offset_ns = 1000 * S           # of the node clock
        self.sensor_offset_ns = 1000 * S
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def step(self, seconds: float, *, sensors: bool) -> None:
        """Set the clock, that of the sensors too or not."""
        self.offset_ns += round(seconds * S)
        if sensors:
            self.sensor_offset_ns = self.offset_ns

    def sensor_stamp_ns(self) -> int:
        """Return what a sensor stamps now."""
        return time.monotonic_ns() - self._start_ns + self.sensor_offset_ns

    def stop(self):
        """Publish no more."""
        self._stopping.set()
        self._thread.join(timeout=5)

    def _run(self):
        while not self._stopping.wait(0.01):
            now_ns = time.monotonic_ns() - self._start_ns + self.offset_ns
            sec, nanosec = divmod(now_ns, S)
            self._publisher.publish(Clock(clock=Time(sec=sec, nanosec=nanosec)))


@pytest.fixture(scope='module')
def clock(make_node):
    """Return a clock that runs."""
    clock = SteppedClock(make_node('clock'))
    yield clock
    clock.stop()


@pytest.fixture(scope='module')
def heard(make_node, clock):
    """Publish as a robot and listen."""
    robot = FakeRobot(make_node('fake_robot'), stamp_ns=clock.sensor_stamp_ns)
    listener = Listener(make_node('listener'))
    listener.listen(Deadline, 'oxygen/deadline', qos.status())
    yield listener
    robot.stop()


@pytest.fixture(scope='module')
def wire(tmp_path_factory, ros_env):
    """Record the commands."""
    wire = Wire(tmp_path_factory.mktemp('wire'), ros_env)
    yield wire
    wire.close()


@pytest.fixture(scope='module')
def node(tmp_path_factory, ros_env, heard, wire):
    """Start the node."""
    folder = tmp_path_factory.mktemp('node')
    node = NodeProcess(folder, env=ros_env,
                       ros_arguments=namespaced(ros_env), parameters={
        'robot': slow_robot(folder),
        'autostart': True, 'use_sim_time': True, 'tasks_file': 'none', 'replan_hz': 5.0})
    try:
        node.wait_for_log('active: 50 commands per second', timeout_s=90)
        wait_until(lambda: len(wire.commands()))
        yield node
    finally:
        node.kill()


@pytest.mark.parametrize('seconds', [60.0, -60.0, -0.5])
def test_a_clock_that_steps_with_the_sensors_costs_a_short_fallback(
        node, heard, wire, clock, seconds):
    verdict(heard, 'fresh')
    start_ns = time.monotonic_ns()
    before = heard.next('oxygen/deadline').fallback
    resets = node.log.count('starting afresh')
    clock.step(seconds, sensors=True)
    wait_until(lambda: heard.last('oxygen/deadline').fallback > before)
    verdict(heard, 'fresh')
    time.sleep(1.0)
    assert node.log.count('starting afresh') - resets == (seconds < 0)
    wire.check(start_ns)


@pytest.mark.parametrize('seconds, cause', [(60.0, 'joints_stale'), (-60.0, 'joints_stale')])
def test_a_clock_that_leaves_the_sensors_behind_holds_the_robot_until_they_agree(
        node, heard, wire, clock, seconds, cause):
    verdict(heard, 'fresh')
    start_ns = time.monotonic_ns()
    clock.step(seconds, sensors=False)
    verdict(heard, 'fallback', cause)
    held = wire.commands()[-1, 1:]
    time.sleep(0.5)
    assert abs(wire.commands()[-1, 1:] - held).max() < 0.3
    if seconds < 0:
        node.wait_for_log('in the future; synchronise the clocks')
    clock.step(0.0, sensors=True)
    verdict(heard, 'fresh')
    wire.check(start_ns)


def test_it_ends_cleanly_after_all_that(node):
    assert node.stop() == 0
    assert 'Traceback' not in node.log
