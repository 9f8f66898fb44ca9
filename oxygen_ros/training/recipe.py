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
The whole way from nothing to a checkpoint: demonstrate, see, act, tell, correct, ship.

Every stage leaves a file; what is there is not made again, so a run can be stopped at any time.
"""

from collections.abc import Callable
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path
from queue import Empty
from queue import Queue

import torch

from oxygen_ros.checkpoint.tokenizer import TextTokenizer
from oxygen_ros.training import vocabulary
from oxygen_ros.training.collect import collect
from oxygen_ros.training.collect import with_libraries
from oxygen_ros.training.corrections import FIRST_NUMBER
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

CHECKPOINT, NOVICE = 'checkpoint', 'novice'
DEMONSTRATIONS, CORRECTIONS = 'demonstrations', 'corrections'
_TOKENIZER, _STUDENT, _MEETING_POINT = 'tokenizer.json', 'student.pt', 'meeting_point'
_HELD_BACK = 33              # every so many-th part of the frames, the last, is not trained on
_CORRECTION_SHARE = 2        # how often a correction comes in a pass over the data

OnCollected = Callable[[str, int, int], None]      # what, how many of how many


class TrainingError(RuntimeError):
    """Training did not come to its end; the message says what to do."""


@dataclass(frozen=True)
class Recipe:
    """How much of everything; the defaults make the shipped model."""

    num_episodes: int = 2000
    num_see_steps: int = 320
    num_act_steps: int = 3600
    num_tell_steps: int = 2200
    num_corrected: int = 1000    # episodes in which the student drives
    num_correct_steps: int = 1200
    see_batch: int = 64          # per process
    batch: int = 32              # likewise, of the other stages
    see_rate: float = 2e-3
    act_rate: float = 1e-3
    tell_rate: float = 7e-4
    correct_rate: float = 7e-4
    num_processes: int = 2
    seed: int = 0


# Minutes, for a test of the whole way; the model is of no use.
SMOKE = Recipe(num_episodes=10, num_see_steps=16, num_act_steps=24, num_tell_steps=8,
               num_corrected=2, num_correct_steps=8)


def train(folder: Path, recipe: Recipe, *, report: Report,
          on_collected: OnCollected = lambda what, done, total: None) -> Path:
    """Make a checkpoint in a folder; return its directory."""
    checkpoint, novice = folder / CHECKPOINT, folder / NOVICE
    if checkpoint.is_dir():
        report(f'{checkpoint} is there already')
        return checkpoint
    prepare(folder, recipe, on_collected)
    if not novice.is_dir():
        _teach(folder, recipe, DEMONSTRATIONS, (
            Stage('see', recipe.num_see_steps, recipe.see_batch, recipe.see_rate, recipe.seed),
            Stage('act', recipe.num_act_steps, recipe.batch, recipe.act_rate, recipe.seed + 1),
            Stage('tell', recipe.num_tell_steps, recipe.batch, recipe.tell_rate,
                  recipe.seed + 2)), report)
        _ship(folder, recipe, novice)
    prepare_corrections(folder, recipe, on_collected)
    _teach(folder, recipe, CORRECTIONS, (
        Stage('correct', recipe.num_correct_steps, recipe.batch, recipe.correct_rate,
              recipe.seed + 3),), report)
    _ship(folder, recipe, checkpoint)
    return checkpoint


def prepare(folder: Path, recipe: Recipe,
            on_collected: OnCollected = lambda what, done, total: None) -> None:
    """Collect demonstrations and turn them into one file of tensors."""
    paths = collect(folder / DEMONSTRATIONS, num_episodes=recipe.num_episodes, seed=recipe.seed,
                    num_processes=recipe.num_processes,
                    on_progress=lambda done, total: on_collected(DEMONSTRATIONS, done, total))
    vocabulary.write(folder / _TOKENIZER)
    if not dataset_file(folder, DEMONSTRATIONS).is_file():
        frames = load_shards(paths)
        statistics = measure(frames)
        save_dataset(dataset_file(folder, DEMONSTRATIONS),
                     make_dataset(frames, statistics, load_tokenizer(folder), seed=recipe.seed),
                     statistics)


def prepare_corrections(folder: Path, recipe: Recipe,
                        on_collected: OnCollected = lambda what, done, total: None) -> None:
    """Collect corrections of the novice and turn them into another file, demonstrations behind."""
    paths = collect(folder / CORRECTIONS, num_episodes=recipe.num_corrected, seed=recipe.seed,
                    num_processes=recipe.num_processes, student=folder / NOVICE,
                    on_progress=lambda done, total: on_collected(CORRECTIONS, done, total))
    if not dataset_file(folder, CORRECTIONS).is_file():
        # What the numbers mean to the novice they mean to what becomes of it.
        statistics = load_dataset(dataset_file(folder, DEMONSTRATIONS))[1]
        frames = load_shards([*paths, *sorted((folder / DEMONSTRATIONS).glob('*.npz'))])
        save_dataset(dataset_file(folder, CORRECTIONS),
                     make_dataset(frames, statistics, load_tokenizer(folder), seed=recipe.seed),
                     statistics)


def dataset_file(folder: Path, what: str) -> Path:
    """Return the file of all frames up to demonstrations or corrections."""
    return folder / f'{what}.pt'


def _teach(folder: Path, recipe: Recipe, what: str, stages: Sequence[Stage],
           report: Report) -> None:
    """Go through the stages in several processes; what was learnt is in a file at the end."""
    context = with_libraries()
    student = new_student(folder, recipe)
    make_meeting_point(folder / _MEETING_POINT, num_processes=recipe.num_processes,
                       num_weights=sum(weight.numel() for weight in student.parameters()))
    messages = context.Queue()
    processes = [context.Process(target=learn, args=(folder, recipe, what, stages, rank, messages),
                                 daemon=True)
                 for rank in range(recipe.num_processes)]
    for process in processes:
        process.start()
    _relay(messages, processes, report)


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


def learn(folder: Path, recipe: Recipe, what: str, stages: Sequence[Stage], rank: int,
          messages: Queue) -> None:
    """Be one of the processes that train; the first one puts its reports into messages."""
    report = messages.put if rank == 0 else (lambda text: None)
    data, _ = load_dataset(dataset_file(folder, what))
    student = new_student(folder, recipe)
    if (folder / _STUDENT).is_file():
        student.load_state_dict(torch.load(folder / _STUDENT, weights_only=True))
    team = Team(rank, recipe.num_processes, folder / _MEETING_POINT)
    for stage in stages:
        course = Course(student, stage, team, rows_to_learn(data))
        mean = course.run(data, folder / f'{stage.name}_{rank}.pt', report)
        student.load_state_dict(mean.state_dict())
    if rank == 0:
        torch.save(student.state_dict(), folder / _STUDENT)


def rows_to_learn(data: Dataset) -> list[int]:
    """Return the frames of a pass over the data: the last of them never, corrections often."""
    num_rows = len(data) - len(data) // _HELD_BACK
    num_corrections = int((data.episodes >= FIRST_NUMBER).sum())
    return [*range(num_corrections)] * (_CORRECTION_SHARE - 1) + [*range(num_rows)]


def _ship(folder: Path, recipe: Recipe, directory: Path) -> None:
    student = new_student(folder, recipe)
    student.load_state_dict(torch.load(folder / _STUDENT, weights_only=True))
    ship(student.model, directory, load_dataset(dataset_file(folder, DEMONSTRATIONS))[1],
         folder / _TOKENIZER)


def new_student(folder: Path, recipe: Recipe) -> Student:
    """Return an untrained model that fits the demonstrations."""
    tokenizer = load_tokenizer(folder)
    data, _ = load_dataset(dataset_file(folder, DEMONSTRATIONS))
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
