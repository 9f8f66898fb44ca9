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
"""Text survives tokens: as a whole, piece by piece, inside characters (LNG-02, LNG-04)."""

import random

import pytest

from oxygen_ros.checkpoint import tiny_vocabulary
from oxygen_ros.checkpoint.builtin import TextTokenizer
from oxygen_ros.checkpoint.builtin import TOKENIZER_FILE

TEXTS = ('pick  up the red cup .', '    .', '\n- item , next', ' put the mug in the sink' * 10,
         'naïve 삼겹살 😀 ok', '', 'Task: pick up, State: 0 128 255;\nAction: ')


@pytest.fixture(scope='module')
def tokenizer():
    """Return the builtin tokenizer."""
    return TextTokenizer(TOKENIZER_FILE)


@pytest.mark.parametrize('text', TEXTS)
def test_a_text_comes_back_character_for_character(tokenizer, text):
    ids = tokenizer.encode(text)
    assert tokenizer.decode(ids) == text
    stream = tokenizer.stream()
    pieces = [stream.push(token_id) for token_id in ids]
    assert all('\ufffd' not in piece for piece in pieces)
    assert ''.join(pieces) + stream.flush() == text


def test_any_ids_stream_to_exactly_their_full_decode(tokenizer):
    choose = random.Random(0)
    for _ in range(300):
        # Mostly bytes, so that broken characters occur in every position.
        ids = [choose.randrange(*choose.choice(((0, 260), (100, 260), (0, 1100))))
               for _ in range(20)]
        stream = tokenizer.stream()
        pieces = [stream.push(token_id) for token_id in ids] + [stream.flush()]
        assert ''.join(pieces) == tokenizer.decode(ids)


def test_a_character_cut_off_by_the_end_shows_as_a_mark(tokenizer):
    ids = tokenizer.encode('😀')[:-1]
    stream = tokenizer.stream()
    assert [stream.push(token_id) for token_id in ids] == ['', '', '']
    assert stream.flush() == tokenizer.decode(ids) == '\ufffd'


def test_control_tokens_are_never_text(tokenizer):
    assert tokenizer.decode([tokenizer.bos_id, 0, tokenizer.eos_id, 3, 10**6]) == ''
    assert [tokenizer.pieces[index] for index in range(4)] == ['<pad>', '<eos>', '<bos>', '<unk>']


def test_ordinary_words_are_single_tokens_with_their_space(tokenizer):
    assert [tokenizer.decode([token_id]) for token_id in tokenizer.encode('pick up the red cube')
            ] == ['pick', ' up', ' the', ' red', ' cube']
    # What the standing memory task chooses from must fit its eight tokens.
    parts = ('red cube', ' | is | ', 'in the gripper')
    assert sum(len(tokenizer.encode(part)) for part in parts) == 8


def test_the_file_is_what_the_script_builds():
    text = TOKENIZER_FILE.read_text(encoding='utf-8')
    assert len(text) < 60_000
    assert tiny_vocabulary.build().to_str(pretty=True) == text
