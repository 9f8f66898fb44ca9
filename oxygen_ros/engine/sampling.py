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

"""Which token comes next: greedy, sampled with an own seed, or one of the words allowed."""

from collections.abc import Callable
from collections.abc import Sequence

import torch

from oxygen_ros.types import Sampling


class WordChoices:
    """
    Constrains a text to one alternative per position, token by token.

    Alternatives may be prefixes of each other; all readings of the tokens so far are followed
    at once, and the text may end where one of them is complete.
    """

    def __init__(self, choices: Sequence[Sequence[str]],
                 encode: Callable[[str], Sequence[int]]):
        self._tries = [_trie([tuple(encode(word)) for word in words]) for words in choices]
        self.longest = sum(max(len(encode(word)) for word in words) for words in choices)
        self._states = self._closed([(0, self._tries[0])])

    @property
    def complete(self) -> bool:
        """Whether the text may end here."""
        return any(node is None for _, node in self._states)

    def allowed(self) -> list[int]:
        """Return the ids that may follow, ascending; empty where the text must end."""
        return sorted({token for _, node in self._states for token in node or () if token >= 0})

    def push(self, token_id: int) -> None:
        """Go on with a token out of allowed()."""
        self._states = self._closed([
            (position, node[token_id]) for position, node in self._states
            if node is not None and token_id in node])

    def _closed(self, states: list[tuple]) -> list[tuple]:
        """Add the start of the next position to every state that completes a word."""
        for position, node in states:   # grows while it is read
            if node is not None and _END in node:
                following = position + 1
                states.append((following, self._tries[following])
                              if following < len(self._tries) else (following, None))
        return states


_END = -1   # key of a trie node that completes a word


def _trie(words: Sequence[tuple[int, ...]]) -> dict:
    root: dict = {}
    for word in words:
        node = root
        for token_id in word:
            node = node.setdefault(token_id, {})
        node[_END] = {}
    return root


class Picker:
    """Turns the logits of one pass into tokens; rows do not influence each other."""

    def __init__(self, *, suppressed_ids: Sequence[int], end_ids: Sequence[int],
                 device: torch.device | str):
        self._suppressed = torch.tensor(suppressed_ids, dtype=torch.long, device=device)
        self._end_ids = list(end_ids)
        self._logits = self._free = torch.empty(0)
        self._greedy: list[int] = []

    def load(self, logits: torch.Tensor) -> None:
        """Take the logits [rows, vocab] of a pass."""
        self._logits = self._free = logits
        if len(self._suppressed):
            self._free = logits.index_fill(1, self._suppressed, float('-inf'))
        self._greedy = self._free.argmax(dim=-1).tolist()   # one host synchronisation per pass

    def pick(self, row: int, sampling: Sampling, *, generator: torch.Generator | None,
             choices: WordChoices | None = None) -> int:
        """Return the token of one row; generator None: the likeliest."""
        if choices is None:
            if generator is None:
                return self._greedy[row]
            return _sample(self._free[row], sampling, generator)
        # Words asked for by the request may use ids that free text must not.
        allowed = choices.allowed() + (self._end_ids if choices.complete else [])
        among = self._logits[row, torch.tensor(allowed, device=self._logits.device)]
        index = int(among.argmax()) if generator is None else _sample(among, sampling, generator)
        return allowed[index]


def _sample(logits: torch.Tensor, sampling: Sampling, generator: torch.Generator) -> int:
    """Draw from the smallest set of likeliest ids that holds top_p of the probability."""
    weights = (logits.double().cpu() / sampling.temperature).softmax(dim=-1)
    weights, order = weights.sort(descending=True, stable=True)
    total = weights.cumsum(dim=-1)
    kept = int((total < sampling.top_p).sum()) + 1
    total = total[:kept]
    point = torch.rand((), generator=generator, dtype=torch.float64) * total[-1]
    return int(order[min(int(torch.searchsorted(total, point, right=True)), len(total) - 1)])
