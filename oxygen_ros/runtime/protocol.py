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

"""What crosses between a session and its engine, besides the nouns of oxygen_ros.types."""

from dataclasses import dataclass
from dataclasses import field
from enum import IntEnum

from oxygen_ros.config import EngineConfig
from oxygen_ros.config import RobotProfile
from oxygen_ros.config import StandingTask
from oxygen_ros.types import LanguageRequest


class EngineState(IntEnum):
    """How the engine is doing; the numbers are those of EngineStatus.msg."""

    STARTING = 0     # loading and warming up, however long that takes
    READY = 1        # observations are answered by chunks
    HUNG = 2         # alive but silent; killed when the silence lasts
    RESTARTING = 3   # died or was killed, the next one is on its way
    STOPPED = 4      # not configured, or closed
    FAILED = 5       # gave up; configure again after removing the cause


@dataclass(frozen=True)
class Supervision:
    """
    When an engine counts as hung or failed; steady clock, seconds.

    A silent engine is HUNG (the robot falls back) after `hung_after_s` and killed after
    `kill_after_s`; both grow to 10 times the warm-up step where the model is slower than that.
    While it starts only `start_timeout_s` applies.
    """

    hung_after_s: float = 1.0
    kill_after_s: float = 5.0
    start_timeout_s: float = 600.0
    backoff_s: float = 0.25          # before the first restart, doubled for each further one
    max_backoff_s: float = 8.0
    max_restarts: int = 10           # in a row; an engine that ran stable_s starts a new row
    stable_s: float = 30.0
    close_timeout_s: float = 2.0     # for a clean exit; then SIGKILL


@dataclass(frozen=True)
class EngineInfo:
    """What the engine loaded, known when it is ready."""

    checkpoint: str = ''
    trained: bool = False            # False: random weights, actions and words mean nothing
    horizon: int = 0                 # actions per chunk
    step_s: float = 0.0              # the slowest warm-up step
    num_threads: int = 0


@dataclass(frozen=True)
class EngineStatus:
    """A change of the engine's state, as told to listeners."""

    state: EngineState
    detail: str = ''
    pid: int = 0                     # 0: no process
    restarts: int = 0                # since configure
    info: EngineInfo = field(default_factory=EngineInfo)


# From the session to the engine, in order.


@dataclass(frozen=True)
class Start:
    """First message: what to load."""

    robot: RobotProfile
    config: EngineConfig
    tasks: tuple[StandingTask, ...]
    epoch: int


@dataclass(frozen=True)
class Submit:
    """Start a text on the next encoded frame."""

    request: LanguageRequest


@dataclass(frozen=True)
class Cancel:
    """End a text with reason CANCELLED."""

    request_id: str


@dataclass(frozen=True)
class SetTasks:
    """Replace the standing tasks."""

    tasks: tuple[StandingTask, ...]


@dataclass(frozen=True)
class SetReplanRate:
    """Look at the world this often from the next frame on."""

    replan_hz: float


@dataclass(frozen=True)
class Reset:
    """End every text and forget every frame; observations before `epoch` are void."""

    epoch: int


@dataclass(frozen=True)
class Close:
    """End every text with a reason and exit."""


# From the engine to the session, beside TokenDelta and CycleReport.


@dataclass(frozen=True)
class Progress:
    """What a starting engine is at, in words."""

    text: str


@dataclass(frozen=True)
class Ready:
    """Warmed up; from here on silence means trouble."""

    info: EngineInfo


@dataclass(frozen=True)
class Failed:
    """The engine ends itself because of an error."""

    message: str
    permanent: bool = False          # True: starting it again would not help
