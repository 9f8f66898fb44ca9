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
The whole way from nothing to a checkpoint: collect, prepare, see, act, tell, ship.

Every stage leaves a file; what is there is not made again, so a run can be stopped at any time.
"""

from collections.abc import Callable
from collections.abc import Sequence
from dataclasses import dataclass
import multiprocessing
from multiprocessing.process import BaseProcess
from pathlib import Path
from queue import Empty
from queue import Queue

import torch

from oxygen_ros.checkpoint.tokenizer import TextTokenizer
from oxygen_ros.training import vocabulary
from oxygen_ros.training.collect import collect
from oxygen_ros.training.dataset import Dataset
from oxygen_ros.training.dataset import load_dataset
from oxygen_ros.training.dataset import load_shards
from oxygen_ros.training.dataset import make_dataset
from oxygen_ros.training.dataset import measure
from oxygen_ros.training.dataset import save_dataset
from oxygen_ros.training.learn import Course
from oxygen_ros.training.learn import make_meeting_point
from oxygen_ros.training.learn import Report
from oxygen_ros.training.learn import Stage
from oxygen_ros.training.learn import Team
from oxygen_ros.training.network import initialise
from oxygen_ros.training.network import Student
from oxygen_ros.training.network import table_top_architecture
from oxygen_ros.training.ship import ship

CHECKPOINT = 'checkpoint'
_DATASET, _TOKENIZER, _STUDENT = 'dataset.pt', 'tokenizer.json', 'student.pt'
_MEETING_POINT = 'meeting_point'
_HELD_BACK = 33              # every so many-th part of the frames, the last, is not trained on


class TrainingError(RuntimeError):
    """Training did not come to its end; the message says what to do."""


@dataclass(frozen=True)
class Recipe:
    """How much of everything; the defaults make the shipped model."""

    num_episodes: int = 2000
    num_see_steps: int = 320
    num_act_steps: int = 3600
    num_tell_steps: int = 2200
    see_batch: int = 64          # per process
    batch: int = 32              # likewise, of the other stages
    see_rate: float = 2e-3
    act_rate: float = 1e-3
    tell_rate: float = 7e-4
    num_processes: int = 2
    seed: int = 0


# Minutes, for a test of the whole way; the model is of no use.
SMOKE = Recipe(num_episodes=10, num_see_steps=16, num_act_steps=24, num_tell_steps=8,
               num_processes=2)


def train(folder: Path, recipe: Recipe, *, report: Report,
          on_collected: Callable[[int, int], None] = lambda done, total: None) -> Path:
    """Make a checkpoint in a folder; return its directory."""
    checkpoint = folder / CHECKPOINT
    if checkpoint.is_dir():
        report(f'{checkpoint} is there already')
        return checkpoint
    prepare(folder, recipe, on_collected)
    context = multiprocessing.get_context('spawn')
    student = new_student(load_tokenizer(folder), load_dataset(folder / _DATASET)[0], recipe)
    make_meeting_point(folder / _MEETING_POINT, num_processes=recipe.num_processes,
                       num_weights=sum(weight.numel() for weight in student.parameters()))
    messages = context.Queue()
    processes = [context.Process(target=learn, args=(folder, recipe, rank, messages), daemon=True)
                 for rank in range(recipe.num_processes)]
    for process in processes:
        process.start()
    _relay(messages, processes, report)
    student.load_state_dict(torch.load(folder / _STUDENT, weights_only=True))
    ship(student.model, checkpoint, load_dataset(folder / _DATASET)[1], folder / _TOKENIZER)
    return checkpoint


def _relay(messages: Queue, processes: Sequence[BaseProcess], report: Report) -> None:
    """Report until the processes have ended; TrainingError if one of them failed."""
    while any(process.is_alive() for process in processes):
        if any(process.exitcode for process in processes):
            for process in processes:        # the others wait for the one that is gone
                process.terminate()
        try:
            report(messages.get(timeout=0.5))
        except Empty:
            continue
    if any(process.exitcode for process in processes):
        raise TrainingError('a training process ended with an error, see above; what was learnt '
                            'is kept, run the command again to go on')


def prepare(folder: Path, recipe: Recipe,
            on_collected: Callable[[int, int], None] = lambda done, total: None) -> None:
    """Collect demonstrations and turn them into one file of tensors."""
    paths = collect(folder / 'demonstrations', num_episodes=recipe.num_episodes, seed=recipe.seed,
                    num_processes=recipe.num_processes, on_progress=on_collected)
    vocabulary.write(folder / _TOKENIZER)
    if not (folder / _DATASET).is_file():
        frames = load_shards(paths)
        statistics = measure(frames)
        save_dataset(folder / _DATASET, make_dataset(frames, statistics, load_tokenizer(folder),
                                                          seed=recipe.seed), statistics)


def learn(folder: Path, recipe: Recipe, rank: int, messages: Queue) -> None:
    """Be one of the processes that train; the first one puts its reports into messages."""
    report = messages.put if rank == 0 else (lambda text: None)
    data, _ = load_dataset(folder / _DATASET)
    student = new_student(load_tokenizer(folder), data, recipe)
    team = Team(rank, recipe.num_processes, folder / _MEETING_POINT)
    rows = range(len(data) - len(data) // _HELD_BACK)
    for stage in (Stage('see', recipe.num_see_steps, recipe.see_batch, recipe.see_rate,
                        recipe.seed),
                  Stage('act', recipe.num_act_steps, recipe.batch, recipe.act_rate,
                        recipe.seed + 1),
                  Stage('tell', recipe.num_tell_steps, recipe.batch, recipe.tell_rate,
                        recipe.seed + 2)):
        course = Course(student, stage, team, rows)
        mean = course.run(data, folder / f'{stage.name}_{rank}.pt', report)
        student.load_state_dict(mean.state_dict())
    if rank == 0:
        torch.save(student.state_dict(), folder / _STUDENT)


def new_student(tokenizer: TextTokenizer, data: Dataset, recipe: Recipe) -> Student:
    """Return an untrained model that fits the data."""
    torch.manual_seed(recipe.seed)               # of the read-outs
    _, horizon, action_dim = data.chunks.shape
    student = Student(table_top_architecture(tokenizer.vocab_size, horizon=horizon,
                                             action_dim=action_dim), num_state=action_dim)
    numbers = {tokenizer.encode(f' {number}')[0]: number for number in vocabulary.numbers()}
    initialise(student, numbers, seed=recipe.seed)
    return student


def load_tokenizer(folder: Path) -> TextTokenizer:
    """Return the tokenizer of a run."""
    return TextTokenizer(folder / _TOKENIZER)
