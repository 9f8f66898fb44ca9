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

"""Gives the pieces of paced texts an even rhythm on their way out, as a player does with sound."""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

MAX_BEHIND_S = 0.5      # a piece is never kept longer
NUM_TEXTS = 60          # whose lateness decides how far ahead the next begins
NUM_PIECES = 256        # whose mean spacing is the rhythm that the engine keeps up
FIRST_MARGIN_S = 0.1    # before anything is known of a task


@dataclass
class _Text:
    """One text on its way: piece k is wanted at start_s + tokens before it * period_s."""

    arrived_s: float          # its newest piece
    released_s: float         # its newest piece
    start_s: float            # arrival of its first
    num_tokens: int = 0       # so far, without those of the first piece
    late_s: float = 0.0       # the latest piece against an even rhythm from its first on


class _Task:
    """What the past texts of one task say about the next."""

    def __init__(self):
        self._late_s: deque[float] = deque(maxlen=NUM_TEXTS)
        self._spacings: deque[tuple[float, int]] = deque(maxlen=NUM_PIECES)   # seconds, tokens
        self.released_s = 0.0     # the newest piece of any of its texts

    @property
    def margin_s(self) -> float:
        """How much later than its arrival a text begins, so that no piece comes too late."""
        return max(self._late_s, default=FIRST_MARGIN_S)

    def period_s(self, wanted_s: float) -> float:
        """Return the rhythm that can be kept: the wanted one, or what the engine manages."""
        num_tokens = sum(num for _, num in self._spacings)
        return max(wanted_s, sum(s for s, _ in self._spacings) / num_tokens if num_tokens else 0.0)

    def spaced(self, seconds: float, num_tokens: int) -> None:
        """Note how far apart two pieces came; a stall says nothing about the rhythm."""
        if seconds <= MAX_BEHIND_S:
            self._spacings.append((seconds, num_tokens))

    def ended(self, late_s: float) -> None:
        """Note how late the latest piece of a text was; to wait for a stall is no use."""
        if late_s <= MAX_BEHIND_S:
            self._late_s.append(late_s)


class Playout:
    """
    Says when each piece is to be passed on. Pure logic, one thread, times on one steady clock.

    The engine writes words between actions: three in 60 ms, then none for 130 ms. Here a text
    begins a little later, by as much as the pieces of the texts before it were late, and then its
    tokens follow one period apart. A text without a target rate is passed on as it comes.
    """

    def __init__(self):
        self._periods_s: Mapping[str, float] = MappingProxyType({})
        self._tasks: dict[str, _Task] = {}
        self._texts: dict[str, _Text] = {}

    def set_rates(self, tokens_per_s: Mapping[str, float]) -> None:
        """Take the target rates, by task."""
        self._periods_s = {task: 1.0 / rate for task, rate in tokens_per_s.items()}

    def release_s(self, request_id: str, task: str, num_tokens: int, *, final: bool,
                  now_s: float) -> float:
        """
        Return when the piece that has just come is to be passed on, now_s at the earliest.

        Pieces of one text are released in their order.
        """
        wanted_s = self._periods_s.get(task)
        text = self._texts.get(request_id)
        if wanted_s is None and text is None:
            return now_s
        past = self._tasks.setdefault(task, _Task())
        period_s = past.period_s(wanted_s or 0.0)
        if text is None:
            begin_s = max(now_s + past.margin_s, past.released_s)
            text = self._texts[request_id] = _Text(now_s, begin_s, now_s)
        else:
            if num_tokens:
                past.spaced(now_s - text.arrived_s, num_tokens)
                text.arrived_s = now_s
                text.num_tokens += num_tokens
                text.late_s = max(text.late_s,
                                  now_s - text.start_s - text.num_tokens * period_s)
            text.released_s = max(now_s, text.released_s + num_tokens * period_s)
        text.released_s = min(text.released_s, now_s + MAX_BEHIND_S)
        past.released_s = text.released_s
        if final:
            del self._texts[request_id]
            past.ended(text.late_s)
        return text.released_s
