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

"""Changes to standing tasks at run time: one line of YAML, the node's parameter task_changes."""

from collections.abc import Mapping
from collections.abc import Sequence

import yaml

from oxygen_ros.config.errors import ConfigError
from oxygen_ros.config.errors import require_keys
from oxygen_ros.config.tasks import FIELDS
from oxygen_ros.config.tasks import StandingTask
from oxygen_ros.config.tasks import TaskDumper
from oxygen_ros.config.tasks import tasks_from_dict
from oxygen_ros.config.tasks import tasks_to_dict


def parse_changes(text: str) -> dict:
    """Read what is to change about tasks, YAML: {narrate: {priority: 5}, memory: off}."""
    try:
        changes = yaml.safe_load(text) or {}
    except yaml.YAMLError as error:
        lines = ' '.join(str(error).split())
        raise ConfigError(f'task changes {text!r} are not valid YAML: {lines}') from error
    if not isinstance(changes, dict):
        raise ConfigError(f'task changes are {text!r}; give a mapping such as '
                          '{narrate: {priority: 5}, memory: off}')
    return changes


def change_tasks(tasks: Sequence[StandingTask], text: str) -> tuple[StandingTask, ...]:
    """
    Return tasks with the changes of parse_changes: fields, off, on, or a whole new task.

    Raises ConfigError; then nothing changes.
    """
    data = tasks_to_dict(tasks)
    for name, entry in parse_changes(text).items():
        if entry is True and name in data:
            continue
        if entry is False:
            if name not in data:
                raise ConfigError(f'there is no task {name} to switch off; there are: '
                                  f'{", ".join(data) or "none"}')
            del data[name]
            continue
        if not isinstance(entry, dict):
            raise ConfigError(f'task {name} is {entry!r}; give its fields, on or off')
        require_keys(f'task {name}', entry, FIELDS)
        data[name] = {**data.get(name, {}), **entry}
    return tasks_from_dict(data)


def parse_fields(words: Sequence[str]) -> dict:
    """Return words FIELD=VALUE, the value as in YAML, as a mapping; raises ConfigError."""
    fields = {}
    for word in words:
        name, equals, value = word.partition('=')
        if not equals:
            raise ConfigError(f'{word!r} is not FIELD=VALUE')
        try:
            fields[name] = yaml.safe_load(value)
        except yaml.YAMLError as error:
            raise ConfigError(f'{word!r}: the value is not valid YAML; put it in quotes twice') \
                from error
    return fields


def edit_changes(text: str, verb: str, name: str = '', fields: Mapping | None = None) -> str:
    """
    Return changes with one more: `set` fields of a task, switch it `on` or `off`, or `reset` all.

    `on` undoes every change of the task.
    """
    changes = {} if verb == 'reset' else parse_changes(text)
    if verb == 'set':
        before = changes.get(name)
        changes[name] = {**(before if isinstance(before, dict) else {}), **fields}
    elif verb == 'off':
        changes[name] = False
    elif verb == 'on':
        changes.pop(name, None)
    if not changes:
        return ''
    return yaml.dump(changes, Dumper=TaskDumper, default_flow_style=True, sort_keys=False,
                     allow_unicode=True, width=100_000).strip()
