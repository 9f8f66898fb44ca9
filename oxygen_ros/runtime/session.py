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

"""The session: the one object that node, bag tool, simulator and benchmark drive."""

import logging
from pathlib import Path
import threading
from typing import Callable
from typing import Mapping
from typing import Sequence

import numpy as np
from numpy.typing import ArrayLike
from numpy.typing import NDArray

from oxygen_ros.clock import Clock
from oxygen_ros.clock import SteadyClock
from oxygen_ros.config import ConfigError
from oxygen_ros.config import ControlConfig
from oxygen_ros.config import EngineConfig
from oxygen_ros.config import RobotProfile
from oxygen_ros.config import StandingTask
from oxygen_ros.config.tasks import check_tasks
from oxygen_ros.policy.controller import Controller
from oxygen_ros.runtime.checks import check_observation
from oxygen_ros.runtime.checks import why_not_active
from oxygen_ros.runtime.feed import Feed
from oxygen_ros.runtime.host import EngineHost
from oxygen_ros.runtime.hosts import check_host
from oxygen_ros.runtime.hosts import make_host
from oxygen_ros.runtime.memory import MAX_FACTS
from oxygen_ros.runtime.memory import MemoryStore
from oxygen_ros.runtime.memory_file import StoreError
from oxygen_ros.runtime.outputs import Listener
from oxygen_ros.runtime.outputs import Outputs
from oxygen_ros.runtime.protocol import EngineState
from oxygen_ros.runtime.protocol import Supervision
from oxygen_ros.runtime.questions import Questions
from oxygen_ros.runtime.status import SessionStatus
from oxygen_ros.runtime.swap import exchange
from oxygen_ros.runtime.swap import SwapError
from oxygen_ros.runtime.tick_log import TickLog
from oxygen_ros.types import Cause
from oxygen_ros.types import LanguageRequest
from oxygen_ros.types import MemoryFact
from oxygen_ros.types import Observation
from oxygen_ros.types import TickResult
from oxygen_ros.types import Verdict

logger = logging.getLogger(__name__)

CLOCK_JUMP_NS = 100_000_000   # a node clock or stamp this far back is a jump, not jitter


class SessionError(RuntimeError):
    """The session cannot do what was asked; the message says why and what to do."""


