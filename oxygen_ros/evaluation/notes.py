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

"""What is kept of a replay: what the model did, and what was recorded to compare it with."""

from collections.abc import Callable
from dataclasses import dataclass
from dataclasses import field
from dataclasses import replace

import cv2
import numpy as np
from numpy.typing import NDArray

from oxygen_ros.config import RobotProfile
from oxygen_ros.runtime.session import Listener
from oxygen_ros.runtime.session import Session
from oxygen_ros.types import ActionChunk
from oxygen_ros.types import MemoryFact
from oxygen_ros.types import TickResult
from oxygen_ros.types import TokenDelta

THUMBNAIL_WIDTH = 176
THUMBNAIL_EVERY_NS = 100_000_000    # at most so often; a page shows a choice of them
MAX_THUMBNAILS = 2000


@dataclass
class Track:
    """Positions of all joints over time, in the order of arrival."""

    times_ns: list[int] = field(default_factory=list)
    values: list[NDArray[np.float64]] = field(default_factory=list)   # [num_joints], robot units

    def add(self, time_ns: int, values: NDArray[np.float64]) -> None:
        """Take a sample."""
        self.times_ns.append(time_ns)
        self.values.append(values)

    def __len__(self) -> int:
        """Return the number of samples."""
        return len(self.times_ns)

    def arrays(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return times [n] in rising order and values [n, num_joints]."""
        times = np.array(self.times_ns, np.int64)
        order = np.argsort(times, kind='stable')
        return times[order], np.array(self.values, np.float64)[order]


@dataclass(frozen=True)
class Look:
    """One observation that went to the session."""

    stamp_ns: int
    state: NDArray[np.float32]     # [num_joints]


@dataclass(frozen=True)
class Instruction:
    """What the robot was to do from some time on."""

    time_ns: int
    text: str
    source: str                    # 'profile', 'option' or 'recording'


@dataclass
class Text:
    """One text, its pieces joined."""

    request_id: str
    task: str
    frame_id: int = 0
    stamp_ns: int = 0
    text: str = ''
    num_tokens: int = 0
    reason: str = ''               # '' while it runs
    detail: str = ''
    ttft_s: float = 0.0            # submission to first token
    duration_s: float = 0.0        # submission to end


class Notes(Listener):
    """Listens to a session and stands before it, so that all that passes is noted."""

    def __init__(self, robot: RobotProfile, now_ns: Callable[[], int]):
        self.robot = robot
        self.session: Session | None = None
        self.chunks: list[tuple[int, ActionChunk]] = []       # (arrival, chunk)
        self.ticks: list[tuple[int, TickResult]] = []         # (time, result)
        self.looks: dict[int, Look] = {}                      # frame id -> look
        self.thumbnails: list[tuple[int, str, bytes]] = []    # (stamp, camera slot, JPEG)
        self.instructions: list[Instruction] = []
        self.texts: dict[str, Text] = {}
        self.token_gaps_s: list[float] = []
        self.facts: list[MemoryFact] = []
        self.warnings: list[str] = []
        self.measured_track, self.command_track = Track(), Track()
        self._now_ns = now_ns
        self._num_looks_before = 0      # before the newest instruction
        self._last_token_ns: dict[str, int] = {}
        self._last_thumbnail_ns: dict[str, int] = {}

    # What the session says

    def on_chunk(self, chunk: ActionChunk) -> None:
        """Keep a chunk with its time of arrival."""
        self.chunks.append((self._now_ns(), chunk))

    def on_delta(self, delta: TokenDelta) -> None:
        """Join a piece to its text."""
        text = self.texts.setdefault(delta.request_id, Text(delta.request_id, delta.task))
        text.frame_id, text.stamp_ns = delta.frame_id, delta.stamp_ns
        text.text += delta.text
        text.num_tokens += delta.num_tokens
        if delta.num_tokens:
            now_ns, last_ns = self._now_ns(), self._last_token_ns.get(delta.request_id)
            if last_ns is not None:
                self.token_gaps_s.append((now_ns - last_ns) / 1e9 / delta.num_tokens)
            self._last_token_ns[delta.request_id] = now_ns
        if delta.final:
            text.reason, text.detail = delta.reason.value, delta.detail
            text.ttft_s, text.duration_s = delta.ttft_s, delta.duration_s

    def on_fact(self, fact: MemoryFact) -> None:
        """Keep a fact."""
        self.facts.append(fact)

    def on_warning(self, text: str) -> None:
        """Keep a warning."""
        self.warnings.append(text)

    def on_tick(self, time_ns: int, result: TickResult) -> None:
        """Keep what a tick did."""
        self.ticks.append((time_ns, result))

    # What the session is told

    def seen(self, source: str, stamp_ns: int) -> None:
        """Pass on that a camera lives."""
        self.session.seen(source, stamp_ns)

    def measured(self, positions: NDArray[np.float64], stamp_ns: int) -> None:
        """Pass on measured positions, and keep them."""
        self.measured_track.add(stamp_ns or self._now_ns(), np.array(positions, np.float64))
        self.session.measured(positions, stamp_ns)

    def observe(self, images, state: NDArray[np.float32], stamp_ns: int) -> int:
        """Pass on an observation, and keep its state and small pictures."""
        frame_id = self.session.observe(images, state, stamp_ns)
        if frame_id:
            self.looks[frame_id] = Look(stamp_ns, np.array(state, np.float32))
            for slot, image in images.items():
                self._keep_picture(slot, image, stamp_ns)
        return frame_id

    def set_instruction(self, text: str, source: str) -> None:
        """Pass on an instruction; keep it if it is new, not one that nothing was seen under."""
        self.session.set_instruction(text)
        if self.instructions and len(self.looks) == self._num_looks_before:
            self.instructions.pop()
        if self.instructions and self.instructions[-1].text == text:   # the newest source counts
            self.instructions[-1] = replace(self.instructions[-1], source=source)
        else:
            self.instructions.append(Instruction(self._now_ns(), text, source))
            self._num_looks_before = len(self.looks)

    def _keep_picture(self, slot: str, image: NDArray[np.uint8], stamp_ns: int) -> None:
        last_ns = self._last_thumbnail_ns.get(slot)
        if len(self.thumbnails) >= MAX_THUMBNAILS or (
                last_ns is not None and 0 <= stamp_ns - last_ns < THUMBNAIL_EVERY_NS):
            return
        self._last_thumbnail_ns[slot] = stamp_ns
        height = max(1, round(image.shape[0] * THUMBNAIL_WIDTH / image.shape[1]))
        small = cv2.resize(image, (THUMBNAIL_WIDTH, height), interpolation=cv2.INTER_AREA)
        _, jpeg = cv2.imencode('.jpg', cv2.cvtColor(small, cv2.COLOR_RGB2BGR),
                               [cv2.IMWRITE_JPEG_QUALITY, 80])
        self.thumbnails.append((stamp_ns, slot, jpeg.tobytes()))
