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

"""The command topics, from messages made once: a tick only fills in numbers."""

from array import array
from collections.abc import Sequence

from geometry_msgs.msg import PoseStamped
from geometry_msgs.msg import TwistStamped
import numpy as np
from numpy.typing import NDArray
from rclpy.duration import Duration
from rclpy.qos_overriding_options import QoSOverridingOptions
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_msgs.msg import MultiArrayDimension
from trajectory_msgs.msg import JointTrajectory
from trajectory_msgs.msg import JointTrajectoryPoint

from oxygen_ros.config import RobotProfile
from oxygen_ros.config.robot import POSE_AXES
from oxygen_ros.ros import qos
from oxygen_ros.ros.faults import Faults
from oxygen_ros.rotations import matrix_from_rpy
from oxygen_ros.rotations import quaternion_from_matrix


class JointTrajectoryForm:
    """
    One point, one control period ahead, for a joint_trajectory_controller.

    The stamp stays zero, which means "from now on": a stamped trajectory that arrives after its
    end is refused by the controller.
    """

    def __init__(self, robot: RobotProfile, names: Sequence[str]):
        point = JointTrajectoryPoint()
        period_ns = round(1e9 / robot.control_rate_hz)
        point.time_from_start.sec, point.time_from_start.nanosec = divmod(period_ns, 10 ** 9)
        self._point = point
        self.message = JointTrajectory(joint_names=list(names), points=[point])

    def fill(self, values: NDArray[np.float64], now_ns: int) -> None:
        """Put the positions in."""
        self._point.positions = _numbers(values)


class MultiArrayForm:
    """Bare numbers in profile order, positions or velocities, for a forward_command_controller."""

    def __init__(self, robot: RobotProfile, names: Sequence[str]):
        self.message = Float64MultiArray()
        self.message.layout.dim = [
            MultiArrayDimension(label=','.join(names), size=len(names), stride=len(names))]

    def fill(self, values: NDArray[np.float64], now_ns: int) -> None:
        """Put the numbers in."""
        self.message.data = _numbers(values)


class JointStateForm:
    """Named and stamped positions, for drivers that take a JointState."""

    def __init__(self, robot: RobotProfile, names: Sequence[str]):
        self.message = JointState(name=list(names))

    def fill(self, values: NDArray[np.float64], now_ns: int) -> None:
        """Put the positions and the time in."""
        self.message.position = _numbers(values)
        _stamp(self.message.header, now_ns)


class PoseForm:
    """The pose of the tool, for a Cartesian controller or MoveIt Servo's pose tracking."""

    def __init__(self, robot: RobotProfile, names: Sequence[str]):
        self._axes = [names.index(axis) for axis in POSE_AXES]
        self.message = PoseStamped()
        self.message.header.frame_id = robot.command_frame

    def fill(self, values: NDArray[np.float64], now_ns: int) -> None:
        """Put the pose and the time in."""
        axes = values[self._axes]
        place, turn = self.message.pose.position, self.message.pose.orientation
        place.x, place.y, place.z = axes[:3].tolist()
        turn.x, turn.y, turn.z, turn.w = quaternion_from_matrix(
            matrix_from_rpy(axes[3:])).tolist()
        _stamp(self.message.header, now_ns)


class TwistForm:
    """Velocity of the tool along and about the axes of the frame, as MoveIt Servo takes it."""

    def __init__(self, robot: RobotProfile, names: Sequence[str]):
        self._axes = [names.index(axis) for axis in POSE_AXES]
        self.message = TwistStamped()
        self.message.header.frame_id = robot.command_frame

    def fill(self, values: NDArray[np.float64], now_ns: int) -> None:
        """Put the velocities and the time in."""
        axes = values[self._axes].tolist()
        linear, angular = self.message.twist.linear, self.message.twist.angular
        linear.x, linear.y, linear.z = axes[:3]
        angular.x, angular.y, angular.z = axes[3:]
        _stamp(self.message.header, now_ns)


FORMS = {'joint_trajectory': JointTrajectoryForm, 'float64_multi_array': MultiArrayForm,
         'joint_state': JointStateForm, 'velocity_multi_array': MultiArrayForm,
         'pose_stamped': PoseForm, 'twist_stamped': TwistForm}


class Outlet:
    """One topic and the joints that go there."""

    def __init__(self, node, robot: RobotProfile, kind: str, topic: str,
                 joints: Sequence[int], *, faults: Faults):
        self._joints = list(joints)
        self._form = FORMS[kind](robot, [robot.joint_names[i] for i in joints])
        self.topic = node.resolve_topic_name(topic)
        self._publisher = node.create_publisher(
            type(self._form.message), topic, qos.command(robot.control_rate_hz),
            event_callbacks=qos.publisher_events(self.topic, faults),
            qos_overriding_options=QoSOverridingOptions.with_default_policies())

    def publish(self, command: NDArray[np.float64], now_ns: int) -> None:
        """Send this topic's part of a command."""
        self._form.fill(command[self._joints], now_ns)
        self._publisher.publish(self._form.message)

    def wait_until_received(self, timeout_s: float) -> None:
        """Wait until every subscriber has acknowledged, or for timeout_s."""
        self._publisher.wait_for_all_acked(Duration(seconds=timeout_s))


class CommandPublisher:
    """
    Publishes commands in the form the robot wants, grippers apart where it has a topic for them.

    `publish` belongs to one thread at a time: the tick thread, then whoever stopped it.
    """

    def __init__(self, node, robot: RobotProfile, *, faults: Faults):
        self._clock = node.get_clock()
        apart = robot.grippers if robot.gripper_topic else ()
        arm = [i for i in range(len(robot.joints)) if i not in apart]
        self._outlets = [Outlet(node, robot, robot.command_type, robot.command_topic, arm,
                                faults=faults)]
        if apart:
            self._outlets.append(Outlet(node, robot, robot.gripper_type, robot.gripper_topic,
                                        apart, faults=faults))
        self.topic = self._outlets[0].topic
        self.num_published = 0

    def publish(self, command: NDArray[np.float64]) -> None:
        """Send one command, robot units, profile order."""
        now_ns = self._clock.now().nanoseconds
        for outlet in self._outlets:
            outlet.publish(command, now_ns)
        self.num_published += 1

    def wait_until_received(self, timeout_s: float) -> None:
        """Wait until every subscriber has acknowledged, or for timeout_s per topic."""
        for outlet in self._outlets:
            outlet.wait_until_received(timeout_s)


def _numbers(values: NDArray[np.float64]) -> array:
    # An array.array is taken as it is; a list or a numpy array is checked item by item.
    return array('d', values.tobytes())


def _stamp(header, now_ns: int) -> None:
    header.stamp.sec, header.stamp.nanosec = divmod(now_ns, 10 ** 9)
