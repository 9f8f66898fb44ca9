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

"""The independent check of streamed texts notices every fault, and only faults."""

from types import SimpleNamespace

import pytest

from oxygen_ros.ros.stream_check import StreamCheck


def check(*pieces):
    """Feed pieces (request id, index, text, full text or None), 0.1 s apart."""
    result = StreamCheck()
    for number, (request_id, index, text, full_text) in enumerate(pieces):
        result.add(SimpleNamespace(
            request_id=request_id, task=request_id.split('-')[0], index=index, text=text,
            num_tokens=1, final=full_text is not None, full_text=full_text or ''), number * 0.1)
    return result


WHOLE = [('narrate-1', 0, 'a', None), ('memory-2', 0, 'x', None), ('narrate-1', 1, ' b', None),
         ('memory-2', 1, '', 'x'), ('narrate-1', 2, ' c', 'a b c')]


def test_whole_texts_are_counted_and_their_gaps_measured():
    """Also when they are written at once, and when one is empty at its end."""
    result = check(*WHOLE)
    figures = result.figures()
    assert result.is_clean and (result.num_checked, figures['texts_open']) == (2, 0)
    assert figures['token_gap_ms']['narrate'] == {'num': 2, 'p50': 200.0, 'p99': 200.0,
                                                  'p99_over_p50': 1.0}
    assert '2 texts checked: 0 pieces missing' in result.summary()


def test_a_text_that_began_before_the_check_is_no_fault():
    """Nor is one that is still being written."""
    result = check(('narrate-1', 3, 'c', None), ('narrate-1', 4, 'd', 'abcd'),
                   ('narrate-2', 0, 'a', None))
    assert result.is_clean and result.num_checked == 0
    assert (result.num_partial, result.figures()['texts_open']) == (1, 1)


@pytest.mark.parametrize('fault, counts, words', [
    ([WHOLE[0], ('narrate-1', 2, ' c', 'a b c')], (1, 0, 1), '1 pieces before 2 missing'),
    ([WHOLE[0], WHOLE[0], WHOLE[2], WHOLE[4]], (0, 1, 0), 'piece 0 came twice'),
    ([*WHOLE, ('narrate-1', 2, ' c', 'a b c')], (0, 1, 0), 'piece 2 after the end'),
    ([*WHOLE, ('narrate-1', 0, 'a', None)], (0, 1, 0), 'piece 0 after the end'),
    ([('narrate-1', 0, 'a', 'A')], (0, 0, 1), "pieces 'a', full text 'A'"),
])
def test_every_kind_of_fault_is_counted_and_told(fault, counts, words):
    """Lost, twice, after the end, not what the whole text says."""
    result = check(*fault)
    assert (result.num_missing, result.num_repeated, result.num_different) == counts
    assert not result.is_clean and any(words in problem for problem in result.problems)
