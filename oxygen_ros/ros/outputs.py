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

"""The command topic, from messages made once: a tick only fills in numbers."""

from array import array

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
from oxygen_ros.ros import qos
from oxygen_ros.ros.faults import Faults


class JointTrajectoryForm:
    """
    One point, one control period ahead, for a joint_trajectory_controller.

    The stamp stays zero, which means "from now on": a stamped trajectory that arrives after its
    end is refused by the controller.
    """

    def __init__(self, robot: RobotProfile):
        point = JointTrajectoryPoint()
        period_ns = round(1e9 / robot.control_rate_hz)
        point.time_from_start.sec, point.time_from_start.nanosec = divmod(period_ns, 10 ** 9)
        self._point = point
        self.message = JointTrajectory(joint_names=list(robot.joint_names), points=[point])

    def fill(self, values: array, now_ns: int) -> None:
        """Put the positions in."""
        self._point.positions = values


class MultiArrayForm:
    """Bare numbers in profile order, for a forward_command_controller."""

    def __init__(self, robot: RobotProfile):
        count = len(robot.joints)
        self.message = Float64MultiArray()
        self.message.layout.dim = [
            MultiArrayDimension(label=','.join(robot.joint_names), size=count, stride=count)]

    def fill(self, values: array, now_ns: int) -> None:
        """Put the positions in."""
        self.message.data = values


class JointStateForm:
    """Named and stamped positions, for drivers that take a JointState."""

    def __init__(self, robot: RobotProfile):
        self.message = JointState(name=list(robot.joint_names))

    def fill(self, values: array, now_ns: int) -> None:
        """Put the positions and the time in."""
        self.message.position = values
        stamp = self.message.header.stamp
        stamp.sec, stamp.nanosec = divmod(now_ns, 10 ** 9)


FORMS = {'joint_trajectory': JointTrajectoryForm, 'float64_multi_array': MultiArrayForm,
         'joint_state': JointStateForm}


class CommandPublisher:
    """
    Publishes joint commands in the form the robot wants.

    `publish` belongs to one thread at a time: the tick thread, then whoever stopped it.
    """

    def __init__(self, node, robot: RobotProfile, *, faults: Faults):
        self._clock = node.get_clock()
        self._form = FORMS[robot.command_type](robot)
        topic = node.resolve_topic_name(robot.command_topic)
        self._publisher = node.create_publisher(
            type(self._form.message), robot.command_topic, qos.command(robot.control_rate_hz),
            event_callbacks=qos.publisher_events(topic, faults),
            qos_overriding_options=QoSOverridingOptions.with_default_policies())
        self.topic = topic
        self.num_published = 0

    def publish(self, command: NDArray[np.float64]) -> None:
        """Send one command, robot units, profile order."""
        # An array.array is taken as it is; a list or a numpy array is checked item by item.
        self._form.fill(array('d', command.tobytes()), self._clock.now().nanoseconds)
        self._publisher.publish(self._form.message)
        self.num_published += 1

    def wait_until_received(self, timeout_s: float) -> None:
        """Wait until every subscriber has acknowledged, or for timeout_s."""
        self._publisher.wait_for_all_acked(Duration(seconds=timeout_s))
