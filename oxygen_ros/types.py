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

"""Nouns that cross folder and process boundaries: frozen, no behaviour, picklable."""

from dataclasses import dataclass
from dataclasses import field
from enum import Enum
from typing import Mapping

import numpy as np
from numpy.typing import NDArray


class Verdict(str, Enum):
    """What one tick did."""

    FRESH = 'fresh'        # an action of the newest chunk
    CARRIED = 'carried'    # an action of an older chunk, still inside its horizon
    FALLBACK = 'fallback'  # the fallback command, with a cause
    STOPPED = 'stopped'    # latched stop or not active


class Cause(str, Enum):
    """Why a tick fell back or stopped; '' on a good tick."""

    NONE = ''
    STARTING = 'starting'            # no chunk yet since activation or reset
    CHUNK_EXHAUSTED = 'chunk_exhausted'
    CAMERA_STALE = 'camera_stale'
    CAMERA_FROZEN = 'camera_frozen'  # repeats an old stamp
    JOINTS_STALE = 'joints_stale'
    ENGINE_DEAD = 'engine_dead'
    ENGINE_HUNG = 'engine_hung'
    NOT_FINITE = 'not_finite'
    WRONG_SIZE = 'wrong_size'
    LIMIT = 'limit'                  # rejected by a limit
    WAITING_FOR_CLOCK = 'waiting_for_clock'
    STOP_REQUESTED = 'stop_requested'
    INACTIVE = 'inactive'


class EndReason(str, Enum):
    """Why a language request ended."""

    EOS = 'eos'
    LENGTH = 'length'
    STOP = 'stop'            # a stop string
    CANCELLED = 'cancelled'
    DEADLINE = 'deadline'    # expired
    EVICTED = 'evicted'      # lost its place to something more important
    REFUSED = 'refused'      # could never run; `detail` of the final delta says why
    ERROR = 'error'          # the engine failed or died


@dataclass(frozen=True)
class Observation:
    """Cameras, joints and instruction taken at one time."""

    frame_id: int                            # counts up from 1, set by runtime.session
    stamp_ns: int                            # node clock; the oldest sensor stamp inside
    images: Mapping[str, NDArray[np.uint8]]  # camera slot -> [H, W, 3] RGB; absent = not there
    state: NDArray[np.float32]               # [num_joints], robot units, profile order
    instruction: str
    epoch: int = 0                           # set by runtime.session; older chunks are void
    # Both set by runtime.session, for real-time chunking only:
    follows: int = 0                         # frame whose chunk the robot follows, 0 = none
    delay_s: float = 0.0                     # measured: how long it follows it before this one's
    subtask: str = ''                        # two-level control; set by runtime.session

    @property
    def prompt(self) -> str:
        """Return what the actions shall do: the subtask in force, else the instruction."""
        return self.subtask or self.instruction


@dataclass(frozen=True)
class ActionChunk:
    """`horizon` future actions computed from one observation."""

    frame_id: int
    stamp_ns: int                    # of its observation: actions[i] is due at stamp_ns + i*dt
    actions: NDArray[np.float32]     # [horizon, num_joints], absolute targets in robot units
    dt_s: float
    epoch: int = 0
    encode_s: float = 0.0            # set by the engine
    denoise_s: float = 0.0           # set by the engine


@dataclass(frozen=True)
class Sampling:
    """How a request picks tokens; temperature 0 is greedy."""

    temperature: float = 0.0
    top_p: float = 1.0
    seed: int = 0


@dataclass(frozen=True)
class LanguageRequest:
    """One text to be written about one frame (the next to be encoded after submission)."""

    request_id: str
    task: str                                       # standing task name, or 'ask'
    prompt: str                                     # private suffix after the shared prefix
    max_tokens: int
    priority: int = 0                               # higher goes first
    sampling: Sampling = field(default_factory=Sampling)
    stop: tuple[str, ...] = ()
    expiry_s: float | None = None                   # ends with DEADLINE this long after submission
    target_tokens_per_s: float | None = None        # steady rhythm; None = as fast as it goes
    # Per word position the words allowed there; () = free text. Makes text that always parses.
    choices: tuple[tuple[str, ...], ...] = ()
    # Put before the prompt, the most useful first, as far as memory_tokens allow.
    facts: tuple[str, ...] = ()
    memory_tokens: int = 0


@dataclass(frozen=True)
class TokenDelta:
    """A piece of one text. Joined `text` of all deltas of a request is the whole text."""

    request_id: str
    task: str
    frame_id: int              # of the frame the text is about; 0 if it never met one
    stamp_ns: int              # observation stamp of that frame
    index: int                 # 0, 1, 2, ... without gap per request
    text: str                  # never ends inside a character
    num_tokens: int            # real tokens in this piece (EOS not counted)
    final: bool = False        # exactly one per request
    reason: EndReason | None = None   # set on the final delta only
    detail: str = ''           # human-readable, e.g. why it was refused
    ttft_s: float = 0.0        # submission to first token, set on the final delta
    duration_s: float = 0.0    # submission to end, set on the final delta
    full_text: str = ''        # set on the final delta; decoded at once, not joined
    facts: tuple[str, ...] = ()   # set on the final delta: those that were in the prompt


@dataclass(frozen=True)
class MemoryFact:
    """Something seen and worth keeping."""

    subject: str
    relation: str
    object: str
    stamp_ns: int              # observation stamp of the frame it was seen in
    frame_id: int
    request_id: str
    fact_id: int = 0           # row id, set by the store
    superseded: bool = False   # a newer fact about the same subject and relation exists
    confidence: float | None = None   # 0 to 1 as the text says; None: not known


@dataclass(frozen=True)
class Sentence:
    """A whole sentence to be spoken."""

    text: str
    task: str
    request_id: str


@dataclass(frozen=True)
class Subtask:
    """What the action prompt says instead of the instruction."""

    text: str = ''             # '': the instruction itself
    source: str = ''           # 'model' or 'operator'; '' without text
    held: bool = False         # True: new subtasks of the model do not replace it
    request_id: str = ''       # text it was read from; '': the operator's
    frame_id: int = 0          # frame that text was about; 0: the operator's


@dataclass(frozen=True)
class KVUse:
    """How full the KV pool is."""

    pages_used: int
    pages_total: int
    bytes_used: int
    bytes_peak: int
    bytes_copied: int          # KV bytes moved to form batches: stays 0
    prefixes: int
    generations: int


@dataclass(frozen=True)
class CycleReport:
    """What the engine did in one cycle (one per frame, sent after its last decode step)."""

    frame_id: int              # 0 when the cycle had no new observation
    encodes: int               # in total since start
    frames: int                # in total since start
    encode_s: float
    denoise_s: float
    decode_s: float
    decode_steps: int
    tokens: int                # real tokens in this cycle
    running: int               # texts decoding now
    queued: int
    kv: KVUse
    manager_s: float = 0.0     # time spent in KV bookkeeping
    rates_met: bool = True     # False: configured rates cannot be met on this machine
    detail: str = ''           # what cannot be met, in words
    drafted: int = 0           # tokens guessed (EngineConfig.draft_tokens), in total since start
    accepted: int = 0          # of them right, in total since start


@dataclass(frozen=True)
class TickResult:
    """One firing of the control timer."""

    index: int                              # grid index since activation, missed ones included
    command: NDArray[np.float64] | None     # [num_joints] in robot units; None: nothing published
    verdict: Verdict
    cause: Cause
    frame_id: int                           # frame the action came from, 0 if none
    lateness_ns: int                        # wake-up after the grid time
    clamped: int = 0                        # joints changed by a limit on this tick
