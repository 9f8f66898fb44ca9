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
Questions about demonstrations, with what the robot may remember, and the true answers.

Facts stand before a question as runtime and engine put them there. What is in the picture is
answered from the picture, whatever the facts say; what is out of sight from the facts.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from oxygen_ros.config.prompts import fact_words
from oxygen_ros.config.prompts import memory_prompt
from oxygen_ros.config.prompts import question_prompt
from oxygen_ros.runtime.facts import parse_fact
from oxygen_ros.sim import CUBE_COLORS
from oxygen_ros.sim.texts import HIDDEN
from oxygen_ros.sim.texts import random_place

WHAT_SEEN, WHAT_DONE = 'what do you see?', 'what are you doing?'
COLOR_QUESTIONS = ('where is the {} cube?', 'where is {}?')
ABSENT = 'yellow'            # no such cube is on the table: all there is to know are facts

_WHERE_CHANCE, _HIDDEN_CHANCE = 0.75, 0.8    # asks about a place; about a cube that is hidden
_MEMORY_CHANCE, _KNOWN_CHANCE = 0.8, 0.75    # there are facts; the cube asked for is among them
_INVENTED_CHANCE = 0.5                       # a hidden cube's fact is any, so that it is read
_ABSENT_CHANCE = 0.15                        # of the places that are asked for


def ask_about(frames: dict[str, NDArray], *, seed: int) -> list[tuple[str, str]]:
    """Return (prompt, answer) about each frame; frames are in order within their episodes."""
    random = np.random.default_rng((seed, 1))
    known: dict[str, str] = {}
    episode, pairs = None, []
    for number, texts in zip(frames['episodes'], frames['texts']):
        _, subtask, narration, memory = map(str, texts)
        if number != episode:
            episode, known = number, {}
        pairs.append(_pair(random, subtask, narration, known))
        known = {**known, **_places(memory)}
    return pairs


def _pair(random: np.random.Generator, subtask: str, narration: str,
          known: dict[str, str]) -> tuple[str, str]:
    places = dict(entry.split(' ', 1) for entry in narration.split(', '))
    hidden = [color for color, place in places.items() if place == HIDDEN]
    places[ABSENT] = HIDDEN
    known = {**known, ABSENT: random_place(random)}
    for color in hidden:
        if random.random() < _INVENTED_CHANCE:
            known[color] = random_place(random)
    if random.random() >= _WHERE_CHANCE:
        question, answer = ((WHAT_SEEN, ' ' + narration) if random.random() < 0.5
                            else (WHAT_DONE, ' ' + subtask))
        told = _told(random, '', known)
    else:
        color = _asked(random, hidden)
        question = COLOR_QUESTIONS[random.integers(len(COLOR_QUESTIONS))].format(color)
        told = _told(random, color, known)
        answer = _where(color, places[color], known[color] if color in told else None)
    facts = [fact_words(f'{color} cube', 'is', known[color]) for color in told]
    return memory_prompt(facts) + question_prompt(question), answer


def _asked(random: np.random.Generator, hidden: Sequence[str]) -> str:
    """Return the colour of the cube whose place is asked for."""
    if random.random() < _ABSENT_CHANCE:
        return ABSENT
    pool = hidden if hidden and random.random() < _HIDDEN_CHANCE else tuple(CUBE_COLORS)
    return pool[random.integers(len(pool))]


def _told(random: np.random.Generator, asked: str, known: dict[str, str]) -> list[str]:
    """Return the colours whose facts stand before a question, in any order."""
    if random.random() >= _MEMORY_CHANCE:
        return []
    told = [color for color in known
            if random.random() < (_KNOWN_CHANCE if color == asked else 0.4)]
    return [str(color) for color in random.permutation(told)]


def _where(color: str, place: str, remembered: str | None) -> str:
    if place == HIDDEN and remembered:
        return f' the {color} cube was {remembered}'
    return f' the {color} cube is {place}'


def _places(memory: str) -> dict[str, str]:
    """Return the place of each colour that the facts tell of."""
    facts = [parse_fact(line) for line in memory.splitlines()]
    return {subject.split()[0]: place for subject, _, place, _ in facts}
