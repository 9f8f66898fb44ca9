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

"""Standing language tasks: what the robot says without being asked (config/tasks.yaml)."""

from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import asdict
from dataclasses import dataclass
from pathlib import Path

import yaml

from oxygen_ros.config.errors import ConfigError
from oxygen_ros.config.errors import require_choice
from oxygen_ros.config.errors import require_keys
from oxygen_ros.config.errors import require_range
from oxygen_ros.config.errors import require_whole
from oxygen_ros.config.resources import find_share_file

DEFAULT_TASKS = 'config/tasks.yaml'
# Models of this package that were trained on prompts of their own.
TASKS_OF = {'builtin:tabletop': 'config/tasks_table_top.yaml'}
NO_TASKS = 'none'
TRIGGERS = ('every_frame', 'every_s', 'on_change')
DESTINATIONS = ('language', 'memory', 'say', 'instruction')
RESERVED = 'ask'                   # the name of questions, on ~/language


@dataclass(frozen=True)
class StandingTask:
    """One text that is written again and again about new frames."""

    name: str
    prompt: str                            # private suffix after the shared prefix; {instruction}
    trigger: str = 'every_frame'           # at most one text of a task runs unless overlap
    period_s: float = 1.0                  # for every_s
    overlap: bool = False                  # start a new text while the last one still runs
    priority: int = 0                      # 0 to 10, higher first
    max_tokens: int = 16
    target_tokens_per_s: float | None = None
    temperature: float = 0.0
    top_p: float = 1.0
    stop: tuple[str, ...] = ()
    expiry_s: float | None = None
    # Besides ~/language, where every text goes. memory: lines become facts; say: whole sentences
    # are spoken; instruction: the text is what the actions shall do next (two-level control).
    destination: tuple[str, ...] = ('language',)
    choices: tuple[tuple[str, ...], ...] = ()   # words allowed per position; () = free text

    def __post_init__(self):
        """Check every field; one destination or stop string need not be in a list."""
        where = f'task {self.name}'
        for name in ('destination', 'stop'):
            value = getattr(self, name)
            object.__setattr__(self, name, (value,) if isinstance(value, str) else tuple(value))
        if not self.name.isidentifier() or self.name == RESERVED:
            raise ConfigError(f'task name {self.name!r} must be a word of letters, digits and _, '
                              f'other than {RESERVED}')
        if not isinstance(self.prompt, str):
            raise ConfigError(f'{where}: prompt is {self.prompt!r}; give a text in quotes')
        require_choice(f'{where}: trigger', self.trigger, TRIGGERS)
        for word in self.destination:
            require_choice(f'{where}: destination', word, DESTINATIONS)
        for word in self.stop:
            if not isinstance(word, str) or not word:
                raise ConfigError(f'{where}: stop has {word!r}; give texts in quotes')
        require_choice(f'{where}: overlap', self.overlap, (False, True))
        require_range(f'{where}: period_s', self.period_s, 0.01, 86400, 's')
        require_whole(f'{where}: priority', self.priority, 0, 10)
        require_whole(f'{where}: max_tokens', self.max_tokens, 1, 4096, 'tokens')
        require_range(f'{where}: temperature', self.temperature, 0, 10)
        require_range(f'{where}: top_p', self.top_p, 0.01, 1)
        if not all(words and all(words) for words in self.choices):
            raise ConfigError(f'{where}: choices have an empty position or word; give at least '
                              'one word per position')
        if self.target_tokens_per_s is not None:
            require_range(f'{where}: target_tokens_per_s', self.target_tokens_per_s, 0.1, 1e5)
        if self.expiry_s is not None:
            require_range(f'{where}: expiry_s', self.expiry_s, 0.01, 3600, 's')


FIELDS = tuple(name for name in StandingTask.__dataclass_fields__ if name != 'name')


def choose_tasks(given: Path | str, checkpoint: str) -> tuple[StandingTask, ...]:
    """
    Load the tasks file that the user gave; 'none': no task.

    '': the shipped file with the prompts that the checkpoint was trained on, where there is one,
    else config/tasks.yaml. Raises ConfigError as load_tasks does.
    """
    if given == NO_TASKS:
        return ()
    return load_tasks(Path(given) if given else find_share_file(
        TASKS_OF.get(checkpoint, DEFAULT_TASKS)))


def load_tasks(path: Path) -> tuple[StandingTask, ...]:
    """
    Load standing tasks from YAML: a mapping of task name to its fields.

    Raises ConfigError naming the file, the task, the key and the remedy.
    """
    if not path.is_file():
        raise ConfigError(f'tasks file {path} does not exist; check the path')
    try:
        return tasks_from_dict(yaml.safe_load(path.read_text(encoding='utf-8')) or {})
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f'tasks file {path} is not valid YAML: {error}') from error
    except ConfigError as error:
        raise ConfigError(f'{path}: {error}') from error


def tasks_from_dict(data: Mapping) -> tuple[StandingTask, ...]:
    """Build tasks from the parsed YAML; unknown keys are refused."""
    if not isinstance(data, Mapping):
        raise ConfigError(f'tasks are {data!r}; give a mapping of task name to its fields')
    tasks = []
    for name, entry in data.items():
        require_keys(f'task {name}', entry or {}, FIELDS)
        if not entry or 'prompt' not in entry:
            raise ConfigError(f'task {name} has no prompt; give the text that starts it')
        entry = {key: value for key, value in entry.items() if value is not None}
        try:
            entry['choices'] = tuple(tuple(str(word) for word in words)
                                     for words in entry.get('choices', ()))
            tasks.append(StandingTask(name=str(name), **entry))
        except TypeError as error:
            raise ConfigError(f'task {name}: {error}; choices are a list of lists of words, stop '
                              'and destination a word or a list of words') from error
    return tuple(tasks)


def tasks_to_dict(tasks: Sequence[StandingTask]) -> dict[str, dict]:
    """Return what tasks_from_dict reads, with every field that is set, tuples as lists."""
    def plain(value):
        return [plain(part) for part in value] if isinstance(value, tuple) else value

    return {task.name: {key: plain(value) for key, value in asdict(task).items()
                        if key != 'name' and value not in (None, ())}
            for task in tasks}


class TaskDumper(yaml.SafeDumper):
    """Writes a line break inside a text as such: most prompts begin with one."""

    def represent_str(self, data: str):
        """Put a text of several lines in double quotes."""
        style = '"' if '\n' in data else None
        return self.represent_scalar('tag:yaml.org,2002:str', data, style=style)


TaskDumper.add_representer(str, TaskDumper.represent_str)


def tasks_to_yaml(tasks: Sequence[StandingTask]) -> str:
    """Return tasks as a tasks file."""
    return yaml.dump(tasks_to_dict(tasks), Dumper=TaskDumper, sort_keys=False, allow_unicode=True,
                     default_flow_style=None, width=1000)


def check_tasks(tasks: Sequence[StandingTask], *, max_text_tokens: int) -> None:
    """Raise ConfigError for a task whose every text the engine would refuse."""
    for task in tasks:
        if task.max_tokens > max_text_tokens:
            raise ConfigError(f'task {task.name}: max_tokens {task.max_tokens} is more than '
                              f'max_text_tokens {max_text_tokens}; lower it, or raise that '
                              'parameter')
    feeding = [task.name for task in tasks if 'instruction' in task.destination]
    if len(feeding) > 1:
        raise ConfigError(f'tasks {", ".join(feeding)} all have destination instruction; only '
                          'one may say what the actions shall do')
