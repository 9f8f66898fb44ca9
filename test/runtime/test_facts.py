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

"""Text becomes facts line by line; what does not parse is counted, never stored."""

import pytest

from oxygen_ros.runtime.facts import FactReader
from oxygen_ros.runtime.facts import MalformedFact
from oxygen_ros.runtime.facts import parse_fact
from oxygen_ros.types import EndReason
from oxygen_ros.types import TokenDelta


def read(*pieces, reason=EndReason.EOS):
    """Stream one text through a reader; returns (facts, malformed lines)."""
    malformed, facts = [], []
    reader = FactReader(malformed.append)
    for index, piece in enumerate(pieces):
        final = index == len(pieces) - 1
        facts += reader.push(TokenDelta('memory-1', 'memory', 7, 70, index, piece, 1, final=final,
                                        reason=reason if final else None))
    return facts, malformed


def test_a_line_is_split_and_trimmed():
    """Spaces around and inside do not matter."""
    assert parse_fact('  red   cube |is| in the tray ') == ('red cube', 'is', 'in the tray', None)


def test_a_fourth_field_says_how_sure_the_text_is():
    """It goes with the fact."""
    facts, malformed = read('cup | is | here | 0.75\ncup | is | there | sure\ncup | is | up | 2')
    assert [(fact.object, fact.confidence) for fact in facts] == [('here', 0.75)]
    assert len(malformed) == 2


@pytest.mark.parametrize('line', ['red cube is here', 'a | b', 'a | b | c | d', '| is | here',
                                  'a | | c', 'x' * 300 + ' | is | long', 'a | is | \x00'])
def test_a_line_that_is_no_fact_is_refused(line):
    """With the line in the message."""
    with pytest.raises(MalformedFact):
        parse_fact(line)


def test_facts_come_from_pieces_cut_anywhere():
    """Also inside a word, and several lines in one text; frame and stamp go with them."""
    facts, malformed = read('red c', 'ube | i', 's | on the left\nblue cube | is', ' | away')
    assert [(fact.subject, fact.object) for fact in facts] == [('red cube', 'on the left'),
                                                              ('blue cube', 'away')]
    assert facts[0].frame_id == 7 and facts[0].stamp_ns == 70
    assert malformed == []


@pytest.mark.parametrize('reason', [EndReason.ERROR, EndReason.CANCELLED, EndReason.DEADLINE])
def test_the_unfinished_line_of_a_text_that_was_cut_off_is_no_fact(reason):
    """Lines that were complete before still count."""
    facts, malformed = read('a | is | b\n', 'red cube | is | on the', reason=reason)
    assert [fact.subject for fact in facts] == ['a']
    assert malformed == []


def test_malformed_lines_are_reported_beside_good_ones():
    """One bad line does not spoil the text."""
    facts, malformed = read('hello\n\na | is | b')
    assert len(facts) == 1 and len(malformed) == 1
