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
from oxygen_ros.policy.controller import Controller
from oxygen_ros.policy.stats import TickStats
from oxygen_ros.runtime.facts import FactReader
from oxygen_ros.runtime.host import EngineHost
from oxygen_ros.runtime.memory import MemoryStore
from oxygen_ros.runtime.metrics import Metrics
from oxygen_ros.runtime.metrics import SessionStatus
from oxygen_ros.runtime.protocol import EngineState
from oxygen_ros.runtime.protocol import EngineStatus
from oxygen_ros.runtime.protocol import Supervision
from oxygen_ros.types import ActionChunk
from oxygen_ros.types import Cause
from oxygen_ros.types import CycleReport
from oxygen_ros.types import EndReason
from oxygen_ros.types import LanguageRequest
from oxygen_ros.types import MemoryFact
from oxygen_ros.types import Observation
from oxygen_ros.types import Sampling
from oxygen_ros.types import TickResult
from oxygen_ros.types import TokenDelta

logger = logging.getLogger(__name__)

CLOCK_JUMP_NS = 100_000_000   # a node clock or stamp this far back is a jump, not jitter


class SessionError(RuntimeError):
    """The session cannot do what was asked; the message says why and what to do."""


class Listener:
    """
    Receives what a session produces; override what is of interest.

    Called from the session's receiver thread (on_fact: from the memory writer's), one call at a
    time per thread. A call may take its time without delaying the tick, but later chunks wait
    for it. An exception is logged and counted as a warning, it never ends the thread.
    """

    def on_chunk(self, chunk: ActionChunk) -> None:
        """Take a chunk that has just gone to the controller."""

    def on_delta(self, delta: TokenDelta) -> None:
        """Take a piece of text; exactly one final piece per request, whatever happens."""

    def on_fact(self, fact: MemoryFact) -> None:
        """Take a fact that is already on disk."""

    def on_engine_state(self, status: EngineStatus) -> None:
        """Take a change of the engine's state."""

    def on_warning(self, text: str) -> None:
        """Take a warning meant for the operator."""


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
                 memory_path: Path | str | None = None, host: str = 'process',
                 supervision: Supervision | None = None):
        """
        Prepare a session; nothing is loaded yet.

        host: 'process' (engine in a child process) or 'inline' (engine in this process, each
        observe() runs the whole cycle before it returns: for bag evaluation and tests).
        memory_path: SQLite file; None keeps facts only as long as the session.
        Raises ConfigError for a wrong host.
        """
        if host not in ('process', 'inline'):
            raise ConfigError(f'host is {host!r}; choose one of: process, inline')
        self.robot = robot
        self.control = control
        self.engine = engine
        self.active = False
        self._tasks = tuple(tasks)
        self._listener = listener or Listener()
        self._clock = clock or SteadyClock()
        self._node_clock_ns = node_clock_ns
        self._memory_path = memory_path
        self._host_kind = host
        self._supervision = supervision or Supervision()
        self._instruction = robot.instruction

    def configure(self) -> None:
        """
        Load the checkpoint, warm up and open the memory; blocks until ready (seconds).

        close() from another thread ends the wait. Raises SessionError with the remedy.
        """

    def activate(self) -> None:
        """
        Allow the robot to move; standing tasks start.

        The first command waits for a chunk of an observation taken after this call. Raises
        SessionError if not configured, or if the profile lacks a limit (the message names it).
        """

    def deactivate(self) -> None:
        """
        Stop moving: ticks answer STOPPED, every open text ends with CANCELLED.

        The caller publishes final_command() as the last message.
        """

    def reset(self, reason: str) -> None:
        """
        Forget every frame, chunk and text, as after a clock jump or between episodes.

        The next command comes from an observation taken after this call. Memory stays.
        """

    def close(self) -> None:
        """End everything within 5 s, also with a frozen engine; may be called twice."""

    def final_command(self) -> NDArray[np.float64] | None:
        """Return the command to send last on deactivate and shutdown, robot units; None: none."""

    def seen(self, source: str, stamp_ns: int) -> None:
        """
        Note that a message of a source came: a camera slot or 'joint_states'.

        stamp_ns: sensor stamp, 0 where the sensor gives none.
        """

    def measured(self, positions: ArrayLike, stamp_ns: int) -> None:
        """Note the measured joint positions, robot units, profile order (needed to hold)."""

    def observe(self, images: Mapping[str, NDArray[np.uint8]], state: ArrayLike,
                stamp_ns: int) -> int:
        """
        Hand over the newest observation; replaces one the engine has not taken yet.

        images: camera slot -> [H, W, 3] RGB uint8, any size, copied before the return.
        state: [num_joints] robot units, profile order. stamp_ns: oldest sensor stamp inside.
        Returns its frame id, 0 when it was ignored (not active, or no clock yet).
        """

    def set_instruction(self, text: str) -> None:
        """Change what the robot shall do, from the next observation on; older chunks are void."""

    def set_tasks(self, tasks: Sequence[StandingTask]) -> None:
        """Replace the standing tasks; running texts of removed ones end with CANCELLED."""

    def ask(self, question: str, *, request_id: str = '', max_tokens: int = 0, priority: int = 5,
            expiry_s: float | None = None, sampling: Sampling | None = None) -> str:
        """
        Ask about the next frame; returns the request id that its deltas carry.

        Give a request_id to know it before the first delta can come. max_tokens 0: the
        engine's max_text_tokens. Raises SessionError when not active.
        """

    def submit(self, request: LanguageRequest) -> None:
        """
        Write a text about the next frame.

        Always ends with exactly one final delta; a request that cannot run ends with REFUSED.
        Raises SessionError when not active or the id is already running.
        """

    def cancel(self, request_id: str) -> None:
        """End a text with CANCELLED within one decode step; unknown ids are ignored."""

    def recall(self, *, subject: str = '', relation: str = '', text: str = '', after_ns: int = 0,
               before_ns: int = 0, history: bool = False, limit: int = 100) -> list[MemoryFact]:
        """Look facts up, newest first; empty filters match everything (Recall.srv)."""

    def stop(self, reason: str = 'operator') -> None:
        """Latch the stop: ticks answer STOPPED until resume()."""

    def resume(self) -> None:
        """Release the latched stop; the next command comes from a newer observation."""

    def tick(self, index: int, lateness_ns: int) -> TickResult:
        """
        Return what to publish at this grid point; called by the tick thread only.

        index: grid index since activation, lateness_ns: wake-up after the grid time.
        """

    def note_realtime(self, granted: bool) -> None:
        """Record for the status whether the tick thread got real-time priority."""

    def snapshot(self) -> SessionStatus:
        """Return all figures: .deadline (Deadline.msg), .engine (EngineStatus.msg)."""

    def summary(self) -> dict:
        """Return the JSON of a run (keys documented in doc/reference)."""
