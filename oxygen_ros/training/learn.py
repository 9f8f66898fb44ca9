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
Trains in several processes that average their weights every few steps (local SGD).

Two processes with a thread each learn twice as fast as one with two threads, and need to meet
only seldom. Every random number comes from the seed, the rank and the step, so that a run can be
stopped and taken up again, and two runs are equal to the last bit.
"""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Sequence
import copy
from dataclasses import dataclass
from dataclasses import fields
import os
from pathlib import Path
import time

import numpy as np
import torch
from torch import nn

from oxygen_ros.training import losses
from oxygen_ros.training.dataset import Dataset
from oxygen_ros.training.network import Student

AVERAGE_EVERY = 8            # steps
SAVE_EVERY, REPORT_EVERY = 40, 40      # steps; multiples of AVERAGE_EVERY
EMA_DECAY = 0.998
BETAS, WEIGHT_DECAY, MAX_NORM = (0.9, 0.98), 0.02, 1.0
WARM_UP_STEPS, LAST_RATE, DECAY_SHARE = 100, 0.02, 0.4
# To act takes the most steps, so each has one text only, in turn; to tell, a step has all of them.
TEXT_TURNS = ('memory', 'narrate', 'subtask', 'question')
EMPHASIS = {'act': losses.Emphasis(text=0.3, placing=0.0, near_places=False),
            'tell': losses.Emphasis(text=1.0, placing=1.0, near_places=True)}
EMPHASIS['correct'] = EMPHASIS['tell']
WAIT_S = 0.002               # between looks at who else has come
STREAM = 1_000_003           # spreads the seeds of ranks and stages

Report = Callable[[str], None]


@dataclass(frozen=True)
class Stage:
    """How long and how fast a stage learns."""

    name: str                # 'see' | 'act' | 'tell' | 'correct'
    num_steps: int
    batch_size: int          # per process
    rate: float
    seed: int

    def rate_at(self, step: int) -> float:
        """Return the learning rate: warm-up, constant, then down in a straight line."""
        up = (step + 1) / min(WARM_UP_STEPS, self.num_steps)
        down = (self.num_steps - step) / (DECAY_SHARE * self.num_steps)
        return self.rate * min(1.0, up, max(LAST_RATE, down))


class Team:
    """
    This process among those that train together; they meet in a file that all of them map.

    A file in place of sockets: nothing can be refused or time out on a busy machine.
    """

    def __init__(self, rank: int, size: int, meeting_point: Path | None = None):
        """Join; make_meeting_point has made the file of a team of several."""
        self.rank, self.size, self._num_meetings = rank, size, 0
        torch.set_num_threads(1)
        if size > 1:
            # How often each has written and read, then the weights of each.
            self._counts = np.memmap(meeting_point, np.int64, 'r+', shape=(2, size))
            num_weights = (meeting_point.stat().st_size - self._counts.nbytes) // (4 * size)
            self._weights = np.memmap(meeting_point, np.float32, 'r+',
                                      offset=self._counts.nbytes, shape=(size, num_weights))

    def average(self, weights: Iterable[nn.Parameter]) -> None:
        """Replace the weights by their mean over all processes."""
        if self.size == 1:
            return
        tensors = [weight.data for weight in weights]
        flat = torch.cat([tensor.flatten() for tensor in tensors]).numpy()
        self._wait(1)                     # for those that still read of the last meeting
        self._weights[self.rank, :len(flat)] = flat
        self._num_meetings += 1
        self._counts[0, self.rank] = self._num_meetings
        self._wait(0)
        mean = torch.from_numpy(self._weights[:, :len(flat)].mean(axis=0))
        self._counts[1, self.rank] = self._num_meetings
        for tensor, part in zip(tensors, mean.split([tensor.numel() for tensor in tensors])):
            tensor.copy_(part.view_as(tensor))

    def _wait(self, row: int) -> None:
        while self._counts[row].min() < self._num_meetings:
            time.sleep(WAIT_S)


def make_meeting_point(path: Path, *, num_processes: int, num_weights: int) -> None:
    """Make the file in which processes meet, anew for every run."""
    path.unlink(missing_ok=True)
    with path.open('wb') as file:
        file.truncate(8 * 2 * num_processes + 4 * num_processes * num_weights)


class Course:
    """One stage of one process: weights, their running mean, the optimiser, where it stands."""

    def __init__(self, student: Student, stage: Stage, team: Team, rows: Sequence[int]):
        self.student, self.stage, self.team = student, stage, team
        self._rows = torch.as_tensor(rows)
        self._weights = ([*student.model.vision.parameters(), *student.detector.parameters()]
                         if stage.name == 'see' else list(student.parameters()))
        self._mean = copy.deepcopy(student)
        groups = [{'params': [weight for weight in self._weights if weight.dim() > 1]},
                  {'params': [weight for weight in self._weights if weight.dim() < 2],
                   'weight_decay': 0.0}]
        self._optimiser = torch.optim.AdamW(groups, betas=BETAS, weight_decay=WEIGHT_DECAY)
        self.step = 0
        self.recent: list[tuple[float, ...]] = []     # losses since the last report

    def run(self, data: Dataset, path: Path, report: Report) -> Student:
        """Learn to the end of the stage, from where `path` was written; return the mean."""
        self._resume(path)
        while self.step < self.stage.num_steps:
            self._learn(data)
            self.step += 1
            if self.step % AVERAGE_EVERY == 0 or self.step == self.stage.num_steps:
                self.team.average(self._weights)
            if self.step % REPORT_EVERY == 0:
                report(self._summary())
            if self.step % SAVE_EVERY == 0 or self.step == self.stage.num_steps:
                self._save(path)
        self.team.average(self._mean.parameters())
        return self._mean

    def _learn(self, data: Dataset) -> None:
        seed = (self.stage.seed * STREAM + self.team.rank) * STREAM + self.step
        generator = torch.Generator().manual_seed(seed % 2 ** 63)
        rows = self._rows[self._choose()]
        for group in self._optimiser.param_groups:
            group['lr'] = self.stage.rate_at(self.step)
        if self.stage.name == 'see':
            images = losses.pictures(data, rows, generator).flatten(0, 1)
            parts = (losses.detection(self.student.detect(images), data.pixels[rows].flatten(0, 1),
                                      data.shown[rows].flatten(0, 1)),)
            total = parts[0]
        else:
            tasks = ((TEXT_TURNS[self.step % len(TEXT_TURNS)],) if self.stage.name == 'act' else
                     TEXT_TURNS)
            sample = losses.draw_sample(data, rows, generator, tasks=tasks)
            emphasis = EMPHASIS[self.stage.name]
            found = losses.compute(self.student(sample.batch), sample, data, rows,
                                   near_places=emphasis.near_places)
            parts, total = tuple(vars(found).values()), found.total(emphasis)
        self._optimiser.zero_grad(set_to_none=True)
        total.backward()
        nn.utils.clip_grad_norm_(self._weights, MAX_NORM)
        self._optimiser.step()
        self.recent.append(tuple(part.item() for part in parts))
        decay = min(EMA_DECAY, (self.step + 1) / (self.step + 20))
        with torch.no_grad():
            torch._foreach_lerp_(list(self._mean.parameters()), list(self.student.parameters()),
                                 1 - decay)

    def _choose(self) -> torch.Tensor:
        """Return the next rows of an order that is shuffled anew for each pass over the data."""
        size, count = self.stage.batch_size, len(self._rows)
        per_pass = max(1, count // size)
        turn, place = divmod(self.step, per_pass)
        seed = (self.stage.seed * STREAM + turn) * STREAM + self.team.rank + 1
        order = torch.randperm(count, generator=torch.Generator().manual_seed(seed % 2 ** 63))
        return order[place * size:(place + 1) * size]

    def _summary(self) -> str:
        names = (['detection'] if self.stage.name == 'see'
                 else [field.name for field in fields(losses.Losses)])
        means = [sum(values) / len(values) for values in zip(*self.recent)]
        self.recent.clear()
        return f'{self.stage.name} {self.step}/{self.stage.num_steps}: ' + ', '.join(
            f'{name} {value:.4f}' for name, value in zip(names, means))

    def _save(self, path: Path) -> None:
        unfinished = path.with_suffix('.part')
        torch.save({'student': self.student.state_dict(), 'mean': self._mean.state_dict(),
                    'optimiser': self._optimiser.state_dict(), 'step': self.step}, unfinished)
        os.replace(unfinished, path)

    def _resume(self, path: Path) -> None:
        if path.is_file():
            state = torch.load(path, weights_only=True)
            self.student.load_state_dict(state['student'])
            self._mean.load_state_dict(state['mean'])
            self._optimiser.load_state_dict(state['optimiser'])
            self.step = state['step']
