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

"""The once-a-second topics: ~/deadline, ~/engine, /diagnostics."""

from collections.abc import Callable
import dataclasses

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.clock import Clock
from rclpy.clock import ClockType

from oxygen_ros.config import RobotProfile
from oxygen_ros.msg import Deadline
from oxygen_ros.msg import EngineStatus
from oxygen_ros.ros import qos
from oxygen_ros.ros.diagnostics import Diagnostics
from oxygen_ros.ros.faults import Faults
from oxygen_ros.ros.inputs import Inputs

PERIOD_S = 1.0


class StatusPublisher:
    """Publishes the figures of the session on a timer of steady time, paused simulation or not."""

    def __init__(self, node, robot: RobotProfile, inputs: Inputs, *, faults: Faults,
                 state_name: Callable[[], str]):
        self._node = node
        self._inputs = inputs
        self._faults = faults
        self._state_name = state_name
        self._session = None
        self.diagnostics = Diagnostics(
            node.get_fully_qualified_name(), robot, inputs.sources, faults=faults)
        self._deadline = node.create_publisher(Deadline, '~/deadline', qos.status())
        self._engine = node.create_publisher(EngineStatus, '~/engine', qos.status())
        self._publisher = node.create_publisher(
            DiagnosticArray, '/diagnostics', qos.stream(depth=10))
        self._timer = node.create_timer(
            PERIOD_S, faults.guard('status timer', self.publish),
            clock=Clock(clock_type=ClockType.STEADY_TIME))

    def attach(self, session) -> None:
        """Report on this session from now on; None: only on the node."""
        self._session = session

    def publish(self) -> None:
        """Publish everything once."""
        session = self._session
        stamp = self._node.get_clock().now().to_msg()
        figures = None
        if session is not None:
            for name, complaint in self._inputs.silent():
                self._faults.warn(f'silent {name}', complaint)
            figures = session.snapshot()
            deadline = fill(Deadline(), figures.deadline)
            engine = fill(EngineStatus(), figures.engine)
            for message, publisher in ((deadline, self._deadline), (engine, self._engine)):
                message.header.stamp = stamp
                publisher.publish(message)
        array = DiagnosticArray(status=self.diagnostics.report(self._state_name(), figures))
        array.header.stamp = stamp
        self._publisher.publish(array)


def fill(message, figures):
    """Copy every field of a dataclass into the message field of the same name; return message."""
    for field in dataclasses.fields(figures):
        setattr(message, field.name, getattr(figures, field.name))
    return message
