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

"""Texts go where their task sends them, also while tasks change."""

import pytest

from oxygen_ros.config import StandingTask
from oxygen_ros.runtime.destinations import Destinations
from oxygen_ros.runtime.subtask import SubtaskControl
from oxygen_ros.types import EndReason
from oxygen_ros.types import TokenDelta


class Bench:
    """Destinations and what came out of them."""

    def __init__(self):
        self.facts, self.spoken, self.malformed = [], [], []
        self.subtasks = SubtaskControl(lambda subtask: None)
        self.destinations = Destinations(
            self.subtasks, on_malformed=self.malformed.append,
            on_fact=lambda fact: self.facts.append(fact.subject),
            on_sentence=lambda sentence: self.spoken.append(sentence.text))

    def tasks(self, **destinations):
        """Have tasks with these destinations."""
        self.destinations.set_tasks([StandingTask(name, 'x', destination=words)
                                     for name, words in destinations.items()])

    def write(self, task, text, *, request_id='', whole='', final=True):
        """Send a piece of a text, by default the only one."""
        self.destinations.push(TokenDelta(
            request_id or f'{task}-1', task, 1, 1, 0, text, 1, final=final,
            reason=EndReason.EOS if final else None, full_text=whole or text))


@pytest.fixture
def bench():
    """Return what the tests need."""
    return Bench()


def test_each_task_has_its_destination(bench):
    """A task with none but the language stream leaves no trace elsewhere."""
    bench.tasks(memory='memory', narrate='say', subtask='instruction', quiet='language')
    for task, text in (('memory', 'cup | is | here'), ('narrate', 'Hello.'), ('quiet', 'Psst.'),
                       ('subtask', 'grasp the cup')):
        bench.write(task, text)
    assert (bench.facts, bench.spoken) == (['cup'], ['Hello.'])
    assert bench.subtasks.current.text == 'grasp the cup'


def test_a_text_may_have_several_destinations(bench):
    """A subtask that is also spoken."""
    bench.tasks(subtask=['instruction', 'say'])
    bench.write('subtask', 'grasp the cup')
    assert bench.spoken == ['grasp the cup'] == [bench.subtasks.current.text]


def test_a_text_ends_where_it_began_when_tasks_change_meanwhile(bench):
    """And the next text of the task goes to the new destination only."""
    bench.tasks(memory='memory')
    bench.write('memory', 'cup | is', request_id='memory-1', final=False)
    bench.tasks(memory='say')
    bench.write('memory', ' | here', request_id='memory-1')
    bench.write('memory', 'cube | is | there', request_id='memory-2')
    assert (bench.facts, bench.spoken) == (['cup'], ['cube | is | there'])


def test_answers_are_spoken_only_if_wanted(bench):
    """They belong to no standing task."""
    bench.write('ask', 'A cup.', request_id='ask-1')
    bench.destinations.speak_answers = True
    bench.write('ask', 'A cube.', request_id='ask-2')
    assert bench.spoken == ['A cube.']


def test_a_subtask_ends_when_no_task_feeds_the_actions_any_more(bench):
    """Switched off by the operator while the robot moves."""
    bench.tasks(subtask='instruction')
    bench.write('subtask', 'grasp the cup')
    bench.tasks(subtask='language')
    assert bench.subtasks.current.text == ''


def test_malformed_lines_are_told_and_nothing_else(bench):
    """They are on the language stream already."""
    bench.tasks(memory='memory')
    bench.write('memory', 'cup is here')
    assert not bench.facts and len(bench.malformed) == 1
