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

"""Checks streamed texts as they arrive: every piece once, in order, and in sum the whole text."""

from collections import defaultdict
from collections import deque
from dataclasses import dataclass

import numpy as np

NUM_REMEMBERED = 10_000      # ended texts, to notice pieces after the end
NUM_GAPS = 100_000           # inter-token gaps kept per task
NUM_PROBLEMS = 20            # described in words


@dataclass
class _Text:
    pieces: list[str]
    next_index: int
    is_whole: bool            # heard from its first piece on
    last_s: float


class StreamCheck:
    """Takes every piece of ~/language in the order of arrival. One thread."""

    def __init__(self):
        self._open: dict[str, _Text] = {}
        self._ended: deque[str] = deque(maxlen=NUM_REMEMBERED)
        self._gaps_s: dict[str, deque[float]] = defaultdict(lambda: deque(maxlen=NUM_GAPS))
        self.num_checked = 0      # texts that were heard from their first piece to their last
        self.num_partial = 0      # texts that had begun before
        self.num_missing = 0      # pieces that never came
        self.num_repeated = 0     # pieces that came twice, or after the end of their text
        self.num_different = 0    # texts whose pieces do not amount to the full text
        self.problems: list[str] = []

    @property
    def is_clean(self) -> bool:
        """Return whether no fault was seen."""
        return not (self.num_missing or self.num_repeated or self.num_different)

    def add(self, message, arrival_s: float) -> None:
        """Take a TokenDelta message that arrived at a steady time."""
        request_id, index = message.request_id, message.index
        text = self._open.get(request_id)
        if text is None:
            if request_id in self._ended:
                return self._repeated(f'{request_id}: piece {index} after the end')
            text = self._open[request_id] = _Text([], index, index == 0, arrival_s)
        elif index < text.next_index:
            return self._repeated(f'{request_id}: piece {index} came twice')
        elif index > text.next_index:
            self.num_missing += index - text.next_index
            self._tell(f'{request_id}: {index - text.next_index} pieces before {index} missing')
        if message.num_tokens and index:
            self._gaps_s[message.task].append((arrival_s - text.last_s) / message.num_tokens)
        text.next_index, text.last_s = index + 1, arrival_s
        text.pieces.append(message.text)
        if message.final:
            self._end(request_id, text, message.full_text)

    def figures(self) -> dict:
        """Return everything for JSON; gaps between tokens in milliseconds, per task."""
        return {
            'texts_checked': self.num_checked, 'texts_begun_before': self.num_partial,
            'texts_open': len(self._open), 'pieces_missing': self.num_missing,
            'pieces_repeated': self.num_repeated, 'texts_different': self.num_different,
            'problems': self.problems,
            'token_gap_ms': {task: _spread(gaps) for task, gaps in sorted(self._gaps_s.items())},
        }

    def summary(self) -> str:
        """Return the result in one line."""
        return (f'{self.num_checked} texts checked: {self.num_missing} pieces missing, '
                f'{self.num_repeated} repeated, {self.num_different} texts differ from their '
                f'pieces; {len(self._open)} still open')

    def _end(self, request_id: str, text: _Text, full_text: str) -> None:
        del self._open[request_id]
        self._ended.append(request_id)
        if not text.is_whole:
            self.num_partial += 1
            return
        self.num_checked += 1
        joined = ''.join(text.pieces)
        if joined != full_text:
            self.num_different += 1
            self._tell(f'{request_id}: pieces {joined!r}, full text {full_text!r}')

    def _repeated(self, problem: str) -> None:
        self.num_repeated += 1
        self._tell(problem)

    def _tell(self, problem: str) -> None:
        if len(self.problems) < NUM_PROBLEMS:
            self.problems.append(problem)


def _spread(gaps_s) -> dict:
    p50, p99 = np.quantile(np.array(gaps_s) * 1e3, (0.5, 0.99))
    return {'num': len(gaps_s), 'p50': round(float(p50), 2), 'p99': round(float(p99), 2),
            'p99_over_p50': round(float(p99 / p50), 2) if p50 else 0.0}
