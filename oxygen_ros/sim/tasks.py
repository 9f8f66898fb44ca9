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


"""What the table-top robot can be asked to do, in words."""

from dataclasses import dataclass

from oxygen_ros.config import ConfigError
from oxygen_ros.config.errors import require_choice
from oxygen_ros.sim.scene import CUBE_COLORS

# First phrasing of each verb is the one the simulator itself uses.
PHRASINGS = {
    'pick': ('pick up the {color} cube', 'lift the {color} cube', 'grab the {color} cube',
             'take the {color} cube'),
    'put': ('put the {color} cube in the tray', 'place the {color} cube in the tray',
            'move the {color} cube into the tray', 'drop the {color} cube in the tray'),
}
# Never trained with, to see whether the model reads words or knows sentences by heart.
HELD_OUT_PHRASINGS = {
    'pick': ('lift up the {color} cube', 'pick the {color} cube up'),
    'put': ('place the {color} cube into the tray', 'take the {color} cube to the tray'),
}


@dataclass(frozen=True)
class Task:
    """Pick up a cube, or put it in the tray."""

    verb: str    # 'pick' | 'put'
    color: str   # one of CUBE_COLORS

    def __post_init__(self):
        """Check both words."""
        require_choice('task verb', self.verb, tuple(PHRASINGS))
        require_choice('task color', self.color, tuple(CUBE_COLORS))

    @property
    def instruction(self) -> str:
        """The task in words."""
        return PHRASINGS[self.verb][0].format(color=self.color)

    @staticmethod
    def from_instruction(text: str) -> 'Task':
        """Read a task from words; raises ConfigError listing what is understood."""
        words = ' '.join(text.lower().rstrip('.! ').split())
        for task in ALL_TASKS:
            phrases = PHRASINGS[task.verb] + HELD_OUT_PHRASINGS[task.verb]
            if words in (phrase.format(color=task.color) for phrase in phrases):
                return task
        known = '; '.join(phrases[0].format(color='COLOR') for phrases in PHRASINGS.values())
        raise ConfigError(f'the simulator knows no task {text!r}; say one of: {known}, '
                          f'with COLOR one of {", ".join(CUBE_COLORS)}')


ALL_TASKS = tuple(Task(verb, color) for verb in PHRASINGS for color in CUBE_COLORS)
