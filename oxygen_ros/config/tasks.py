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

from dataclasses import dataclass
from pathlib import Path

import yaml

from oxygen_ros.config.errors import ConfigError
from oxygen_ros.config.errors import require_choice
from oxygen_ros.config.errors import require_keys
from oxygen_ros.config.errors import require_range

TRIGGERS = ('every_frame', 'every_s', 'on_change')
DESTINATIONS = ('language', 'memory')


@dataclass(frozen=True)
class StandingTask:
    """One text that is written again and again about new frames."""

    name: str
    prompt: str                            # private suffix after the shared prefix
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
    destination: str = 'language'          # memory: finished lines also become facts
    choices: tuple[tuple[str, ...], ...] = ()   # words allowed per position; () = free text

    def __post_init__(self):
        """Check every field."""
        where = f'task {self.name}'
        if not self.name or not self.name.isidentifier():
            raise ConfigError(f'task name {self.name!r} must be a word of letters, digits and _')
        require_choice(f'{where}: trigger', self.trigger, TRIGGERS)
        require_choice(f'{where}: destination', self.destination, DESTINATIONS)
        require_range(f'{where}: period_s', self.period_s, 0.01, 86400, 's')
        require_range(f'{where}: priority', self.priority, 0, 10)
        require_range(f'{where}: max_tokens', self.max_tokens, 1, 4096, 'tokens')
        require_range(f'{where}: temperature', self.temperature, 0, 10)
        require_range(f'{where}: top_p', self.top_p, 0.01, 1)
        if self.target_tokens_per_s is not None:
            require_range(f'{where}: target_tokens_per_s', self.target_tokens_per_s, 0.1, 1e5)
        if self.expiry_s is not None:
            require_range(f'{where}: expiry_s', self.expiry_s, 0.01, 3600, 's')


def load_tasks(path: Path) -> tuple[StandingTask, ...]:
    """
    Load standing tasks from YAML: a mapping of task name to its fields.

    Raises ConfigError naming the file, the task, the key and the remedy.
    """
    if not path.is_file():
        raise ConfigError(f'tasks file {path} does not exist; check the path')
    try:
        data = yaml.safe_load(path.read_text(encoding='utf-8')) or {}
        return tasks_from_dict(data)
    except yaml.YAMLError as error:
        raise ConfigError(f'tasks file {path} is not valid YAML: {error}') from error
    except ConfigError as error:
        raise ConfigError(f'{path}: {error}') from error


def tasks_from_dict(data: dict) -> tuple[StandingTask, ...]:
    """Build tasks from the parsed YAML; unknown keys are refused."""
    known = tuple(name for name in StandingTask.__dataclass_fields__ if name != 'name')
    tasks = []
    for name, entry in data.items():
        require_keys(f'task {name}', entry or {}, known)
        entry = dict(entry or {})
        entry['stop'] = tuple(entry.get('stop') or ())
        entry['choices'] = tuple(tuple(str(word) for word in words)
                                 for words in entry.get('choices') or ())
        if 'prompt' not in entry:
            raise ConfigError(f'task {name} has no prompt; give the text that starts it')
        tasks.append(StandingTask(name=str(name), **entry))
    return tuple(tasks)
