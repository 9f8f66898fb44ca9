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

"""Steady rhythm: when a text with a target rate wants its next token."""

from collections import deque
from dataclasses import dataclass
import math

from oxygen_ros.engine.costs import quantile_of

# Shortest gap between two tokens of a paced text, as a share of its period. A token held up by
# action work is followed by shorter gaps until the text is back on its grid, never by a burst.
MIN_GAP = 1 / 3
HISTORY = 1024


@dataclass(frozen=True)
class TextView:
    """What the scheduler needs to know of one text; times on the engine's steady clock."""

    request_id: str
    priority: int = 0
    target_tokens_per_s: float | None = None   # None: as fast as it goes
    submitted_s: float = 0.0
    expires_s: float | None = None             # None: never
    tokens_done: int = 0
    last_token_s: float | None = None          # None: no token yet
    prompt_tokens_left: int = 0                # suffix rows its next step also runs

    @property
    def period_s(self) -> float:
        """Wanted gap between tokens; 0 for a text without a target."""
        return 1.0 / self.target_tokens_per_s if self.target_tokens_per_s else 0.0

    @property
    def earliest_s(self) -> float:
        """Return when the next token may run without breaking the rhythm."""
        if self.last_token_s is None:
            return -math.inf
        return self.last_token_s + MIN_GAP * self.period_s


@dataclass(frozen=True)
class Window:
    """The time left for text: closes when action work is next due, opens again after it."""

    closes_s: float     # a step must end by then
    reopens_s: float    # predicted end of the action work
    slack_s: float      # wake-ups may be late by this much


class Rhythm:
    """
    Keeps the wanted token times of every text and measures the gaps really reached.

    Token k of a text is wanted one period after token k-1 was wanted. A token later than a whole
    period is counted as missed and the grid starts anew from it.
    """

    def __init__(self):
        self._wanted_s: dict[str, float] = {}          # of the last token
        self._seen: dict[str, tuple[int, float]] = {}  # tokens_done, last_token_s
        self._gaps_s: deque[float] = deque(maxlen=HISTORY)
        self._missed: deque[bool] = deque(maxlen=HISTORY)   # paced tokens only

    def update(self, texts) -> None:
        """Take in the tokens written since the last call; forget texts that are gone."""
        present = {text.request_id for text in texts}
        for request_id in [known for known in self._seen if known not in present]:
            self._seen.pop(request_id)
            self._wanted_s.pop(request_id, None)
        for text in texts:
            if text.last_token_s is not None:
                self._take(text)

    def due_s(self, text: TextView) -> float:
        """Return when the next token is wanted; -inf if at once."""
        if not text.period_s or text.last_token_s is None:
            return -math.inf
        wanted_s = self._wanted_s.get(text.request_id, text.last_token_s) + text.period_s
        return max(wanted_s, text.earliest_s)

    def run_at_s(self, text: TextView, *, cost_s: float, window: Window) -> float:
        """
        Return when the step with the next token should start, this window or the next.

        A token wanted during the coming action work runs before it or after it, whichever is
        nearer to the wanted time. The last token before it moves towards the middle between its
        neighbours, so that the gap over the action work does not stand out.
        """
        due_s = self.due_s(text)
        latest_s = window.closes_s - cost_s - window.slack_s
        if due_s > latest_s:
            lateness_s = window.reopens_s - due_s
            if text.earliest_s <= latest_s and lateness_s > due_s - latest_s:
                return latest_s
            return max(due_s, window.reopens_s)
        is_last = due_s + MIN_GAP * text.period_s > latest_s
        if text.last_token_s is None or not is_last or due_s + text.period_s > window.reopens_s:
            return due_s
        middle_s = (text.last_token_s + window.reopens_s) / 2
        return min(max(due_s, middle_s), latest_s)

    def gap_s(self, quantile: float) -> float:
        """Return that quantile of the recent inter-token gaps of all texts; 0 if none."""
        return quantile_of(self._gaps_s, quantile) if self._gaps_s else 0.0

    def missed_share(self) -> float:
        """Return the share of recent paced tokens that came more than a period late."""
        return sum(self._missed) / len(self._missed) if self._missed else 0.0

    def _take(self, text: TextView) -> None:
        now_s = text.last_token_s
        tokens, last_s = self._seen.get(text.request_id, (0, now_s))
        new = text.tokens_done - tokens
        if new <= 0:
            return
        self._seen[text.request_id] = (text.tokens_done, now_s)
        if tokens:
            self._gaps_s.extend([(now_s - last_s) / new] * new)
        if not text.period_s:
            return
        wanted_s = self._wanted_s.get(text.request_id, now_s) + (text.period_s * new
                                                                 if tokens else 0.0)
        missed = now_s - wanted_s > text.period_s
        self._missed.append(missed)
        self._wanted_s[text.request_id] = now_s if missed else wanted_s
