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

"""The command message in each form a robot may want, as an independent subscriber gets it."""

from dataclasses import replace

from geometry_msgs.msg import PoseStamped
from geometry_msgs.msg import TwistStamped
import numpy as np
import pytest
from rclpy.qos import QoSProfile
from ros_helpers import JOINTS
from ros_helpers import Listener
from ros_helpers import wait_until
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory

from oxygen_ros.config import Camera
from oxygen_ros.config import Joint
from oxygen_ros.config import RobotProfile
from oxygen_ros.ros.faults import Faults
from oxygen_ros.ros.outputs import CommandPublisher
from oxygen_ros.rotations import matrix_from_quaternion

COMMAND = np.array([0.25, -0.5, 1.0])


@pytest.fixture
def send(make_node, bench_robot, request):
    """Publish a command in one form and return what a subscriber of its own node got."""
    def publish(form: str, kind):
        robot = replace(bench_robot, command_type=form, command_topic=f'{form}_command')
        node = make_node(f'sender_{form}')
        publisher = CommandPublisher(node, robot, faults=Faults(node.get_logger()))
        listener = Listener(make_node(f'receiver_{form}'))
        listener.listen(kind, f'{form}_command', QoSProfile(depth=10))
        wait_until(lambda: node.count_subscribers(f'{form}_command'))
        before_ns = node.get_clock().now().nanoseconds

        def arrived():
            publisher.publish(COMMAND)
            publisher.wait_until_received(0.2)
            return listener.last(f'{form}_command')
        return wait_until(arrived), before_ns
    return publish


def test_a_trajectory_has_names_one_rising_time_and_no_stamp(send):
    message, _ = send('joint_trajectory', JointTrajectory)
    assert list(message.joint_names) == list(JOINTS)
    assert list(message.points[0].positions) == COMMAND.tolist()
    assert message.points[0].time_from_start.nanosec == 20_000_000
    assert message.header.stamp.sec == 0


def test_a_multi_array_has_the_numbers_in_profile_order_and_says_which(send):
    message, _ = send('float64_multi_array', Float64MultiArray)
    assert list(message.data) == COMMAND.tolist()
    assert message.layout.dim[0].label == 'arm,elbow,gripper'


def test_a_joint_state_has_names_and_the_time(send):
    message, before_ns = send('joint_state', JointState)
    assert list(message.name) == list(JOINTS)
    assert list(message.position) == COMMAND.tolist()
    stamp_ns = message.header.stamp.sec * 10 ** 9 + message.header.stamp.nanosec
    assert before_ns <= stamp_ns < before_ns + 30 * 10 ** 9


@pytest.fixture
def send_cartesian(make_node):
    """Publish a command of a Cartesian robot; return what subscribers of both topics got."""
    def publish(form: str, kind, values):
        axes = [Joint(axis, lower=-1, upper=1, max_velocity=1, unit='m') for axis in 'xyz']
        angles = [Joint(axis, lower=-4, upper=4, max_velocity=1)
                  for axis in ('roll', 'pitch', 'yaw')]
        robot = RobotProfile(
            'cartesian', (Camera('front', 'front/image'),),
            (Joint('grip', lower=0, upper=1, max_velocity=1, role='gripper'), *axes, *angles),
            command_type=form, command_topic=f'{form}_target', command_frame='base_link',
            gripper_topic=f'{form}_grip')
        node = make_node(f'sender_{form}')
        publisher = CommandPublisher(node, robot, faults=Faults(node.get_logger()))
        listener = Listener(make_node(f'receiver_{form}'))
        for topic, message in ((f'{form}_target', kind), (f'{form}_grip', Float64MultiArray)):
            listener.listen(message, topic, QoSProfile(depth=10))
            wait_until(lambda topic=topic: node.count_subscribers(topic))

        def arrived():
            publisher.publish(np.array(values))
            publisher.wait_until_received(0.2)
            both = listener.last(f'{form}_target'), listener.last(f'{form}_grip')
            return both if None not in both else None
        return wait_until(arrived)
    return publish


def test_a_pose_has_frame_time_and_unit_quaternion_and_the_gripper_goes_apart(send_cartesian):
    pose, grip = send_cartesian(
        'pose_stamped', PoseStamped, [0.7, 0.1, 0.2, 0.3, np.pi, 0.0, 2 * np.pi + np.pi / 2])
    assert pose.header.frame_id == 'base_link' and pose.header.stamp.sec > 0
    assert [pose.pose.position.x, pose.pose.position.y, pose.pose.position.z] == [0.1, 0.2, 0.3]
    turn = pose.pose.orientation
    matrix = matrix_from_quaternion(np.array([turn.x, turn.y, turn.z, turn.w]))
    np.testing.assert_allclose(matrix @ [0, 0, 1], [0, 0, -1], atol=1e-9)    # points down
    np.testing.assert_allclose(matrix @ [1, 0, 0], [0, 1, 0], atol=1e-9)     # turned left
    assert list(grip.data) == [0.7]


def test_a_twist_has_velocities_along_and_about_the_axes(send_cartesian):
    twist, grip = send_cartesian('twist_stamped', TwistStamped, [0.7, 1, 2, 3, 4, 5, 6])
    linear, angular = twist.twist.linear, twist.twist.angular
    assert [linear.x, linear.y, linear.z, angular.x, angular.y, angular.z] == [1, 2, 3, 4, 5, 6]
    assert twist.header.frame_id == 'base_link' and twist.header.stamp.sec > 0
    assert list(grip.data) == [0.7]
