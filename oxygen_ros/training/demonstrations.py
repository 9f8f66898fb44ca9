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
Demonstrations: the simulator's teacher does the tasks, what it saw, did and could say is kept.

An episode follows from its number and a seed alone, whatever process runs it. Some episodes are
disturbed by a kick, so that the student learns to recover; no kept chunk of actions overlaps a
kick or a change of mind, because a student copies what it is shown, noise too.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from oxygen_ros.training.moments import Frames
from oxygen_ros.training.moments import HORIZON
from oxygen_ros.training.moments import other_task
from oxygen_ros.training.moments import phrase
from oxygen_ros.training.moments import Stage

_MAX_DECISIONS = 150
_EXTRA_DECISIONS = 26        # after success
_KEEP_EVERY = 3              # decisions
_KICK_CHANCE, _SWITCH_CHANCE, _HIDE_CHANCE, _HIDDEN_FROM_START = 0.45, 0.2, 0.3, 0.3
_KICK_RAD = np.array([0.12, 0.12, 0.12, 0.10, 0.15, 0.30])   # standard deviation


@dataclass(frozen=True)
class Plan:
    """What happens in one episode besides the task; decision numbers, -1 for never."""

    kick: range                        # decisions with an offset
    offset: NDArray[np.float64]        # [6] rad
    switch: int                        # from here on another task
    hide: int                          # a cube that the task is not about disappears here


class Demonstrator:
    """Runs episodes on one simulated table."""

    def __init__(self, seed: int):
        self._seed = seed
        self._stage = Stage()

    def run(self, number: int, frames: Frames) -> bool:
        """Run one episode; its frames are kept only if it succeeds. Returns whether it did."""
        random = np.random.default_rng((self._seed, number))
        stage, table = self._stage, self._stage.table
        kept, commands = [], [stage.begin(random)]
        plan = _draw_plan(random)
        instruction = phrase(random, table.task)
        first, end, hidden = int(random.integers(_KEEP_EVERY)), None, ''
        for step in range(_MAX_DECISIONS):
            if step == plan.switch:
                table.task = other_task(random, table.task, hidden)
                instruction = phrase(random, table.task)
            if step == plan.hide:
                hidden = stage.hide(random)
            decision = stage.expert.decide()
            if step % _KEEP_EVERY == first and not _disturbed(step, plan):
                kept.append((step, stage.look(instruction, decision.phase)))
            target = decision.target + (plan.offset if step in plan.kick else 0)
            commands.append(stage.obey(commands[-1], target))
            if end is None and step > plan.switch and table.success():
                end = step + _EXTRA_DECISIONS
            if step == end:
                break
        if end is None:
            return False
        for step, moment in kept:
            if step + HORIZON <= len(commands):
                stage.keep(frames, moment, commands[step:step + HORIZON], number)
        return True

    def close(self) -> None:
        """Free the renderer."""
        self._stage.close()


def _draw_plan(random: np.random.Generator) -> Plan:
    kick = switch = hide = -1
    length = int(random.integers(4, 9))
    offset = random.normal(size=len(_KICK_RAD)) * _KICK_RAD
    if random.random() < _KICK_CHANCE:
        kick = int(random.integers(3, 45))
    if random.random() < _SWITCH_CHANCE:
        switch = int(random.integers(5, 60))
    if random.random() < _HIDE_CHANCE:
        hide = 0 if random.random() < _HIDDEN_FROM_START else int(random.integers(1, 50))
    return Plan(range(kick, kick + length) if kick >= 0 else range(0), offset, switch, hide)


def _disturbed(step: int, plan: Plan) -> bool:
    """Return whether the chunk of a frame overlaps what the frame cannot foretell."""
    decisions = range(step - 1, step + HORIZON - 1)     # behind the commands of the chunk
    if plan.kick and max(decisions[0], plan.kick[0]) <= min(decisions[-1], plan.kick[-1]):
        return True
    return step < plan.switch <= decisions[-1]
