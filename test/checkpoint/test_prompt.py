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
from oxygen_ros.checkpoint.prompt import PromptBuilder
from oxygen_ros.checkpoint.prompt import state_bins


@pytest.fixture(scope='module')
def tokenizer():
    """Return the builtin tokenizer."""
    return TextTokenizer(TOKENIZER_FILE)


def test_prompt_is_one_line_with_state_and_cue(tokenizer):
    text, ids = PromptBuilder(tokenizer).build('  pick_up the red cup\nand place it ', [175, 0])
    assert text == 'Task: pick up the red cup and place it, State: 175 0;\nAction: '
    assert ids == [tokenizer.bos_id] + tokenizer.encode(text)


def test_without_state_the_line_break_is_a_token_of_its_own(tokenizer):
    text, ids = PromptBuilder(tokenizer, with_state=False).build(' close_it ', [175, 0])
    assert text == 'close it\n'
    assert ids == [tokenizer.bos_id] + tokenizer.encode('close it') + tokenizer.encode('\n')


def test_bins_are_those_of_the_public_models():
    values = [-5, -1.0001, -1, -0.5, 0, 0.5, 0.9921, 0.9922, 1, 3]
    assert state_bins(np.array(values)) == [-1, -1, 0, 64, 128, 192, 254, 255, 255, 255]


@pytest.mark.parametrize('value', (np.nan, np.inf))
def test_a_state_that_is_not_finite_is_refused(value):
    with pytest.raises(ValueError, match='not finite'):
        state_bins(np.array([0, value]))


@pytest.mark.parametrize('num_words', (0, 10, 150, 400, 5000))
def test_long_tasks_lose_their_last_words_only(tokenizer, caplog, num_words):
    words = ['cube', 'emoji😀', 'put_on'] * (num_words // 3) + ['red'] * (num_words % 3)
    with caplog.at_level(logging.WARNING):
        prompt = PromptBuilder(tokenizer)
        ids = prompt.ids(' '.join(words), [12, 255])
        assert prompt.ids(' '.join(words), [12, 255]) == ids
    assert len(ids) <= 200
    assert ids[0] == tokenizer.bos_id
    text = tokenizer.decode(ids)
    assert text.endswith(', State: 12 255;\nAction: ')
    assert len(caplog.records) == (num_words >= 150)   # once, not with every frame
    task = text[len('Task: '):-len(', State: 12 255;\nAction: ')]
    assert ' '.join(words).replace('_', ' ').startswith(task)
    assert num_words == 0 or len(task) > 20


def test_the_limit_is_that_of_the_checkpoint(tokenizer):
    assert len(PromptBuilder(tokenizer, max_tokens=60).ids('red ' * 400, [1, 2])) <= 60
    with pytest.raises(ValueError, match='state alone'):
        PromptBuilder(tokenizer, max_tokens=20).ids('red', [100] * 14)
