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

"""Self-speculation across frames: the last text of a task is the draft of its next one."""

from oxygen_ros.engine.requests import Generation
from oxygen_ros.types import EndReason

MATCH_TOKENS = 2   # tokens that must agree before what followed them is guessed again


class DraftBook:
    """
    Guesses what follows in greedy texts; a wrong guess costs rows, never a token.

    The guess is checked in the pass that would run anyway: all rows of a text are picked from,
    and the first that disagrees is the next token.
    """

    def __init__(self, num_tokens: int):
        self._num_tokens = num_tokens                # guessed per step; 0 = off
        self._last: dict[str, tuple[int, ...]] = {}  # tokens of the last whole text, by task
        self.num_guessed = self.num_accepted = 0     # tokens, since the start

    @property
    def acceptance(self) -> float:
        """Return the share of guessed tokens that were right."""
        return self.num_accepted / self.num_guessed if self.num_guessed else 0.0

    def guess(self, text: Generation) -> tuple[int, ...]:
        """Return what may follow; () without a clue."""
        last = self._last.get(text.request.task, ())
        if text.generator is not None or text.choices or not text.feeding or not last:
            return ()
        # The last token of a text is never fed, so it needs no row and no guess.
        most = min(self._num_tokens, text.limit - len(text.token_ids) - 1)
        follows = self._follows(last, text.token_ids)
        return last[follows:follows + most] if most > 0 else ()

    def remember(self, text: Generation, reason: EndReason) -> None:
        """Keep a whole text as the draft of the next of its task."""
        if self._num_tokens and reason in (EndReason.EOS, EndReason.LENGTH, EndReason.STOP):
            self._last[text.request.task] = tuple(text.token_ids)

    def _follows(self, last: tuple[int, ...], tokens: list[int]) -> int:
        """Return the index in `last` behind the place that looks like the end of tokens."""
        if tuple(tokens) == last[:len(tokens)]:
            return len(tokens)
        recent = tuple(tokens[-MATCH_TOKENS:])
        starts = [index for index in range(len(last) - len(recent) + 1)
                  if last[index:index + len(recent)] == recent]
        # The occurrence nearest to the same place in the text.
        start = min(starts, key=lambda index: abs(index + len(recent) - len(tokens)), default=None)
        return len(last) if start is None else start + len(recent)
