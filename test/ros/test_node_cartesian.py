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

"""A node told to publish twists: pose in, twist and gripper out, zero twist as the last word."""

from array import array
import signal
import threading
import time

from geometry_msgs.msg import PoseStamped
from geometry_msgs.msg import TwistStamped
import numpy as np
import pytest
from rclpy.qos import QoSProfile
from ros_helpers import Listener
from ros_helpers import NodeProcess
from ros_helpers import wait_until
from sensor_msgs.msg import Image
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

PROFILE = """
name: cartesian
cameras: {front: {topic: scene/image, max_age_s: 5}}
joint_states: {topic: hand/joint_states, pose_topic: hand/pose, max_age_s: 5}
joints:
  x: {lower: 0.2, upper: 0.6, max_velocity: 0.3, unit: m}
  y: {lower: -0.3, upper: 0.3, max_velocity: 0.3, unit: m}
  z: {lower: 0.1, upper: 0.5, max_velocity: 0.3, unit: m}
  roll: {lower: 2.6, upper: 3.7, max_velocity: 1.0}
  pitch: {lower: -0.5, upper: 0.5, max_velocity: 1.0}
  yaw: {lower: -3.0, upper: 3.0, max_velocity: 1.0}
  hand: {lower: 0.0, upper: 0.08, max_velocity: 0.2, unit: m, role: gripper}
actions:
  space: ee_delta
  rate_hz: 20
  scale: [0.01, 0.01, 0.01, 0.02, 0.02, 0.02, 0.01]
  offset: [0, 0, 0, 0, 0, 0, 0.04]
command: {topic: servo/twist, type: twist_stamped, frame_id: base_link, gripper_topic: hand/goal}
"""


class CartesianRobot:
    """One camera, a pose that points down and a gripper, all at 20 Hz."""

    def __init__(self, node):
        self._now = node.get_clock().now
        self._pose = node.create_publisher(PoseStamped, 'hand/pose', 1)
        self._joints = node.create_publisher(JointState, 'hand/joint_states', 1)
        self._camera = node.create_publisher(Image, 'scene/image', 1)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self):
        """Publish no more."""
        self._stopping.set()
        self._thread.join(timeout=5)

    def _run(self):
        rng = np.random.default_rng(0)
        while not self._stopping.is_set():
            stamp = self._now().to_msg()
            pose = PoseStamped()
            pose.pose.position.x, pose.pose.position.z = 0.4, 0.3
            pose.pose.orientation.x, pose.pose.orientation.w = 1.0, 0.0     # roll pi
            hand = JointState(name=['hand'], position=[0.04])
            picture = Image(encoding='rgb8', width=32, height=32, step=96)
            picture.data = array('B', rng.bytes(32 * 32 * 3))
            for message, publisher in ((pose, self._pose), (hand, self._joints),
                                       (picture, self._camera)):
                message.header.stamp = stamp
                publisher.publish(message)
            time.sleep(0.05)


@pytest.fixture
def cartesian_robot(make_node):
    robot = CartesianRobot(make_node('cartesian_robot'))
    yield robot
    robot.stop()


def numbers(twist) -> np.ndarray:
    linear, angular = twist.twist.linear, twist.twist.angular
    return np.array([linear.x, linear.y, linear.z, angular.x, angular.y, angular.z])


@pytest.mark.timeout(400)
def test_twists_within_limits_and_zero_at_the_end(cartesian_robot, make_node, tmp_path):
    (tmp_path / 'cartesian.yaml').write_text(PROFILE)
    listener = Listener(make_node('servo'))
    listener.listen(TwistStamped, 'servo/twist', QoSProfile(depth=100))
    listener.listen(Float64MultiArray, 'hand/goal', QoSProfile(depth=100))
    node = NodeProcess(tmp_path / 'node', parameters={
        'robot': str(tmp_path / 'cartesian.yaml'), 'autostart': True, 'tasks_file': 'none'},
        ros_arguments=['-r', '__node:=cartesian'])
    try:
        node.wait_for_log('active: 50 commands per second', timeout_s=240)
        moving = wait_until(lambda: [twist for twist in list(listener.messages['servo/twist'])
                                     if np.abs(numbers(twist)).max() > 1e-4][5:], timeout_s=60)
        node.signal(signal.SIGINT)
        assert node.wait(timeout_s=30) == 0
    finally:
        node.kill()
    assert moving[0].header.frame_id == 'base_link'
    twists = np.array([numbers(twist) for twist in listener.messages['servo/twist']])
    assert np.abs(twists[:, :3]).max() <= 0.3 + 1e-6
    # Each angle keeps its limit of 1 rad/s, so all together turn no faster than this.
    assert np.linalg.norm(twists[:, 3:], axis=1).max() <= 3 ** 0.5 * 1.3
    np.testing.assert_array_equal(twists[-1], np.zeros(6))
    hand = [message.data[0] for message in listener.messages['hand/goal']]
    assert 0 <= min(hand) and max(hand) <= 0.08
