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
The lifecycle node `oxygen`: wires topics, session and control timer together.

configure = load and warm up, activate = allowed to move, deactivate = the fallback command is
the last one sent. The data path through this process is Inputs -> Session.observe and
_on_tick: Session.tick -> CommandPublisher.
"""

from collections.abc import Mapping
import threading
from types import MappingProxyType

from rclpy.clock import JumpThreshold
from rclpy.duration import Duration
from rclpy.lifecycle import LifecycleNode
from rclpy.lifecycle import TransitionCallbackReturn

from oxygen_ros.config import ConfigError
from oxygen_ros.config import ControlConfig
from oxygen_ros.config import EngineConfig
from oxygen_ros.policy import Ticker
from oxygen_ros.policy.priority import favour_threads
from oxygen_ros.ros.ask import AskServer
from oxygen_ros.ros.checkpoints import CheckpointService
from oxygen_ros.ros.faults import Faults
from oxygen_ros.ros.inputs import Inputs
from oxygen_ros.ros.lifecycle import harden
from oxygen_ros.ros.logs import send_logs_to
from oxygen_ros.ros.logs import stop_logs
from oxygen_ros.ros.outputs import CommandPublisher
from oxygen_ros.ros.parameters import NodeParameters
from oxygen_ros.ros.services import Services
from oxygen_ros.ros.status import StatusPublisher
from oxygen_ros.ros.streams import Streams
from oxygen_ros.runtime.session import Session
from oxygen_ros.runtime.session import SessionError
from oxygen_ros.sensing.convert import ImageDecoder

CLOCK_JUMP = Duration(nanoseconds=-100_000_000)   # smaller steps back are jitter
LAST_COMMAND_WAIT_S = 0.3                         # for subscribers to acknowledge it


class OxygenNode(LifecycleNode):
    """Runs one session for one robot. Raises ConfigError if its parameters cannot be used."""

    def __init__(self, *, overrides: Mapping[str, object] | None = None):
        """
        Declare parameters, subscribe and advertise; nothing is loaded yet.

        overrides: parameter values that win over those of the ROS arguments.
        """
        super().__init__('oxygen')
        self.faults = Faults(self.get_logger())
        self._log_handler = send_logs_to(self.get_logger())
        harden(self, faults=self.faults)
        given = {name: parameter.value for name, parameter in self._parameter_overrides.items()}
        given.update(overrides or {})
        self.parameters = NodeParameters(self, given)
        self._warn_about_parameters(given)
        robot = self.parameters.robot
        self._session: Session | None = None
        self._session_lock = threading.Lock()
        self._is_closing = False
        self._command = CommandPublisher(self, robot, faults=self.faults)
        self._ticker: Ticker | None = None
        self._streams = Streams(self, robot, faults=self.faults)
        self._inputs = Inputs(self, robot, faults=self.faults, decoder=self._make_decoder(),
                              on_instructed=self._streams.publish_instruction)
        self._ask = AskServer(self, faults=self.faults)
        self._streams.delta_listeners.append(self._ask.on_delta)
        self._verbs = Services(self, faults=self.faults, on_reset=self.reset)
        self._checkpoints = CheckpointService(self, faults=self.faults,
                                              on_loaded=self.parameters.remember)
        self._status = StatusPublisher(self, robot, self._inputs, faults=self.faults,
                                       state_name=lambda: self._state_machine.current_state[1])
        self._status.diagnostics.thresholds = self.parameters.thresholds()
        self.parameters.on_change(self._on_parameters, lambda: self._session is not None)
        self._jump_handle = self.get_clock().create_jump_callback(
            JumpThreshold(min_forward=None, min_backward=CLOCK_JUMP, on_clock_change=False),
            post_callback=self.faults.guard('clock jump', self._on_clock_jump))
        # Until something was configured: the figures of a run in which nothing happened.
        self._summary = Session(robot, ControlConfig(), EngineConfig(),
                                node_clock_ns=lambda: 0).summary()

    def on_configure(self, state) -> TransitionCallbackReturn:
        """Load the checkpoint and warm up."""
        try:
            settings = self.parameters.read()
            session = Session(
                settings.robot, settings.control, settings.engine, settings.tasks,
                listener=self._streams, memory_path=settings.memory_path,
                max_facts=settings.max_facts, trace_path=settings.trace_path,
                node_clock_ns=lambda: self.get_clock().now().nanoseconds)
            with self._session_lock:
                if self._is_closing:
                    return TransitionCallbackReturn.FAILURE
                self._session = session
            self._status.attach(session)      # says what a long load is at
            session.configure()
            self._set_words(session)
            self._streams.publish_tasks(session.tasks)
            self._streams.publish_instruction(session.instruction)
        except (ConfigError, SessionError) as error:
            if not self._is_closing:
                self.get_logger().error(f'cannot configure: {error}')
            self._close_session()
            return TransitionCallbackReturn.FAILURE
        except Exception as error:
            return self._failed('configure', error)
        self._attach(session)
        return TransitionCallbackReturn.SUCCESS

    def on_activate(self, state) -> TransitionCallbackReturn:
        """Let the robot move."""
        try:
            self._session.activate()
            self._inputs.clear()
            self._ticker = Ticker(
                self.parameters.robot.control_rate_hz, self._on_tick,
                realtime_priority=self._session.control.realtime_priority,
                on_error=lambda error: self.faults.record('control tick', error))
            self._ticker.start()
            self._session.note_realtime(self._ticker.is_realtime)
            if self._ticker.is_realtime:
                favour_threads()
        except (ConfigError, SessionError) as error:
            self.get_logger().error(f'cannot activate: {error}')
            return TransitionCallbackReturn.FAILURE
        except Exception as error:
            return self._failed('activate', error)
        self.get_logger().info(
            f'active: {self.parameters.robot.control_rate_hz:g} commands per second on '
            f'{self._command.topic}')
        self._warn_about_robot()
        return TransitionCallbackReturn.SUCCESS

    def on_deactivate(self, state) -> TransitionCallbackReturn:
        """Stop moving; the fallback command goes last."""
        try:
            self._halt()
        except Exception as error:
            return self._failed('deactivate', error)
        return TransitionCallbackReturn.SUCCESS

    def on_cleanup(self, state) -> TransitionCallbackReturn:
        """Unload everything."""
        self._close_session()
        return TransitionCallbackReturn.SUCCESS

    def on_shutdown(self, state) -> TransitionCallbackReturn:
        """Stop moving and unload everything."""
        self._halt()
        self._close_session()
        return TransitionCallbackReturn.SUCCESS

    def on_error(self, state) -> TransitionCallbackReturn:
        """Come back to unconfigured after a transition that failed half-way."""
        self._halt()
        self._close_session()
        return TransitionCallbackReturn.SUCCESS

    def reset(self, reason: str) -> None:
        """Forget frames, chunks and texts, as between episodes."""
        self._inputs.clear()
        if self._session is not None:
            self._session.reset(reason)

    def close(self) -> dict:
        """Stop, unload and leave the network; returns the figures of the run."""
        with self._session_lock:
            self._is_closing = True
        self._halt()
        self._close_session()
        stop_logs(self._log_handler)
        self._jump_handle.unregister()
        self._ask.destroy()
        self.destroy_node()
        return self._summary

    def _on_tick(self, index: int, lateness_ns: int) -> None:
        """Publish what is due at this grid point; runs in the tick thread."""
        result = self._session.tick(index, lateness_ns)
        if result.command is not None:
            self._command.publish(result.command)

    def _attach(self, session: Session | None) -> None:
        for part in (self._inputs, self._ask, self._verbs, self._checkpoints, self._status):
            part.attach(session)

    def _halt(self) -> None:
        """End the ticks, then send the fallback command as the last message."""
        ticker, self._ticker = self._ticker, None
        if ticker is None:
            return
        ticker.stop()
        self._session.deactivate()
        command = self._session.final_command()
        if command is not None:
            self._command.publish(command)
            self._command.wait_until_received(LAST_COMMAND_WAIT_S)

    def _close_session(self) -> None:
        with self._session_lock:
            session, self._session = self._session, None
        self._attach(None)
        if session is not None:
            session.close()
            self._streams.publish_tasks(())
            self._summary = session.summary()

    def _failed(self, what: str, error: Exception) -> TransitionCallbackReturn:
        """Report what rclpy would swallow; the node comes back to unconfigured."""
        self.faults.exception(what, error)
        return TransitionCallbackReturn.ERROR

    def _make_decoder(self) -> ImageDecoder:
        try:
            return ImageDecoder(self.parameters.get('image_decoder'))
        except ValueError as error:
            raise ConfigError(str(error)) from error

    def _on_parameters(self, changes: Mapping[str, object]) -> None:
        """Take over what may change in motion; all of it or, on ConfigError, nothing."""
        session, parameters = self._session, self.parameters
        tasks = parameters.tasks(changes) if changes.keys() & {'tasks_file', 'task_changes'} \
            else None
        self._status.diagnostics.thresholds = parameters.thresholds(changes)
        if session is None:
            return
        control, replan_hz = parameters.control(changes), parameters.get('replan_hz', changes)
        session.change(control, replan_hz=replan_hz)
        if tasks is not None:
            session.set_tasks(tasks)
            self._streams.publish_tasks(session.tasks)
        self._set_words(session, changes)
        if 'instruction' in changes:
            session.set_instruction(changes['instruction'] or parameters.robot.instruction)
            self._streams.publish_instruction(session.instruction)

    def _set_words(self, session: Session,
                   changes: Mapping[str, object] = MappingProxyType({})) -> None:
        """Take over what is about answers."""
        session.destinations.speak_answers = self.parameters.get('say_answers', changes)
        session.questions.memory_tokens = self.parameters.get('memory_tokens', changes)

    def _on_clock_jump(self, jump) -> None:
        self.get_logger().warning(
            f'the clock jumped back by {-jump.delta.nanoseconds / 1e9:.1f} s: starting afresh')
        self.reset('clock jumped back')

    def _warn_about_robot(self) -> None:
        if not self._session.snapshot().engine.trained:
            self.get_logger().warning('the weights are random: actions and words mean nothing, '
                                      'and the robot moves at random within its limits')
        if self.count_publishers(self._command.topic) > 1:
            self.get_logger().warning(
                f'{self._command.topic} has another publisher: two nodes command one robot; end '
                f'one of them, or give each its own namespace or ROS_DOMAIN_ID')

    def _warn_about_parameters(self, given: Mapping[str, object]) -> None:
        for name in self.parameters.unknown(given):
            self.get_logger().warning(
                f'parameter {name} is not known and has no effect; check the spelling, the known '
                f'ones are listed by: ros2 param list {self.get_fully_qualified_name()}')
