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

"""Collects demonstrations and corrections into files, several processes at a time."""

from collections.abc import Callable
from concurrent.futures import as_completed
from concurrent.futures import ProcessPoolExecutor
import multiprocessing
from multiprocessing.context import BaseContext
import os
from pathlib import Path

import numpy as np

from oxygen_ros.training.demonstrations import Demonstrator
from oxygen_ros.training.moments import Frames

SHARD_EPISODES = 25


def collect(folder: Path, *, num_episodes: int, seed: int, num_processes: int,
            student: Path | None = None,
            on_progress: Callable[[int, int], None] = lambda done, total: None) -> list[Path]:
    """
    Return the files of all demonstrations; files that are there already are not made again.

    With a student, the directory of its checkpoint, these are corrections of what it does. A file
    holds SHARD_EPISODES episodes; its content depends on seed, number and student only.
    """
    folder.mkdir(parents=True, exist_ok=True)
    jobs = {}
    for first in range(0, num_episodes, SHARD_EPISODES):
        path = folder / f'{folder.name}_{seed}_{first:05d}.npz'
        jobs[path] = range(first, min(first + SHARD_EPISODES, num_episodes))
    missing = [path for path in jobs if not path.is_file()]
    done = len(jobs) - len(missing)
    on_progress(done, len(jobs))
    if missing:
        # Never forked from here: a GL context does not survive that.
        context = multiprocessing.get_context('spawn') if student is None else with_libraries()
        with ProcessPoolExecutor(num_processes, mp_context=context) as pool:
            futures = [pool.submit(write_shard, path, jobs[path], seed, student)
                       for path in missing]
            for future in as_completed(futures):
                future.result()
                done += 1
                on_progress(done, len(jobs))
    return list(jobs)


def with_libraries() -> BaseContext:
    """Return what starts processes with the libraries of the model, loaded once for all."""
    context = multiprocessing.get_context('forkserver')
    context.set_forkserver_preload(['torch', 'transformers.models.siglip.modeling_siglip'])
    return context


def write_shard(path: Path, numbers: range, seed: int, student: Path | None = None) -> None:
    """Run these episodes and write what was kept of them."""
    # Software rendering on its own threads would take the core of the next process.
    os.environ.setdefault('LP_NUM_THREADS', '0')
    frames = Frames()
    if student is None:
        player = Demonstrator(seed)
    else:
        # Imported here: demonstrations are collected without torch.
        from oxygen_ros.training.corrections import Corrector
        player = Corrector(student, seed)
    num_done = sum(player.run(number, frames) for number in numbers)
    player.close()
    unfinished = path.with_suffix('.part')
    with unfinished.open('wb') as file:
        np.savez_compressed(file, **frames.arrays(), num_done=num_done)
    os.replace(unfinished, path)       # a file is there whole or not at all
