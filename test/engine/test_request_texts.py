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
What a text says at its end, and what its prompt holds besides the question.

Pins LNG-08 (over-long prompt) for questions.
"""

from dataclasses import replace

from engine_bench import Bench
from engine_bench import endless_policy
from engine_bench import request
from engine_bench import tiny_policy
import pytest

from oxygen_ros.config.prompts import memory_prompt
from oxygen_ros.config.prompts import question_prompt
from oxygen_ros.types import EndReason


def test_the_final_piece_repeats_the_whole_text_however_it_ended():
    """Decoded at once: an independent reader can check the pieces against it."""
    bench = Bench(policy=endless_policy(), steps=5)
    bench.step(1, request('whole', max_tokens=20))
    bench.drain()
    stop = bench.texts['whole'][0].split()[2]
    bench.step(2, request('stop', max_tokens=20, stop=(stop,)), request('cut', max_tokens=20),
               request('late', max_tokens=20, expiry_s=0.5), request('never', max_tokens=999),
               request('words', max_tokens=2, choices=(('naïve 😀', 'x'), (' ok',))))
    bench.clock.advance(600_000_000)
    bench.step(None)
    bench.engine.cancel('cut')
    bench.drain()
    reasons = {reason.value for _, reason in bench.texts.values()}
    assert reasons >= {'length', 'cancelled', 'deadline', 'refused', 'eos'}
    for name, deltas in bench.deltas.items():
        assert deltas[-1].full_text == bench.texts[name][0]
        assert not any(delta.full_text for delta in deltas[:-1])
    assert len(bench.deltas['cut'][-1].full_text.split()) > 2


def test_facts_go_into_the_prompt_as_far_as_their_tokens_allow():
    """The most useful first; the end tells which; the text is that of the same words by hand."""
    facts = ('red cube is in the tray', 'green cube is on the left', 'blue cube is on the right')
    encode = tiny_policy().suffix_ids
    budget = len(encode(memory_prompt(facts[:2])))
    asked = request('asked', question_prompt('where is the red cube?'), 12, facts=facts,
                    memory_tokens=budget)
    bench = Bench()
    bench.step(1, asked, replace(asked, request_id='none', memory_tokens=3),
               replace(asked, request_id='plain', facts=()))
    by_hand = replace(asked, facts=(), prompt=memory_prompt(facts[:2]) + asked.prompt)
    assert bench.deltas['asked'][-1].facts == facts[:2]
    assert bench.texts['asked'] == bench.alone(by_hand, 1)
    assert bench.deltas['none'][-1].facts == ()
    assert bench.texts['none'] == bench.texts['plain'] != bench.texts['asked']
    bench.engine.idle_check()


@pytest.mark.parametrize(('num_words', 'is_refused'), [(0, False), (150, False), (5000, True)])
def test_a_long_question_is_answered_or_refused_with_both_numbers(num_words, is_refused):
    """LNG-08: never cut, never a crash; the frame's action and other texts go on."""
    bench = Bench(num_texts=2, steps=5)
    bench.step(1, request('long', question_prompt('word ' * num_words), 4),
               request('short', max_tokens=4))
    bench.drain()
    assert bench.texts['short'][1] is not EndReason.REFUSED
    assert (bench.texts['long'][1] is EndReason.REFUSED) == is_refused
    assert not is_refused or 'KV rows, the pool has' in bench.deltas['long'][-1].detail
    assert 1 in bench.chunks
