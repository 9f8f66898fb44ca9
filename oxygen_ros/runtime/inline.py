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

"""Builds the engine in this process: for the engine process itself, or without one."""

import os
from typing import Any
from typing import Callable
from typing import Sequence

import torch

from oxygen_ros.checkpoint import load
from oxygen_ros.clock import Clock
from oxygen_ros.clock import SteadyClock
from oxygen_ros.config import EngineConfig
from oxygen_ros.config import RobotProfile
from oxygen_ros.config import StandingTask
from oxygen_ros.engine.engine import Engine
from oxygen_ros.runtime.cpu_limits import cpu_limit
from oxygen_ros.runtime.host import HostEvents
from oxygen_ros.runtime.protocol import EngineInfo
from oxygen_ros.runtime.protocol import EngineState
from oxygen_ros.runtime.protocol import EngineStatus
from oxygen_ros.runtime.protocol import Start
from oxygen_ros.types import ActionChunk
from oxygen_ros.types import LanguageRequest
from oxygen_ros.types import Observation
from oxygen_ros.types import TokenDelta


def load_engine(start: Start, emit: Callable[[Any], None], on_progress: Callable[[str], None], *,
                clock: Clock | None = None) -> tuple[Engine, EngineInfo]:
    """
    Load the checkpoint, build the engine and warm it up.

    Uses no more threads than the CPUs this process may run on. Raises ConfigError when the
    configuration cannot work.
    """
    num_threads = min(start.config.num_threads, cpu_limit())
    torch.set_num_threads(num_threads)
    capped = f' instead of {start.config.num_threads}, by the CPU limit of this process'
    on_progress(f'loading {start.config.checkpoint}, {num_threads} threads'
                f'{capped if num_threads < start.config.num_threads else ""}')
    policy = load(start.config.checkpoint, start.config, start.robot, on_progress)
    engine = Engine(policy, start.robot, start.config, clock=clock or SteadyClock(), emit=emit)
    on_progress('warming up')
    engine.warm_up()
    step_s = engine.scheduler.report().response_bound_s
    return engine, EngineInfo(policy.name, policy.trained, policy.horizon, step_s, num_threads)


class InlineHost:
    """
    The engine in this process, with the interface of EngineHost.

    Deterministic: each observation runs its whole cycle before `observe` returns, on the
    caller's thread. An exception of the engine reaches the caller.
    """

    def __init__(self, robot: RobotProfile, config: EngineConfig, events: HostEvents, *,
                 clock: Clock):
        self._start = Start(robot, config, (), 0)
        self._events = events
        self._clock = clock
        self._engine: Engine | None = None
        self.status = EngineStatus(EngineState.STOPPED)

    def start(self) -> None:
        """Load and warm up; raises ConfigError when that cannot work."""
        self._engine, info = load_engine(self._start, self._emit, lambda text: None,
                                         clock=self._clock)
        self._set(EngineStatus(EngineState.READY, pid=os.getpid(), info=info))

    def wait_ready(self) -> EngineStatus:
        """Return the state; `start` has done the work."""
        return self.status

    def observe(self, observation: Observation) -> bool:
        """Run one cycle of the engine; never replaces an observation."""
        self._engine.step(observation)
        return False

    def submit(self, request: LanguageRequest) -> None:
        """Start a text on the next observation."""
        self._engine.submit(request)

    def cancel(self, request_id: str) -> None:
        """End a text with CANCELLED."""
        self._engine.cancel(request_id)

    def set_tasks(self, tasks: Sequence[StandingTask]) -> None:
        """Replace the standing tasks."""
        self._engine.set_tasks(tasks)

    def set_replan_rate(self, replan_hz: float) -> None:
        """Look at the world this often."""
        self._engine.set_replan_rate(replan_hz)

    def reset(self, epoch: int) -> None:
        """Forget frames and texts."""
        self._engine.reset(epoch)

    def close(self) -> None:
        """End every text and free the engine."""
        if self._engine is not None:
            self._engine.close()
            self._engine = None
        self._set(EngineStatus(EngineState.STOPPED, info=self.status.info))

    def _set(self, status: EngineStatus) -> None:
        self.status = status
        self._events.state(status)

    def _emit(self, event: Any) -> None:
        if self._engine is None:
            return                   # of the warm-up
        if isinstance(event, ActionChunk):
            self._events.chunk(event)
        elif isinstance(event, TokenDelta):
            self._events.delta(event)
        else:
            self._events.report(event)
