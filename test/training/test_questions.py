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

"""Questions of the training data: what shows is answered from the picture, the rest from facts."""

import re

import numpy as np
import pytest

from oxygen_ros.sim.texts import HIDDEN
from oxygen_ros.training.questions import ask_about

SEES_ALL = ('pick up the red cube', 'reach for the red cube',
            'red on the left, green in the tray, blue in the middle',
            'red cube | is | at 200 -100 mm\ngreen cube | is | in the tray\n'
            'blue cube | is | at 150 0 mm')
BLUE_GONE = (*SEES_ALL[:2], f'red on the left, green in the tray, blue {HIDDEN}',
             'red cube | is | at 200 -100 mm\ngreen cube | is | in the tray')


@pytest.fixture(scope='module')
def pairs():
    """Return questions about many episodes of two looks, blue gone in the second one."""
    texts = np.array([SEES_ALL, BLUE_GONE] * 400)
    return ask_about({'texts': texts, 'episodes': np.arange(800) // 2}, seed=3)


def facts_of(prompt):
    """Return the place of each colour that the facts in a prompt tell of."""
    told = re.match(r'\nMemory: (.*)\.\nQuestion', prompt)
    return dict(fact.split(' cube is ') for fact in told[1].split('; ')) if told else {}


def asked_for(prompt):
    """Return the colour whose place a prompt asks for, or None."""
    found = re.search(r'where is (?:the )?(\w+)(?: cube)?\?', prompt)
    return found and found[1]


def test_a_cube_that_shows_is_answered_from_the_picture(pairs):
    answers = {answer for prompt, answer in pairs if asked_for(prompt) == 'red'}
    assert answers == {' the red cube is on the left'}


def test_a_cube_out_of_sight_is_answered_from_the_facts_or_not_at_all(pairs):
    checked = {True: 0, False: 0}
    for prompt, answer in pairs[1::2]:
        if asked_for(prompt) == 'blue':
            place = facts_of(prompt).get('blue')
            checked[place is not None] += 1
            assert answer == (f' the blue cube was {place}' if place
                              else f' the blue cube is {HIDDEN}')
    assert min(checked.values()) > 20


def test_facts_come_from_earlier_looks_only(pairs):
    """Before the first look nothing is known of the cubes that show."""
    first, second = pairs[::2], pairs[1::2]
    assert {color for prompt, _ in first for color in facts_of(prompt)} == {'yellow'}
    told = [facts_of(prompt)['red'] for prompt, _ in second if 'red' in facts_of(prompt)]
    assert set(told) == {'at 200 -100 mm'}


def test_what_it_sees_and_does(pairs):
    answers = {prompt.split('Question: ')[1].split('?')[0]: answer for prompt, answer in pairs[::2]
               if not asked_for(prompt)}
    assert answers == {'what do you see': ' ' + SEES_ALL[2],
                       'what are you doing': ' ' + SEES_ALL[1]}


def test_the_seed_decides(pairs):
    frames = {'texts': np.array([SEES_ALL, BLUE_GONE] * 400), 'episodes': np.arange(800) // 2}
    assert ask_about(frames, seed=3) == pairs != ask_about(frames, seed=4)
