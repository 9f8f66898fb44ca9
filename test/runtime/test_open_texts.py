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

"""Every text ends exactly once, under an id that means one text."""

import pytest

from oxygen_ros.runtime.open_texts import OpenTexts
from oxygen_ros.types import EndReason
from oxygen_ros.types import LanguageRequest
from oxygen_ros.types import TokenDelta


def delta(request_id, index, *, final=False):
    """Return a delta as the engine sends it."""
    return TokenDelta(request_id, 'narrate', 5, 50, index, 'word', 1, final=final,
                      reason=EndReason.EOS if final else None)


def test_an_engine_that_dies_leaves_each_open_text_one_end():
    """Asked and standing alike, numbered on from the last piece; ended ones are left alone."""
    texts = OpenTexts()
    texts.submit(LanguageRequest('ask-1', 'ask', '', 8))
    texts.follow(delta('narrate-1', 0))
    texts.follow(delta('narrate-1', 1))
    texts.follow(delta('narrate-2', 0, final=True))
    ends = {end.request_id: end for end in texts.end_all(EndReason.ERROR, 'killed')}
    assert set(ends) == {'ask-1', 'narrate-1'}
    assert ends['narrate-1'].index == 2 and ends['ask-1'].index == 0
    assert ends['narrate-1'].frame_id == 5 and ends['ask-1'].frame_id == 0
    assert all(end.final and end.reason is EndReason.ERROR for end in ends.values())
    assert texts.end_all(EndReason.ERROR, 'again') == []


def test_a_piece_after_the_declared_end_is_void():
    """The refused text does not speak again."""
    texts = OpenTexts()
    texts.submit(LanguageRequest('ask-1', 'ask', '', 8))
    texts.follow(delta('ask-1', 0))
    assert texts.end('ask-1', EndReason.REFUSED, 'full') is not None
    assert texts.follow(delta('ask-1', 1)) is None
    assert texts.end('ask-1', EndReason.REFUSED, 'full') is None


def test_ids_of_standing_texts_stay_unique_over_restarts():
    """The engine counts from 1 again; listeners see another id, and cancel finds the text."""
    texts = OpenTexts()
    first = texts.follow(delta('narrate-1', 0))
    texts.end_all(EndReason.ERROR, 'killed')
    second = texts.follow(delta('narrate-1', 0))
    assert first.request_id == 'narrate-1' and second.request_id != 'narrate-1'
    assert texts.engine_id(second.request_id) == 'narrate-1'
    third = texts.follow(delta('narrate-1', 1, final=True))
    assert third.request_id == second.request_id
    assert len(texts) == 0


def test_an_id_in_use_is_refused():
    """Two texts under one id could not be told apart."""
    texts = OpenTexts()
    texts.submit(LanguageRequest('ask-1', 'ask', '', 8))
    with pytest.raises(ValueError, match='ask-1'):
        texts.submit(LanguageRequest('ask-1', 'ask', '', 8))
