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
Corrections: the student drives, the teacher says at every look what it would do from there.

What a student that only ever saw its teacher does not know is how to go on from where its own
mistakes have brought it (DAgger, Ross et al., arXiv 1011.0686). The label of such a moment is the
chunk of commands with which the teacher goes on from it; then the world is put back and the
student drives on. A whole episode is kept, whether it succeeds or not.
"""

from pathlib import Path

import numpy as np
import torch

from oxygen_ros.checkpoint.standalone import load_policy
from oxygen_ros.training.moments import Frames
from oxygen_ros.training.moments import HORIZON
from oxygen_ros.training.moments import Moment
from oxygen_ros.training.moments import other_task
from oxygen_ros.training.moments import phrase
from oxygen_ros.training.moments import ROBOT
from oxygen_ros.training.moments import Stage

FIRST_NUMBER = 1_000_000     # episodes of demonstrations have smaller ones

_MAX_DECISIONS = 130
_EXTRA_DECISIONS = 16        # after success
_DECISIONS_PER_LOOK = (3, 4, 5)        # one of them, for a whole episode; 4 is what the node does
_SWITCH_CHANCE, _HIDE_CHANCE = 0.2, 0.3


class Corrector:
    """Runs episodes of a student on one simulated table."""

    def __init__(self, checkpoint: Path, seed: int):
        torch.set_num_threads(1)
        self._seed = seed
        self._stage = Stage()
        self._student = load_policy(str(checkpoint), robot=ROBOT)

    def run(self, number: int, frames: Frames, *, max_decisions: int = _MAX_DECISIONS) -> bool:
        """Run one episode and keep its looks. Returns whether the student did the task."""
        random = np.random.default_rng((self._seed, FIRST_NUMBER + number))
        stage, table = self._stage, self._stage.table
        command = stage.begin(random)
        instruction = phrase(random, table.task)
        per_look = int(random.choice(_DECISIONS_PER_LOOK))
        switch = int(random.integers(5, 80)) if random.random() < _SWITCH_CHANCE else -1
        hide = int(random.integers(0, 60)) if random.random() < _HIDE_CHANCE else -1
        hidden, end, chunk = '', max_decisions, None
        for step in range(max_decisions):
            if step == switch:
                table.task = other_task(random, table.task, hidden)
                instruction = phrase(random, table.task)
            if step == hide:
                hidden = stage.hide(random)
            if step % per_look == 0:
                moment = self._look(instruction, command, frames, number)
                noise = random.normal(size=(self._student.horizon, self._student.action_dim))
                chunk = self._student.act(moment.images, moment.joints, instruction,
                                          noise=noise).actions
            command = stage.obey(command, chunk[step % per_look + 1].astype(np.float64))
            if end == max_decisions and step > switch and table.success():
                end = step + _EXTRA_DECISIONS
            if step >= end:
                break
        return end < max_decisions

    def close(self) -> None:
        """Free the renderer."""
        self._stage.close()

    def _look(self, instruction: str, command: np.ndarray, frames: Frames,
              number: int) -> Moment:
        """Keep this moment with the teacher's next commands; return it, the world as it was."""
        stage = self._stage
        before = stage.table.snapshot()
        decision = stage.expert.decide()
        moment = stage.look(instruction, decision.phase)
        commands = [command]
        for _ in range(HORIZON - 1):
            commands.append(stage.obey(commands[-1], stage.expert.decide().target))
        stage.table.restore(before)
        stage.keep(frames, moment, commands, FIRST_NUMBER + number)
        return moment
