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

"""Episodes to judge a robot by: where things lie, what it is told, what counts as done."""

from dataclasses import dataclass

from oxygen_ros.sim.scene import CUBE_COLORS
from oxygen_ros.sim.tasks import HELD_OUT_PHRASINGS
from oxygen_ros.sim.tasks import PHRASINGS
from oxygen_ros.sim.tasks import Task

# Training draws its seeds below 2**31.
FIRST_SEED = 2 ** 32
MAX_SECONDS = 10.0           # until then a task has to be done


@dataclass(frozen=True)
class Trial:
    """One episode to run."""

    seed: int
    task: Task                 # what counts as done
    instruction: str           # what the robot is told
    spots: str = 'any'         # where the cube of the task may lie


def make_trials(verb: str, num_episodes: int, *, first_seed: int = FIRST_SEED,
                held_out: bool = False) -> list[Trial]:
    """Return trials of one kind of task, all colours in turn, in words never trained if wanted."""
    phrases = (HELD_OUT_PHRASINGS if held_out else PHRASINGS)[verb]
    colors = tuple(CUBE_COLORS)
    trials = []
    for number in range(num_episodes):
        task = Task(verb, colors[number % len(colors)])
        phrase = phrases[number // len(colors) % len(phrases)].format(color=task.color)
        trials.append(Trial(first_seed + number, task, phrase, 'held_out' if held_out else 'any'))
    return trials
