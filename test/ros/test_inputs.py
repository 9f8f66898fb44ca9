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
What arrives on topics becomes observations, over real DDS, and what is wrong is told.

Pinned: a QoS mismatch that says nothing (IMG-10), joint messages that contradict themselves
(JS-01), stamps of zero and of another clock.
"""

from array import array
import time

from geometry_msgs.msg import PoseStamped
import numpy as np
import pytest
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy
from rclpy.qos import QoSProfile
from rclpy.qos import ReliabilityPolicy
from ros_helpers import JOINTS
from ros_helpers import wait_until
from sensor_msgs.msg import Image
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from oxygen_ros.config import Camera
from oxygen_ros.config import Joint
from oxygen_ros.config import RobotProfile
from oxygen_ros.ros.faults import Faults
from oxygen_ros.ros.inputs import Inputs
from oxygen_ros.sensing.convert import ImageDecoder

RELIABLE, BEST_EFFORT = ReliabilityPolicy.RELIABLE, ReliabilityPolicy.BEST_EFFORT


class Recorder:
    """Takes what a session would take."""

    def __init__(self):
        self.observations, self.positions, self.instructions, self.sources = [], [], [], []

    def seen(self, source, stamp_ns):
        """Keep a sign of life."""
        self.sources.append((source, stamp_ns))

    def measured(self, positions, stamp_ns):
        """Keep joint positions."""
        self.positions.append((np.array(positions), stamp_ns))

    def observe(self, images, state, stamp_ns):
        """Keep an observation."""
        self.observations.append((images, state, stamp_ns))

    def set_instruction(self, text):
        """Keep an instruction."""
        self.instructions.append(text)


class LogOfLines:
    """Keeps log lines instead of printing them."""

    def __init__(self):
        self.lines = []

    def warning(self, text):
        """Keep a warning."""
        self.lines.append(text)

    error = warning


class Bench:
    """One Inputs on its own node and namespace, and a node that publishes to it."""

    def __init__(self, make_node, name: str, robot, *, qos=None, overrides=()):
        qos = qos or QoSProfile(depth=10, reliability=RELIABLE)
        self.log = LogOfLines()
        self.faults = Faults(self.log)
        self.recorder = Recorder()
        node = make_node('inputs', namespace=name, parameter_overrides=list(overrides))
        self.inputs = Inputs(node, robot, decoder=ImageDecoder('native'), faults=self.faults)
        self.inputs.attach(self.recorder)
        sender = make_node('sender', namespace=name)
        self._now = sender.get_clock().now
        self.cameras = {camera.slot: sender.create_publisher(Image, camera.topic, qos)
                        for camera in robot.cameras}
        self._joints = sender.create_publisher(JointState, 'joint_states', qos)
        self._instruction = sender.create_publisher(String, 'instruction', 1)
        self.publishers = [*self.cameras.values(), self._joints]

    def connect(self):
        """Wait until both sides know each other."""
        wait_until(lambda: all(publisher.get_subscription_count()
                               for publisher in self.publishers))
        return self

    def show(self, slot: str, *, stamp_ns=None, value=7):
        """Publish a picture."""
        message = Image(encoding='rgb8', width=8, height=8, step=24)
        message.data = array('B', bytes([value]) * 192)
        self._stamp(message, stamp_ns)
        self.cameras[slot].publish(message)

    def move(self, names=JOINTS, positions=(0.1, 0.2, 0.3), *, stamp_ns=None):
        """Publish joint states."""
        message = JointState(name=list(names), position=list(positions))
        self._stamp(message, stamp_ns)
        self._joints.publish(message)

    def round(self, **kwargs):
        """Publish joints and one picture of each camera."""
        self.move()
        time.sleep(0.02)
        for slot in self.cameras:
            self.show(slot, **kwargs)

    def now_ns(self) -> int:
        """Return the present time."""
        return self._now().nanoseconds

    def instruct(self, text: str):
        """Publish an instruction."""
        self._instruction.publish(String(data=text))

    def _stamp(self, message, stamp_ns):
        stamp_ns = self.now_ns() if stamp_ns is None else stamp_ns
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp_ns, 10 ** 9)


@pytest.fixture(scope='module')
def bench(make_node, bench_robot):
    """Return a bench that is shared by the tests that leave it as they found it."""
    return Bench(make_node, 'shared', bench_robot).connect()


def count_up(bench, action, what='observations') -> list:
    """Repeat an action until something more has arrived; return all of it."""
    things = getattr(bench.recorder, what)
    count = len(things)

    def arrived():
        action()
        time.sleep(0.05)
        return len(things) > count
    wait_until(arrived)
    return things


@pytest.mark.parametrize('name, qos', [
    ('best_effort_1', QoSProfile(depth=1, reliability=BEST_EFFORT)),
    ('reliable_10', QoSProfile(depth=10, reliability=RELIABLE)),
    ('transient', QoSProfile(depth=1, reliability=RELIABLE,
                             durability=DurabilityPolicy.TRANSIENT_LOCAL))])
def test_every_usual_publisher_is_heard(make_node, bench_robot, name, qos):
    bench = Bench(make_node, name, bench_robot, qos=qos).connect()
    images, state, _ = count_up(bench, bench.round)[-1]
    assert sorted(images) == ['front', 'wrist']
    np.testing.assert_allclose(state, [0.1, 0.2, 0.3], rtol=1e-6)


def test_a_mismatch_in_qos_is_told_with_topic_policy_and_remedy(make_node, bench_robot):
    bench = Bench(
        make_node, 'mismatch', bench_robot, qos=QoSProfile(depth=1, reliability=BEST_EFFORT),
        overrides=[Parameter('qos_overrides./mismatch/front/image.subscription.reliability',
                             value='reliable')])
    line = wait_until(lambda: next((line for line in bench.log.lines if 'QoS' in line), None),
                      timeout_s=5)
    assert '/mismatch/front/image' in line and 'RELIABILITY' in line and 'set both' in line
    time.sleep(0.2)
    bench.round()
    time.sleep(0.3)
    assert bench.inputs.sources['front'].num_received == 0
    assert bench.inputs.sources['wrist'].num_received == 1


def test_joints_come_in_profile_order_whatever_the_message_order(bench):
    positions, _ = count_up(
        bench, lambda: bench.move(('gripper', 'x', 'arm', 'elbow'), (3.0, 9.0, 1.0, 2.0)),
        'positions')[-1]
    np.testing.assert_array_equal(positions, [1.0, 2.0, 3.0])


def test_a_joint_message_that_contradicts_itself_is_refused_with_a_reason(bench):
    refused = bench.inputs.sources['joint_states'].num_refused
    count = len(bench.recorder.positions)
    bench.move(JOINTS, (0.1, 0.2))
    bench.move(JOINTS, (0.1, float('nan'), 0.3))
    wait_until(lambda: bench.inputs.sources['joint_states'].num_refused == refused + 2)
    assert len(bench.recorder.positions) == count
    assert '3 names but 2 positions' in str(bench.inputs.sources['joint_states'].reasons)
    assert 'position of elbow is nan' in str(bench.inputs.sources['joint_states'].reasons)


def test_a_malformed_picture_is_counted_and_logged_once(bench):
    lines = len(bench.log.lines)
    refused = bench.inputs.sources['front'].num_refused
    for _ in range(5):
        bench.cameras['front'].publish(Image(encoding='rgb8', width=8, height=8, step=24))
        time.sleep(0.02)
    wait_until(lambda: bench.inputs.sources['front'].num_refused >= refused + 4)
    told = [line for line in bench.log.lines[lines:] if '/shared/front/image' in line]
    assert len(told) == 1 and '0 bytes of data' in told[0]


def test_a_zero_stamp_becomes_the_time_of_arrival(bench):
    before_ns = bench.now_ns()
    _, _, stamp_ns = count_up(bench, lambda: bench.round(stamp_ns=0))[-1]
    assert before_ns - 1e9 < stamp_ns < before_ns + 60e9
    assert ('front', 0) in bench.recorder.sources      # the session warns about it


def test_a_stamp_of_another_clock_is_refused(bench):
    count = len(bench.recorder.sources)
    bench.show('front', stamp_ns=bench.now_ns() + 365 * 86400 * 10 ** 9)
    wait_until(lambda: 'in the future' in str(bench.inputs.sources['front'].reasons))
    assert len(bench.recorder.sources) == count


def test_the_instruction_topic_reaches_the_session(bench):
    count_up(bench, lambda: bench.instruct('stack the blocks'), 'instructions')
    assert bench.recorder.instructions[-1] == 'stack the blocks'


def test_an_instruction_that_comes_before_there_is_a_session_is_kept_for_it(bench):
    bench.inputs.attach(None)
    late = Recorder()
    for text in ('first', 'newest'):
        bench.instruct(text)
    time.sleep(1.0)       # nothing tells when it has arrived: nobody is there yet
    bench.inputs.attach(late)
    wait_until(lambda: late.instructions)
    assert late.instructions[-1] == 'newest'
    again = Recorder()
    bench.inputs.attach(again)
    assert again.instructions == []       # it was for one session
    bench.inputs.attach(bench.recorder)


def test_an_exception_in_a_callback_is_told_with_its_traceback_and_the_next_message_works(bench):
    def fail(text):
        raise RuntimeError(f'cannot take {text}')
    bench.recorder.set_instruction = fail
    bench.instruct('boom')
    wait_until(lambda: bench.faults.num_exceptions == 1)
    del bench.recorder.set_instruction
    assert any('Traceback' in line and 'cannot take boom' in line for line in bench.log.lines)
    assert ('callback of /shared/instruction failed: RuntimeError: cannot take boom', True) \
        in bench.faults.recent()
    count_up(bench, lambda: bench.instruct('again'), 'instructions')


def test_a_silent_camera_and_a_missing_joint_are_named_with_a_remedy(make_node, bench_robot,
                                                                      monkeypatch):
    monkeypatch.setattr('oxygen_ros.ros.inputs.SILENT_AFTER_S', 0.0)
    bench = Bench(make_node, 'silent', bench_robot).connect()
    count_up(bench, lambda: bench.show('front'), 'sources')
    bench.move(('arm', 'elbow', 'grpper'), (0.0, 0.0, 0.0))
    wait_until(lambda: bench.inputs.sources['joint_states'].last_s)
    complaints = dict(bench.inputs.silent())
    assert set(complaints) == {'wrist', 'joint_states'}
    assert '/silent/wrist/image has 1 publisher' in complaints['wrist']
    wait_until(lambda: 'never names joint gripper' in dict(bench.inputs.silent())['joint_states'])
    assert 'grpper' in dict(bench.inputs.silent())['joint_states']


def test_a_robot_that_is_told_poses_needs_no_joint_states(make_node):
    robot = RobotProfile(
        'cartesian', (Camera('front', 'front/image'),),
        tuple(map(Joint, ('x', 'y', 'z', 'roll', 'pitch', 'yaw'))), pose_topic='tool/pose')
    node, recorder = make_node('inputs', namespace='cartesian'), Recorder()
    inputs = Inputs(node, robot, decoder=ImageDecoder('native'), faults=Faults(LogOfLines()))
    inputs.attach(recorder)
    assert set(inputs.sources) == {'front', 'pose'}
    assert inputs.sources['pose'].topic == '/cartesian/tool/pose'
    sender = make_node('sender', namespace='cartesian')
    publisher = sender.create_publisher(PoseStamped, 'tool/pose', 1)
    message = PoseStamped()
    message.pose.position.x, message.pose.orientation.w = 0.4, 1.0

    def arrived():
        publisher.publish(message)
        time.sleep(0.05)
        return recorder.positions
    positions, _ = wait_until(arrived)[0]
    np.testing.assert_allclose(positions, [0.4, 0, 0, 0, 0, 0], atol=1e-12)
