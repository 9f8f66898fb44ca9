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

"""Standing tasks from YAML and changed at run time: all of it, or a message that helps."""

import pytest

from oxygen_ros.config import choose_tasks
from oxygen_ros.config import ConfigError
from oxygen_ros.config import find_share_file
from oxygen_ros.config import load_tasks
from oxygen_ros.config import StandingTask
from oxygen_ros.config.task_changes import change_tasks
from oxygen_ros.config.task_changes import edit_changes
from oxygen_ros.config.task_changes import parse_fields
from oxygen_ros.config.tasks import check_tasks
from oxygen_ros.config.tasks import tasks_to_yaml

TASKS = (StandingTask('narrate', '\nNarrate: ', priority=1, stop='.'),
         StandingTask('memory', '\nMemory: ', destination='memory', trigger='every_s',
                      choices=(('cup', 'cube'), (' | is | ',), ('here',))))


def test_shipped_tasks_are_the_three_of_the_method():
    """They load, and what is published of them is a tasks file again."""
    tasks = load_tasks(find_share_file('config/tasks.yaml'))
    assert [task.name for task in tasks] == ['narrate', 'subtask', 'memory']


def test_a_checkpoint_gets_the_prompts_it_was_trained_on_unless_others_are_given(tmp_path):
    """The table-top model has its own; 'none' and a file go before."""
    own = load_tasks(find_share_file('config/tasks_table_top.yaml'))
    shipped = load_tasks(find_share_file('config/tasks.yaml'))
    assert own != shipped
    assert choose_tasks('', 'builtin:tabletop') == own
    assert choose_tasks('', 'builtin:tiny') == choose_tasks('', '/some/folder') == shipped
    assert choose_tasks('none', 'builtin:tabletop') == ()
    (tmp_path / 'tasks.yaml').write_text(tasks_to_yaml(TASKS))
    assert choose_tasks(tmp_path / 'tasks.yaml', 'builtin:tabletop') == TASKS


def test_tasks_written_as_a_file_are_the_same_tasks_when_read(tmp_path):
    """Line breaks, choices and defaults included."""
    path = tmp_path / 'tasks.yaml'
    path.write_text(tasks_to_yaml(TASKS))
    assert load_tasks(path) == TASKS
    assert r'prompt: "\nNarrate: "' in path.read_text()


def test_one_word_stands_for_a_list_of_one():
    """A stop string is not a list of letters."""
    assert TASKS[0].stop == ('.',)
    assert TASKS[1].destination == ('memory',)


@pytest.mark.parametrize('changes, names', [
    ('', ['narrate', 'memory']),
    ('{narrate: off}', ['memory']),
    ('{narrate: on}', ['narrate', 'memory']),
    ('{look: {prompt: "Look: "}}', ['narrate', 'memory', 'look']),
    ('{narrate: off, memory: off}', []),
])
def test_tasks_are_switched_and_added(changes, names):
    """On and off leave their fields alone."""
    assert [task.name for task in change_tasks(TASKS, changes)] == names


def test_fields_are_changed_one_by_one():
    """What is not named stays."""
    narrate, memory = change_tasks(TASKS, '{narrate: {priority: 7, destination: [say, memory]}}')
    assert (narrate.priority, narrate.destination) == (7, ('say', 'memory'))
    assert (narrate.prompt, narrate.stop) == (TASKS[0].prompt, TASKS[0].stop)
    assert memory == TASKS[1]


@pytest.mark.parametrize('changes, words', [
    ('{', 'not valid YAML'),
    ('[narrate]', 'give a mapping'),
    ('narrate', 'give a mapping'),
    ('{gone: off}', 'no task gone.*narrate, memory'),
    ('{gone: on}', 'give its fields, on or off'),
    ('{narrate: 3}', 'give its fields, on or off'),
    ('{look: {}}', 'look has no prompt'),
    ('{narrate: {prio: 3}}', "unknown key 'prio'.*priority"),
    ('{narrate: {max_tokens: 2.5}}', 'narrate: max_tokens is 2.5.*whole'),
    ('{narrate: {max_tokens: 0}}', 'from 1 to 4096'),
    ('{narrate: {priority: high}}', "priority is 'high'"),
    ('{narrate: {trigger: often}}', "trigger is 'often'.*every_frame, every_s, on_change"),
    ('{narrate: {destination: disk}}', "destination is 'disk'.*language, memory, say"),
    ('{narrate: {destination: 3}}', 'narrate:.*a word or a list of words'),
    ('{narrate: {choices: 3}}', 'narrate:.*list of lists of words'),
    ('{narrate: {choices: [[a], []]}}', 'choices have an empty position'),
    ('{narrate: {stop: [3]}}', 'stop has 3'),
    ('{narrate: {prompt: 3}}', 'prompt is 3'),
    ('{narrate: {overlap: maybe}}', "overlap is 'maybe'"),
    ('{ask: {prompt: "x"}}', "task name 'ask'.*other than ask"),
    ('{"two words": {prompt: "x"}}', "task name 'two words'"),
])
def test_a_wrong_change_is_refused_with_the_remedy(changes, words):
    """The message names the task, the field and what may be there."""
    with pytest.raises(ConfigError, match=words):
        change_tasks(TASKS, changes)


@pytest.mark.parametrize('text, words', [
    ('- narrate', 'give a mapping of task name'), ('narrate: [', 'not valid YAML'),
    ('narrate:', 'narrate has no prompt'), ('narrate: text', 'must be a mapping')])
def test_a_wrong_file_is_refused_with_its_name(tmp_path, text, words):
    """Never a traceback, whatever the YAML is."""
    (tmp_path / 'tasks.yaml').write_text(text)
    with pytest.raises(ConfigError, match=f'tasks.yaml.*{words}'):
        load_tasks(tmp_path / 'tasks.yaml')


def test_a_task_that_the_engine_would_always_refuse_is_refused_at_once():
    """Too long for the configured texts; two tasks that both say what to do."""
    with pytest.raises(ConfigError, match='narrate: max_tokens 16 is more than max_text_tokens 8'):
        check_tasks(TASKS, max_text_tokens=8)
    both = change_tasks(TASKS, '{narrate: {destination: instruction}, '
                               'memory: {destination: [memory, instruction]}}')
    with pytest.raises(ConfigError, match='narrate, memory all have destination instruction'):
        check_tasks(both, max_text_tokens=64)
    check_tasks(TASKS, max_text_tokens=16)


def test_changes_add_up_and_can_be_undone():
    """Step by step, as from a command line."""
    fields = parse_fields(['priority=7', 'prompt="\\nSay: "', 'destination=[say, memory]'])
    text = edit_changes('', 'set', 'narrate', fields)
    text = edit_changes(edit_changes(text, 'off', 'memory'), 'set', 'narrate', {'top_p': 0.5})
    narrate, = change_tasks(TASKS, text)
    assert (narrate.priority, narrate.prompt, narrate.top_p) == (7, '\nSay: ', 0.5)
    assert narrate.destination == ('say', 'memory') and '\n' not in text
    assert change_tasks(TASKS, edit_changes(text, 'on', 'narrate')) == TASKS[:1]
    assert edit_changes(text, 'reset') == ''


@pytest.mark.parametrize('word', ['priority', 'prompt="', 'stop=['])
def test_a_field_that_cannot_be_read_is_named(word):
    """No equals sign, a quote that does not end."""
    with pytest.raises(ConfigError, match='FIELD=VALUE|not valid YAML'):
        parse_fields([word])
