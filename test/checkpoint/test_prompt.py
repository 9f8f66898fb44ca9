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
"""The prompt of pi0.5: bins, clean-up, and state and cue whole at the end (LNG-08)."""

import logging

import numpy as np
import pytest

from oxygen_ros.checkpoint.builtin import TextTokenizer
from oxygen_ros.checkpoint.builtin import TOKENIZER_FILE
from oxygen_ros.checkpoint.prompt import prompt_ids
from oxygen_ros.checkpoint.prompt import prompt_text
from oxygen_ros.checkpoint.prompt import scaled_state
from oxygen_ros.checkpoint.prompt import state_bins


@pytest.fixture(scope='module')
def tokenizer():
    """Return the builtin tokenizer."""
    return TextTokenizer(TOKENIZER_FILE)


def test_prompt_is_one_line_with_state_and_cue():
    assert prompt_text('  pick_up the red cup\nand place it ', [175, 0]) == (
        'Task: pick up the red cup and place it, State: 175 0;\nAction: ')


def test_bins_span_the_range_of_the_state():
    scaled = scaled_state(np.array([-2, 0.5, 0], np.float32), np.array([-2, 0, -3]),
                          np.array([2, 1, 3]))
    np.testing.assert_allclose(scaled, [-1, 0, 0])
    assert state_bins(scaled) == [0, 128, 128]
    assert state_bins(np.array([-7, -1, -0.9999, 0.9999, 1, 9])) == [0, 0, 0, 255, 255, 255]


@pytest.mark.parametrize('value', (np.nan, np.inf))
def test_a_state_that_is_not_finite_is_refused(value):
    with pytest.raises(ValueError, match='not finite'):
        state_bins(np.array([0, value]))


@pytest.mark.parametrize('num_words', (0, 10, 150, 400, 5000))
def test_long_tasks_lose_their_last_words_only(tokenizer, caplog, num_words):
    words = ['cube', 'emoji😀', 'put_on'] * (num_words // 3) + ['red'] * (num_words % 3)
    with caplog.at_level(logging.WARNING):
        ids = prompt_ids(tokenizer, ' '.join(words), [12, 255])
    assert len(ids) <= 200
    assert ids[0] == tokenizer.bos_id
    text = tokenizer.decode(ids)
    assert text.endswith(', State: 12 255;\nAction: ')
    assert bool(caplog.records) == (num_words >= 150)
    task = text[len('Task: '):-len(', State: 12 255;\nAction: ')]
    assert ' '.join(words).replace('_', ' ').startswith(task)
    assert num_words == 0 or len(task) > 20