class Session:
    """
    One robot, one engine, one memory.

    Life: configure() -> activate() -> deactivate() -> ... -> close(); configure() works again
    after close(). All methods may be called from any thread. observe(), seen(), measured(),
    tick(), submit(), cancel(), stop(), snapshot() never wait for the engine; configure() and
    close() block. Times in ns are on the node clock (`node_clock_ns`, 0 = no clock yet) unless
    they are durations.
    """

    def __init__(self, robot: RobotProfile, control: ControlConfig, engine: EngineConfig,
                 tasks: Sequence[StandingTask] = (), *, listener: Listener | None = None,
                 clock: Clock | None = None, node_clock_ns: Callable[[], int],
                 memory_path: Path | str | None = None, max_facts: int = MAX_FACTS,
                 trace_path: Path | str | None = None, host: str = 'process',
                 supervision: Supervision | None = None):
        """
        Prepare a session; nothing is loaded yet. Raises ConfigError for a wrong host or task.

        host: 'process' (engine in a child process), 'inline' (in this process, each observe()
        runs the whole cycle before it returns) or 'lockstep' (in this process, works only inside
        run_until(), for simulation and replay; clock: a SteppedClock, also as node_clock_ns).
        memory_path: SQLite file for max_facts; None keeps them only as long as the session.
        trace_path: CSV file with a line per tick (policy.trace); None: none.
        """
        self._clock = clock or SteadyClock()
        check_host(host, self._clock)
        self.robot = robot
        self.control = control
        self.engine = engine
        self.active = False
        check_tasks(tasks, max_text_tokens=engine.max_text_tokens)
        self.tasks = tuple(tasks)
        self._node_clock_ns = node_clock_ns
        self._memory_path, self._max_facts = memory_path, max_facts
        self._host_kind = host
        self._supervision = supervision or Supervision()
        self._lock = threading.RLock()     # of everything below; the tick does not take it
        self.instruction = robot.instruction
        self._epoch = 0                    # counts whatever makes older chunks void
        self._frame_id = 0
        self._last_stamp_ns = 0
        self._realtime = False
        # None only where the profile lacks limits: then activate() refuses.
        self._controller = None if robot.missing_limits else Controller(robot, control)
        self._ticks = TickLog(trace_path, robot.joint_names)
        self._commanded_frame_id = 0
        self._memory: MemoryStore | None = None
        self._host: EngineHost | None = None
        self._outputs = Outputs(listener or Listener(), self._controller, node_clock_ns)
        self.subtasks, self.destinations = self._outputs.subtasks, self._outputs.destinations
        self.questions = Questions(max_text_tokens=engine.max_text_tokens)
        self._feed = Feed(self._outputs)

    def configure(self) -> None:
        """
        Load the checkpoint, warm up and open the memory; blocks until ready (seconds).

        close() from another thread ends the wait. Raises SessionError with the remedy.
        """
        with self._lock:
            if self._host is not None:
                raise SessionError('the session is configured already; close it first')
            try:
                self._memory = MemoryStore(
                    self._memory_path, on_fact=self._outputs.fact, on_error=self._outputs.lost,
                    max_facts=self._max_facts, own_thread=self._host_kind == 'process')
                self._ticks.open()
            except (StoreError, ConfigError) as error:
                self.close()
                raise SessionError(str(error)) from error
            self._outputs.begin(self._memory, own_thread=self._host_kind == 'process')
            host = self._host = make_host(self._host_kind, self.robot, self.engine, self._outputs,
                                          clock=self._clock, supervision=self._supervision)
        try:
            host.start()
            status = host.wait_ready()
        except ConfigError as error:
            self.close()
            raise SessionError(str(error)) from error
        if status.state is not EngineState.READY:
            self.close()
            raise SessionError(status.detail or 'closed while the engine was starting')

    def activate(self) -> None:
        """
        Allow the robot to move; standing tasks start.

        The first command waits for a chunk of an observation taken after this call. Raises
        SessionError if not configured, or if the profile lacks a limit (the message names it).
        """
        with self._lock:
            reason = why_not_active(self.robot, self._host and self._host.status)
            if reason:
                raise SessionError(reason)
            self._forget()
            self._controller.activate()
            self._start_tasks()
            self._outputs.metrics.set_active(True)
            self.active = True

    def deactivate(self) -> None:
        """
        Stop moving: ticks answer STOPPED, every open text ends with CANCELLED.

        The caller publishes final_command() as the last message.
        """
        with self._lock:
            was_active, self.active = self.active, False
            self._outputs.metrics.set_active(False)
            if self._controller is not None:
                self._controller.deactivate()
            if was_active and self._host is not None:
                self._host.set_tasks(())
                self._forget()

    def reset(self, reason: str) -> None:
        """
        Forget every frame, chunk and text, as after a clock jump or between episodes.

        The next command comes from an observation taken after this call. Memory stays.
        """
        with self._lock:
            logger.info('reset: %s', reason)
            self._forget()

    def close(self) -> None:
        """End everything within 5 s, also with a frozen engine; may be called twice."""
        self.deactivate()
        host, memory = self._host, self._memory
        if host is not None:
            host.close()
        if memory is not None:
            memory.close()
        self._outputs.end()
        self._ticks.close()
        with self._lock:
            if self._host is host:
                self._host = self._memory = None

    def final_command(self) -> NDArray[np.float64] | None:
        """Return the command to send last on deactivate and shutdown, robot units; None: none."""
        return None if self._controller is None else self._controller.final_command()

    def seen(self, source: str, stamp_ns: int) -> None:
        """Note a picture of a camera slot with its sensor stamp, 0 where the sensor has none."""
        if self._controller is not None:
            self._controller.seen(source, stamp_ns, self._node_clock_ns())

    def measured(self, positions: ArrayLike, stamp_ns: int) -> None:
        """Note the measured joint positions, robot units, profile order (needed to hold)."""
        if self._controller is not None:
            self._controller.measured(positions, stamp_ns, self._node_clock_ns())

    def observe(self, images: Mapping[str, NDArray[np.uint8]], state: ArrayLike,
                stamp_ns: int) -> int:
        """
        Hand over the newest observation; replaces one the engine has not taken yet.

        images: camera slot -> [H, W, 3] RGB uint8, any size, copied before the return.
        state: [num_joints] robot units, profile order. stamp_ns: oldest sensor stamp inside.
        Returns its frame id, 0 when it was ignored (not active, or no clock yet).
        """
        state = np.ascontiguousarray(state, np.float32)
        check_observation(images, state, self.robot)
        with self._lock:
            if not self.active or self._node_clock_ns() <= 0:
                return 0
            if stamp_ns < self._last_stamp_ns - CLOCK_JUMP_NS:
                back_s = (self._last_stamp_ns - stamp_ns) / 1e9
                self.reset(f'observation stamped {back_s:.3f} s before the one before it')
            self._last_stamp_ns = stamp_ns
            self._frame_id += 1
            observation = Observation(self._frame_id, stamp_ns, dict(images), state,
                                      self.instruction, self._epoch,
                                      *self._outputs.plan_in_force(self.control, self.robot),
                                      self.subtasks.current.text)
            return self._frame_id if self._feed.give(self._host, observation) else 0

    def run_until(self, time_ns: int) -> None:
        """
        Let time pass on the clock of a lockstep session; what is done by then has arrived.

        Work due at time_ns is begun by a second call for it, so that it sees what comes between.
        """
        with self._lock:
            if self._host is None or self._host_kind != 'lockstep':
                raise SessionError("time can be stepped in a configured 'lockstep' session only")
            self._host.run_until(time_ns)

    def set_instruction(self, text: str) -> None:
        """Change what the robot shall do, from the next observation on; older chunks are void."""
        with self._lock:
            if text == self.instruction:
                return
            self.instruction = text
            self._void_chunks()
            self.subtasks.forget(self._frame_id + 1)

    def change(self, control: ControlConfig, *, replan_hz: float) -> None:
        """Behave differently from now on, also in motion; the real-time priority stays."""
        with self._lock:
            self.control = control
            if self._controller is not None:
                self._controller.change(control)
            if self._host is not None:
                self._host.set_replan_rate(replan_hz)

    def load_checkpoint(self, checkpoint: str, **options) -> str:
        """Have runtime.swap run another checkpoint; blocks, control goes on. Returns its words."""
        try:
            done, self.engine = exchange(self._host, checkpoint, verify=self.active, **options)
            return done
        except (ConfigError, SwapError) as error:
            raise SessionError(f'{checkpoint} was not loaded: {error}') from error

    def set_tasks(self, tasks: Sequence[StandingTask]) -> None:
        """Replace the standing tasks; running texts of removed ones end with CANCELLED."""
        check_tasks(tasks, max_text_tokens=self.engine.max_text_tokens)
        with self._lock:
            self.tasks = tuple(tasks)
            if self.active:
                self._start_tasks()

    def ask(self, question: str, *, use_memory: bool = False, **options) -> str:
        """
        Ask about the next frame; returns the request id that its deltas carry.

        options: those of Questions.request; give a request_id to know it before the first delta
        can come. use_memory: facts about it go into the prompt. SessionError when not active.
        """
        request = self.questions.request(question, self._memory if use_memory else None, **options)
        self.submit(request)
        return request.request_id

    def submit(self, request: LanguageRequest) -> None:
        """
        Write a text about the next frame.

        Always ends with exactly one final delta; a request that cannot run ends with REFUSED.
        Raises SessionError when not active or the id is already running.
        """
        with self._lock:
            if not self.active:
                raise SessionError('the robot is not active; activate it first, texts are about '
                                   'what it sees')
            try:
                self._host.submit(request)
            except ValueError as error:
                raise SessionError(f'{error}; give another id') from error

    def cancel(self, request_id: str) -> None:
        """End a text with CANCELLED within one decode step; unknown ids are ignored."""
        with self._lock:
            if self._host is not None:
                self._host.cancel(request_id)

    def recall(self, **filters) -> list[MemoryFact]:
        """Look facts up, newest first (MemoryStore.recall); empty filters match everything."""
        memory = self._memory
        if memory is None:
            raise SessionError('the memory is not open; configure the session first')
        return memory.recall(**filters)

    def stop(self, reason: str = 'operator') -> None:
        """Latch the stop: ticks answer STOPPED until resume()."""
        if self._controller is not None:
            self._controller.stop(reason)

    def resume(self) -> None:
        """Release the latched stop; the next command comes from a newer observation."""
        with self._lock:
            self._void_chunks()
            if self._controller is not None:
                self._controller.resume()

    def tick(self, index: int, lateness_ns: int) -> TickResult:
        """
        Return what to publish at this grid point; called by the tick thread only.

        index: grid index since activation, lateness_ns: wake-up after the grid time.
        """
        if self._controller is None:
            return TickResult(index, None, Verdict.STOPPED, Cause.INACTIVE, 0, lateness_ns)
        result = self._controller.tick(now_ns := self._node_clock_ns(), index, lateness_ns)
        self._ticks.record(result)
        frame_id, stamp_ns = self._outputs.newest_chunk
        if result.frame_id == frame_id != self._commanded_frame_id:
            self._commanded_frame_id = frame_id
            self._outputs.metrics.first_command(stamp_ns, now_ns)
        return result

    def note_realtime(self, granted: bool) -> None:
        """Record for the status whether the tick thread got real-time priority."""
        self._realtime = granted

    def snapshot(self) -> SessionStatus:
        """Return all figures: .deadline (Deadline.msg), .engine (EngineStatus.msg)."""
        ticks, metrics = self._ticks.snapshot(), self._outputs.metrics
        figures = metrics.figures(self._outputs.status)
        cause_detail = ''
        if ticks.last is not None and self._controller is not None:
            cause_detail = self._controller.describe(ticks.last.cause, self._node_clock_ns())
        return SessionStatus.of(
            ticks, figures, rate_hz=self.robot.control_rate_hz, realtime=self._realtime,
            active=self.active, epoch=self._epoch, instruction=self.instruction,
            cause_detail=cause_detail, seconds=metrics.seconds())

    def summary(self) -> dict:
        """Return the JSON of a run, also after close()."""
        return self.snapshot().summary()

    def _start_tasks(self) -> None:
        self._outputs.set_tasks(self.tasks)
        self._host.set_tasks(self.tasks)

    def _forget(self) -> None:
        """Make every frame, chunk and text so far void."""
        self._last_stamp_ns = 0
        self._void_chunks()
        self.subtasks.forget(self._frame_id + 1)
        if self._host is not None:
            self._host.reset(self._epoch)

    def _void_chunks(self) -> None:
        self._epoch += 1
        self._outputs.epoch = self._epoch
        if self._controller is not None:
            self._controller.invalidate(self._epoch)
