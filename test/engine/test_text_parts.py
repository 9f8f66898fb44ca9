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

"""
From tokens to text that may leave, and which tokens may come.

Pins LNG-02 (characters split over tokens) and LNG-04 (spaces lost) for streams with stop strings.
"""

from engine_bench import tiny_policy
from hypothesis import given
from hypothesis import strategies as st
import pytest
import torch

from oxygen_ros.engine.requests import TextStream
from oxygen_ros.engine.sampling import Picker
from oxygen_ros.engine.sampling import WordChoices
from oxygen_ros.types import Sampling

TEXTS = ['naïve 삼겹살 😀 ok', 'pick  up the red cup .', '    .', '\n- item , next', 'a.b..c']


def stream(text, stop=()):
    """Return the pieces of a text pushed token by token, and the stream."""
    tokenizer = tiny_policy().tokenizer
    texts = TextStream(tokenizer.stream(), stop)
    pieces = []
    for token in tokenizer.encode(text):
        pieces.append(texts.push(token))
        if texts.stopped:
            break
    return [*pieces, texts.flush()], texts


@pytest.mark.parametrize('text', TEXTS)
@pytest.mark.parametrize('stop', [(), ('never said',), ('cups', 'okay', '  x')])
def test_joined_pieces_are_the_text(text, stop):
    """Character for character; no replacement mark in any piece."""
    pieces, _ = stream(text, stop)
    assert ''.join(pieces) == text
    assert not any('\ufffd' in piece for piece in pieces)


@given(st.text('ab. ', max_size=20), st.lists(st.text('ab. ', min_size=1, max_size=4),
                                              max_size=3))
def test_a_text_ends_before_the_first_stop_string(text, stop):
    """However stop strings overlap each other and the borders of tokens."""
    pieces, texts = stream(text, tuple(stop))
    ends = [text.find(word) for word in stop if word in text]
    assert ''.join(pieces) == text[:min(ends, default=len(text))] or (
        # Two may come up with one token; with several tokens the first complete one counts.
        texts.stopped and ''.join(pieces) in {text[:text.find(word)] for word in stop
                                              if word in text})
    assert texts.stopped == bool(ends)


WORDS = (('red cube', 'red', 'blue cup'), (' | is | ',), ('on', 'on the left', 'on the tray'))


def lines(words=WORDS):
    """Return every line that the choices allow."""
    texts = ['']
    for position in words:
        texts = [text + word for text in texts for word in position]
    return set(texts)


@given(st.data())
def test_any_walk_through_the_choices_is_an_allowed_line(data):
    """Also where one alternative is the beginning of another."""
    tokenizer = tiny_policy().tokenizer
    choices = WordChoices(WORDS, tokenizer.encode)
    tokens = []
    while choices.allowed() and not (choices.complete and data.draw(st.booleans())):
        tokens.append(data.draw(st.sampled_from(choices.allowed())))
        choices.push(tokens[-1])
    assert tokenizer.decode(tokens) in lines()
    assert len(tokens) <= choices.longest


def test_every_allowed_line_can_be_written():
    """The constraint takes nothing away."""
    encode = tiny_policy().tokenizer.encode
    for words in ((first, middle, last) for first in WORDS[0] for middle in WORDS[1]
                  for last in WORDS[2]):
        choices = WordChoices(WORDS, encode)
        for word in words:
            for token in encode(word):
                assert token in choices.allowed()
                choices.push(token)
        assert choices.complete


def picker(suppressed=()):
    """Return a picker with end token 0."""
    return Picker(suppressed_ids=suppressed, end_ids=(0,), device='cpu')


def test_suppressed_tokens_are_never_picked():
    """Neither greedily nor by chance."""
    pick = picker(suppressed=(1, 3))
    pick.load(torch.tensor([[0.0, 9.0, 1.0, 8.0]]))
    assert pick.pick(0, Sampling(), generator=None) == 2
    generator = torch.Generator().manual_seed(0)
    drawn = {pick.pick(0, Sampling(5.0), generator=generator) for _ in range(100)}
    assert drawn == {0, 2}


def test_sampling_follows_the_probabilities():
    """Frequencies over many draws; top_p keeps the likeliest that make it up."""
    pick = picker()
    pick.load(torch.tensor([[0.5, 0.3, 0.15, 0.05]]).log())
    generator = torch.Generator().manual_seed(0)

    def share(token, **sampling):
        drawn = [pick.pick(0, Sampling(**sampling), generator=generator) for _ in range(1000)]
        return drawn.count(token) / len(drawn)

    assert share(1, temperature=1.0) == pytest.approx(0.3, abs=0.06)
    assert share(1, temperature=1.0, top_p=0.6) == pytest.approx(0.375, abs=0.06)
    assert share(2, temperature=1.0, top_p=0.6) == 0
    assert share(0, temperature=1.0, top_p=0.01) == 1
    assert share(0, temperature=0.05) == pytest.approx(1, abs=0.001)


def test_a_seed_gives_the_same_draws():
    """And another seed gives others."""
    def draws(seed):
        pick, generator = picker(), torch.Generator().manual_seed(seed)
        pick.load(torch.zeros(1, 50))
        return [pick.pick(0, Sampling(1.0), generator=generator) for _ in range(20)]

    assert draws(3) == draws(3) != draws(4)
