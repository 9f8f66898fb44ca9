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
"""The prompt of pi0.5: task and state as text."""

import logging

import numpy as np
from numpy.typing import NDArray

from oxygen_ros.checkpoint.tokenizer import TextTokenizer

NUM_BINS = 256
MAX_TOKENS = 200   # what the public checkpoints were trained with

_logger = logging.getLogger(__name__)


def scaled_state(state: NDArray, lower: NDArray, upper: NDArray) -> NDArray[np.float64]:
    """Return the state in [-1, 1] between `lower` and `upper`."""
    return (np.asarray(state, np.float64) - lower) / (upper - lower) * 2 - 1


def state_bins(scaled: NDArray[np.float64]) -> list[int]:
    """Return the bin 0..255 of every entry; values outside [-1, 1] go to the outer bins."""
    if not np.isfinite(scaled).all():
        raise ValueError(f'the state is not finite: {scaled.tolist()}; check the joint topic')
    bins = np.digitize(scaled, np.linspace(-1, 1, NUM_BINS + 1)[:-1]) - 1
    return np.clip(bins, 0, NUM_BINS - 1).tolist()


def clean_task(task: str) -> str:
    """Return the task as one line: underscores and line breaks become spaces."""
    return task.strip().replace('_', ' ').replace('\n', ' ')


def prompt_text(task: str, bins: list[int]) -> str:
    """Return 'Task: ..., State: ...;' and the cue for the action."""
    return f'Task: {clean_task(task)}, State: {" ".join(map(str, bins))};\nAction: '


def prompt_ids(tokenizer: TextTokenizer, task: str, bins: list[int]) -> list[int]:
    """
    Return the ids of the prompt, with begin token and at most MAX_TOKENS long.

    A task that is too long loses its last words; state and cue stay whole, because the
    action needs them most.
    """
    def ids_of(text: str) -> list[int]:
        return [tokenizer.bos_id] + tokenizer.encode(prompt_text(text, bins))

    ids = ids_of(task)
    if len(ids) <= MAX_TOKENS:
        return ids
    words = clean_task(task).split(' ')
    fits, too_many = 0, len(words)
    while too_many - fits > 1:   # the number of words that fit, by bisection
        middle = (fits + too_many) // 2
        if len(ids_of(' '.join(words[:middle]))) <= MAX_TOKENS:
            fits = middle
        else:
            too_many = middle
    _logger.warning('the instruction has %d tokens too many; its last %d of %d words are ignored',
                    len(ids) - MAX_TOKENS, len(words) - fits, len(words))
    return ids_of(' '.join(words[:fits]))
