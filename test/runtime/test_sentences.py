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

"""Speech gets whole sentences, as soon as each is complete, and never half a one."""

import pytest

from oxygen_ros.runtime.sentences import SentenceReader
from oxygen_ros.types import EndReason
from oxygen_ros.types import TokenDelta


def heard(*pieces, reason=EndReason.EOS):
    """Stream one text; return per piece the sentences it completed."""
    reader = SentenceReader()
    return [[sentence.text for sentence in reader.push(TokenDelta(
        'narrate-1', 'narrate', 1, 1, index, piece, 1, final=index == len(pieces) - 1,
        reason=reason if index == len(pieces) - 1 else None))]
        for index, piece in enumerate(pieces)]


def test_a_sentence_is_spoken_when_the_next_one_begins():
    """Only then is it certain that its mark was its end; the last one at the end of the text."""
    assert heard('I see', ' a cup.', ' It is', ' red!', ' Is it?', '') == [
        [], [], ['I see a cup.'], [], ['It is red!'], ['Is it?']]


@pytest.mark.parametrize('text, sentences', [
    ('Move 3.5 cm. Stop', ['Move 3.5 cm.', 'Stop']),
    ('one\ntwo\n\n three', ['one', 'two', 'three']),
    ('He said "go." Then (he left.) So', ['He said "go."', 'Then (he left.)', 'So']),
    ('看到杯子。它是红色的。', ['看到杯子。', '它是红色的。']),
    ('Wait... what', ['Wait...', 'what']),
    ('  too   many  spaces . ', ['too many spaces .']),
    (' ... ! \n', []), ('', []),
])
def test_where_sentences_end(text, sentences):
    """The same whether a text comes at once or letter by letter."""
    assert sum(heard(text), []) == sentences
    assert sum(heard(*text, ''), []) == sentences


@pytest.mark.parametrize('reason, spoken', [
    (EndReason.EOS, ['Done.', 'The cup is']), (EndReason.STOP, ['Done.', 'The cup is']),
    (EndReason.LENGTH, ['Done.']), (EndReason.CANCELLED, ['Done.']),
    (EndReason.ERROR, ['Done.']), (EndReason.DEADLINE, ['Done.'])])
def test_of_a_text_that_was_cut_off_the_last_half_is_not_spoken(reason, spoken):
    """What the model ended itself is whole, with or without a mark."""
    assert sum(heard('Done. The', ' cup is', reason=reason), []) == spoken


def test_a_text_at_its_length_limit_is_spoken_if_it_closes_with_a_mark():
    """The limit may fall on the end of a sentence."""
    assert heard('The cup is red.', reason=EndReason.LENGTH) == [['The cup is red.']]


def test_texts_that_are_written_at_once_do_not_mix():
    """Each request has its own sentences."""
    reader = SentenceReader()

    def push(request_id, text, *, final=False):
        delta = TokenDelta(request_id, 'narrate', 1, 1, 0, text, 1, final=final,
                           reason=EndReason.EOS if final else None)
        return [(sentence.request_id, sentence.text) for sentence in reader.push(delta)]
    assert push('a', 'the left') == push('b', 'the right') == []
    assert push('a', ' cup', final=True) == [('a', 'the left cup')]
    assert push('b', ' cube', final=True) == [('b', 'the right cube')]
