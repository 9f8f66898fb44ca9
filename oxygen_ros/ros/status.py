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
from diagnostic_msgs.msg import DiagnosticStatus
from diagnostic_msgs.msg import KeyValue
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.clock import Clock
from rclpy.clock import ClockType

from oxygen_ros.config import RobotProfile
from oxygen_ros.msg import Deadline
from oxygen_ros.msg import EngineStatus
from oxygen_ros.ros import qos
from oxygen_ros.ros.faults import Faults
from oxygen_ros.ros.inputs import Inputs

PERIOD_S = 1.0
OK, WARN, ERROR = DiagnosticStatus.OK, DiagnosticStatus.WARN, DiagnosticStatus.ERROR


class StatusPublisher:
    """Publishes the figures of the session on a timer of steady time, paused simulation or not."""

    def __init__(self, node, robot: RobotProfile, inputs: Inputs, *, faults: Faults,
                 state_name: Callable[[], str]):
        self._node = node
        self._robot = robot
        self._inputs = inputs
        self._faults = faults
        self._state_name = state_name
        self._session = None
        self._deadline = node.create_publisher(Deadline, '~/deadline', qos.status())
        self._engine = node.create_publisher(EngineStatus, '~/engine', qos.status())
        self._diagnostics = node.create_publisher(
            DiagnosticArray, '/diagnostics', qos.stream(depth=10))
        self._timer = node.create_timer(
            PERIOD_S, faults.guard('status timer', self.publish),
            callback_group=MutuallyExclusiveCallbackGroup(),
            clock=Clock(clock_type=ClockType.STEADY_TIME))

    def attach(self, session) -> None:
        """Report on this session from now on; None: only on the node."""
        self._session = session

    def publish(self) -> None:
        """Publish everything once."""
        session = self._session
        stamp = self._node.get_clock().now().to_msg()
        statuses = [self._node_status()]
        if session is not None:
            for name, complaint in self._inputs.silent():
                self._faults.warn(f'silent {name}', complaint)
            figures = session.snapshot()
            deadline = fill(Deadline(), figures.deadline)
            engine = fill(EngineStatus(), figures.engine)
            for message, publisher in ((deadline, self._deadline), (engine, self._engine)):
                message.header.stamp = stamp
                publisher.publish(message)
            statuses += [self._control_status(deadline, figures.cause_detail),
                         self._engine_status(engine)]
        statuses.append(self._input_status())
        array = DiagnosticArray(status=statuses)
        array.header.stamp = stamp
        self._diagnostics.publish(array)

    def _status(self, part: str, level: bytes, message: str, values: dict) -> DiagnosticStatus:
        return DiagnosticStatus(
            name=f'{self._node.get_fully_qualified_name()}: {part}', level=level,
            message=message, hardware_id=self._robot.name,
            values=[KeyValue(key=key, value=str(value)) for key, value in values.items()])

    def _node_status(self) -> DiagnosticStatus:
        faults = self._faults.recent()
        errors = [text for text, is_error in faults if is_error]
        level = ERROR if errors else WARN if faults else OK
        message = '; '.join(errors or [text for text, _ in faults]) or self._state_name()
        return self._status('node', level, message, {
            'state': self._state_name(), 'exceptions': self._faults.num_exceptions})

    def _control_status(self, deadline: Deadline, detail: str) -> DiagnosticStatus:
        level, message = OK, deadline.verdict or 'not ticking'
        if deadline.cause:
            level, message = WARN, f'{message}: {deadline.cause}'
            if detail:
                message = f'{message} ({detail})'
        return self._status('control', level, message, {
            'commands': deadline.commands, 'missed': deadline.missed,
            'fresh': deadline.fresh, 'carried': deadline.carried,
            'fallback': deadline.fallback, 'stopped': deadline.stopped,
            'lateness p99 [ms]': f'{deadline.lateness_p99 * 1e3:.3f}',
            'lateness max [ms]': f'{deadline.lateness_max * 1e3:.3f}',
            'real-time priority': deadline.realtime_priority})

    def _engine_status(self, engine: EngineStatus) -> DiagnosticStatus:
        ready = engine.state == EngineStatus.READY
        level = ERROR if engine.state == EngineStatus.FAILED else OK if ready else WARN
        if ready and not (engine.rates_met and engine.trained):
            level = WARN
        message = engine.detail or ('ready' if ready else 'not ready')
        if ready and not engine.trained:
            message = f'{message}; random weights, actions and words mean nothing'
        return self._status('engine', level, message, {
            'checkpoint': engine.checkpoint, 'process': engine.pid, 'restarts': engine.restarts,
            'replans per s': f'{engine.replan_rate:.1f}',
            'tokens per s': f'{engine.token_rate:.1f}', 'texts running': engine.texts_running,
            'kv pages': f'{engine.kv_pages_used} of {engine.kv_pages_total}'})

    def _input_status(self) -> DiagnosticStatus:
        values, complaints = {}, []
        for name, source in self._inputs.sources.items():
            if not source.last_s:
                values[name] = 'no data'
                if source.required:
                    complaints.append(f'{name}: no data')
                continue
            values[name] = f'{source.num_received} received, {source.num_refused} refused'
            for reason, count in source.reasons.most_common(3):
                values[f'{name}: {reason}'] = count
        return self._status('inputs', WARN if complaints else OK,
                            '; '.join(complaints) or 'all sources speak', values)


def fill(message, figures):
    """Copy every field of a dataclass into the message field of the same name; return message."""
    for field in dataclasses.fields(figures):
        setattr(message, field.name, getattr(figures, field.name))
    return message
