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

"""Corrections: the teacher goes on from where the student is, and leaves no trace of it."""

import numpy as np
import pytest

from oxygen_ros.sim import TableTop
from oxygen_ros.sim.expert import Expert
from oxygen_ros.training import recipe
from oxygen_ros.training.corrections import Corrector
from oxygen_ros.training.corrections import FIRST_NUMBER
from oxygen_ros.training.dataset import load_dataset
from oxygen_ros.training.moments import Frames
from oxygen_ros.training.moments import HORIZON
from oxygen_ros.training.ship import ship

NUM_DECISIONS = 24           # of an episode: enough to wander


@pytest.fixture(scope='module')
def novice(run, tmp_path_factory):
    """Return the checkpoint of a student that knows nothing."""
    directory = tmp_path_factory.mktemp('novice') / 'checkpoint'
    statistics = load_dataset(recipe.dataset_file(run, recipe.DEMONSTRATIONS))[1]
    ship(recipe.new_student(run, recipe.Recipe()).model, directory, statistics,
         run / 'tokenizer.json')
    return directory


def correct(novice):
    """Return the frames of one episode."""
    frames, corrector = Frames(), Corrector(novice, 0)
    corrector.run(0, frames, max_decisions=NUM_DECISIONS)
    corrector.close()
    return frames.arrays()


@pytest.fixture(scope='module')
def corrected(novice):
    """Return the frames of one episode, made once for this file."""
    return correct(novice)


def test_the_student_drives_and_the_teacher_says_what_it_would_do(novice, corrected):
    frames = corrected
    assert len(frames['texts']) >= NUM_DECISIONS // 5     # though the task was not done
    assert (frames['episodes'] == FIRST_NUMBER).all()
    assert frames['actions'].shape[1:] == (HORIZON, 7)
    # A student that knows nothing wanders; a teacher moves step by step and without jumps.
    steps_m = np.linalg.norm(np.diff(frames['actions'][:, 1:, :3], axis=1), axis=-1)
    assert steps_m.max() < 0.04
    again = correct(novice)
    for name, values in frames.items():
        assert np.array_equal(values, again[name], equal_nan=values.dtype.kind == 'f'), name


def test_a_world_put_back_goes_on_as_if_nothing_had_been():
    table = TableTop()
    expert = Expert(table)

    def go_on(num_decisions):
        for _ in range(num_decisions):
            table.command(expert.decide().target)
            table.step(0.05)
        return table.snapshot()

    table.reset(seed=3)
    before = go_on(25)                     # the hand is close to a cube
    table.cover_cube(next(color for color in ('red', 'green') if color != table.task.color))
    covered = table.snapshot()
    end = go_on(20)
    assert not np.array_equal(before, end)
    table.restore(covered)
    assert np.array_equal(go_on(20), end)
    table.close()


def test_corrections_come_often_and_the_last_demonstrations_never(run, corrected, tmp_path):
    folder = tmp_path / 'run'
    shards = folder / recipe.CORRECTIONS
    shards.mkdir(parents=True)
    np.savez(shards / 'corrections_0_00000.npz', **corrected, num_done=0)   # as if collected
    for name in ('demonstrations', 'demonstrations.pt', 'tokenizer.json'):
        (folder / name).symlink_to(run / name)
    few = recipe.Recipe(num_corrected=1, num_processes=1)
    recipe.prepare_corrections(folder, few)
    data, statistics = load_dataset(recipe.dataset_file(folder, recipe.CORRECTIONS))
    _, first = load_dataset(recipe.dataset_file(folder, recipe.DEMONSTRATIONS))
    assert np.array_equal(statistics.action_std, first.action_std)
    rows = recipe.rows_to_learn(data)
    episodes = data.episodes.tolist()
    counts = {row: rows.count(row) for row in range(len(data))}
    assert all(counts[row] == 2 for row, episode in enumerate(episodes)
               if episode >= FIRST_NUMBER)
    assert counts[len(data) - 1] == 0 and episodes[-1] < FIRST_NUMBER
