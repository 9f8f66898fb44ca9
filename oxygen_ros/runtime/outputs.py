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

"""Where everything an engine sends goes: controller, memory, figures, then the listener."""

from collections.abc import Sequence
import logging
import time
from typing import Callable

from oxygen_ros.config import ControlConfig
from oxygen_ros.config import RobotProfile
from oxygen_ros.config import StandingTask
from oxygen_ros.policy.controller import Controller
from oxygen_ros.runtime.delay import DelayMeter
from oxygen_ros.runtime.destinations import Destinations
from oxygen_ros.runtime.memory import MemoryStore
from oxygen_ros.runtime.metrics import Metrics
from oxygen_ros.runtime.playout import Playout
from oxygen_ros.runtime.protocol import EngineState
from oxygen_ros.runtime.protocol import EngineStatus
from oxygen_ros.runtime.subtask import SubtaskControl
from oxygen_ros.runtime.teller import Teller
from oxygen_ros.types import ActionChunk
from oxygen_ros.types import Cause
from oxygen_ros.types import CycleReport
from oxygen_ros.types import MemoryFact
from oxygen_ros.types import Sentence
from oxygen_ros.types import Subtask
from oxygen_ros.types import TokenDelta

logger = logging.getLogger(__name__)

_TROUBLES = {
    EngineState.HUNG: Cause.ENGINE_HUNG,
    EngineState.RESTARTING: Cause.ENGINE_DEAD,
    EngineState.FAILED: Cause.ENGINE_DEAD,
    EngineState.STOPPED: Cause.ENGINE_DEAD,
}


class Listener:
    """
    Receives what a session produces; override what is of interest.

    Called from a thread of its own, one call at a time in the order of events; only the pieces of
    a text with a target rate come later, in their rhythm. A call that takes its time delays the
    calls after it, never the robot. An exception is logged and counted. An inline session calls
    from the thread that drives it instead, at once.
    """

    def on_chunk(self, chunk: ActionChunk) -> None:
        """Take a chunk that has just gone to the controller."""

    def on_delta(self, delta: TokenDelta) -> None:
        """Take a piece of text; exactly one final piece per request, whatever happens."""

    def on_fact(self, fact: MemoryFact) -> None:
        """Take a fact that is already on disk."""

    def on_sentence(self, sentence: Sentence) -> None:
        """Take a whole sentence of a text that is to be spoken."""

    def on_subtask(self, subtask: Subtask) -> None:
        """Take a change of the subtask in force."""

    def on_engine_state(self, status: EngineStatus) -> None:
        """Take a change of the engine's state."""

    def on_warning(self, text: str) -> None:
        """Take a warning meant for the operator."""


class Outputs:
    """What a host tells, passed on in the order of urgency: the robot first."""

    def __init__(self, listener: Listener, controller: Controller | None,
                 node_clock_ns: Callable[[], int]):
        self._listener = listener
        self._controller = controller
        self._node_clock_ns = node_clock_ns
        self.epoch = 0                   # set by the session: older chunks are void
        self.newest_chunk = (0, 0)       # frame id and stamp
        self.delay = DelayMeter()        # observation to chunk
        self.status = EngineStatus(EngineState.STOPPED)
        self._teller = Teller()
        self._tell = self._teller.tell
        self._playout = Playout()
        self.subtasks = SubtaskControl(lambda subtask: self._tell(listener.on_subtask, subtask))
        self.destinations = Destinations(
            self.subtasks, on_fact=self._remember, on_malformed=self._malformed,
            on_sentence=lambda sentence: self._tell(listener.on_sentence, sentence))
        self.begin(None, own_thread=False)

    def begin(self, memory: MemoryStore | None, *, own_thread: bool) -> None:
        """Start the figures of a run from zero; own_thread: for the calls of the listener."""
        if own_thread:
            self._teller.start()
        self.memory = memory
        self.metrics = Metrics()

    def end(self) -> None:
        """Tell the listener the rest."""
        self._teller.close()

    def set_tasks(self, tasks: Sequence[StandingTask]) -> None:
        """Take what becomes of the texts of standing tasks."""
        self.destinations.set_tasks(tasks)
        self._playout.set_rates({task.name: task.target_tokens_per_s for task in tasks
                                 if task.target_tokens_per_s})

    def plan_in_force(self, control: ControlConfig, robot: RobotProfile) -> tuple[int, float]:
        """
        Return what real-time chunking needs to know; nothing with other transitions.

        That is the frame the robot acts on, 0 if none, and for how long it will: the measured
        delay and the tick that picks the new chunk up.
        """
        if control.transition != 'rtc' or self._controller is None:
            return 0, 0.0
        return (self._controller.chunks.followed_frame_id,
                self.delay.high_s + 1 / robot.control_rate_hz)

    def chunk(self, chunk: ActionChunk) -> None:
        """Give a chunk to the controller."""
        if chunk.epoch != self.epoch:
            return
        if self._controller is not None:
            self._controller.add_chunk(chunk)
        self.newest_chunk = (chunk.frame_id, chunk.stamp_ns)
        now_ns = self._node_clock_ns()
        self.delay.add((now_ns - chunk.stamp_ns) / 1e9,
                       horizon_s=len(chunk.actions) * chunk.dt_s)
        self.metrics.chunk(chunk, now_ns)
        self._tell(self._listener.on_chunk, chunk)

    def delta(self, delta: TokenDelta) -> None:
        """Count a piece of text, pass it on and read it for the destinations of its task."""
        self.metrics.delta(delta)
        at_s = self._playout.release_s(delta.request_id, delta.task, delta.num_tokens,
                                      final=delta.final, now_s=time.monotonic())
        self._tell(self._listener.on_delta, delta, at_s=at_s)
        self.destinations.push(delta)

    def report(self, report: CycleReport) -> None:
        """Take the figures of one engine cycle."""
        self.metrics.report(report)

    def state(self, status: EngineStatus) -> None:
        """Tell the controller whether the engine can be relied on."""
        if self._controller is not None:
            if status.state is EngineState.READY:
                self._controller.engine_state(True)
            elif status.state in _TROUBLES:
                self._controller.engine_state(False, _TROUBLES[status.state])
        if status.state in _TROUBLES and status.state is not EngineState.HUNG:
            self.metrics.engine_ended()
        self.status = status
        self._tell(self._listener.on_engine_state, status)

    def replaced(self, status: EngineStatus) -> None:
        """Go on with another engine; chunks of the one before stay valid."""
        self.metrics.engine_ended()
        self.state(status)

    def fact(self, fact: MemoryFact) -> None:
        """Pass on a fact that is on disk; called by the memory's writer."""
        self.metrics.facts += 1
        self._tell(self._listener.on_fact, fact)

    def lost(self, text: str) -> None:
        """Count a fact that is lost and say why; called by the memory's writer."""
        self.metrics.facts_not_stored += 1
        self.warn(text)

    def warn(self, text: str) -> None:
        """Pass on a warning."""
        self._tell(self._listener.on_warning, text)

    def _remember(self, fact: MemoryFact) -> None:
        if self.memory is not None:
            self.memory.add(fact)

    def _malformed(self, text: str) -> None:
        self.metrics.malformed_facts += 1
        logger.info('no fact: %s', text)
