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
"""The prompt of pi0.5: task and state as text, then as token ids."""

import logging

import numpy as np
from numpy.typing import NDArray

from oxygen_ros.checkpoint.tokenizer import TextTokenizer

NUM_BINS = 256
MAX_TOKENS = 200   # what the public checkpoints were trained with

_logger = logging.getLogger(__name__)


def state_bins(normalised: NDArray) -> list[int]:
    """
    Return the bin of every entry of a normalised state, as openpi and LeRobot compute it.

    0..255 within [-1, 1], 255 above, -1 below: the models have seen all of them in training.
    """
    if not np.isfinite(normalised).all():
        raise ValueError(f'the state is not finite: {np.asarray(normalised).tolist()}; check the '
                         'joint topic')
    return (np.digitize(normalised, np.linspace(-1, 1, NUM_BINS + 1)[:-1]) - 1).tolist()


def clean_task(task: str) -> str:
    """Return the task as one line: underscores and line breaks become spaces."""
    return task.strip().replace('_', ' ').replace('\n', ' ')


class PromptBuilder:
    """
    Makes the prompt of one checkpoint; not thread-safe.

    with_state: 'Task: ..., State: ...;' and the cue for the action. Without (openpi models with
    discrete_state_input=False): the task, then a line break as a token of its own.
    """

    def __init__(self, tokenizer: TextTokenizer, *, with_state: bool = True,
                 max_tokens: int = MAX_TOKENS):
        self.tokenizer, self.with_state, self.max_tokens = tokenizer, with_state, max_tokens
        self._warned: str | None = None

    def ids(self, task: str, bins: list[int]) -> list[int]:
        """Return the ids of the prompt, with begin token and at most max_tokens long."""
        return self.build(task, bins)[1]

    def verbatim(self, text: str) -> list[int]:
        """Return the ids of a text as it stands, with begin token."""
        return [self.tokenizer.bos_id] + self.tokenizer.encode(text)

    def build(self, task: str, bins: list[int]) -> tuple[str, list[int]]:
        """
        Return text and ids of the prompt.

        A task that is too long loses its last words and a warning says so; state and cue stay
        whole, because the action needs them most. (openpi and LeRobot cut the cue off instead.)
        """
        words = clean_task(task).split(' ')
        ids = self._ids(words, bins)
        kept = len(words)
        if len(ids) > self.max_tokens:
            kept = self._num_that_fit(words, bins)
            self._warn(task, len(ids) - self.max_tokens, len(words) - kept, len(words))
            ids = self._ids(words[:kept], bins)
            if len(ids) > self.max_tokens:
                raise ValueError(f'the state alone takes {len(ids)} tokens, the checkpoint '
                                 f'reads {self.max_tokens}')
        return ''.join(self._parts(' '.join(words[:kept]), bins)), ids

    def _num_that_fit(self, words: list[str], bins: list[int]) -> int:
        fits, too_many = 0, len(words)
        while too_many - fits > 1:   # by bisection
            middle = (fits + too_many) // 2
            if len(self._ids(words[:middle], bins)) <= self.max_tokens:
                fits = middle
            else:
                too_many = middle
        return fits

    def _parts(self, task: str, bins: list[int]) -> tuple[str, ...]:
        if not self.with_state:
            return task, '\n'
        return (f'Task: {task}, State: {" ".join(map(str, bins))};\nAction: ',)

    def _ids(self, words: list[str], bins: list[int]) -> list[int]:
        return [self.tokenizer.bos_id] + [
            token_id for part in self._parts(' '.join(words), bins)
            for token_id in self.tokenizer.encode(part)]

    def _warn(self, task: str, num_tokens: int, num_lost: int, num_words: int) -> None:
        if task != self._warned:     # once, not with every frame
            self._warned = task
            _logger.warning('the instruction has %d tokens too many for the %d that the '
                            'checkpoint reads; its last %d of %d words are ignored',
                            num_tokens, self.max_tokens, num_lost, num_words)
