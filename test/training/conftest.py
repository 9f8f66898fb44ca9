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

"""A handful of demonstrations and a small untrained student, shared by the tests here."""

import pytest

from oxygen_ros.training import recipe
from oxygen_ros.training.collect import write_shard
from oxygen_ros.training.dataset import load_dataset
from oxygen_ros.training.dataset import load_shards

NUM_EPISODES = 6


@pytest.fixture(scope='session')
def shards(tmp_path_factory):
    """Return the folder of a few demonstrations."""
    folder = tmp_path_factory.mktemp('run') / 'demonstrations'
    folder.mkdir()
    write_shard(folder / 'demonstrations_0_00000.npz', range(NUM_EPISODES), 0)
    return folder


@pytest.fixture(scope='session')
def frames(shards):
    """Return their frames."""
    return load_shards(sorted(shards.glob('*.npz')))


@pytest.fixture(scope='session')
def run(shards):
    """Return the folder of a run whose data are prepared."""
    recipe.prepare(shards.parent, recipe.Recipe(num_episodes=NUM_EPISODES, num_processes=1))
    return shards.parent


@pytest.fixture(scope='session')
def data(run):
    """Return the dataset."""
    return load_dataset(recipe.dataset_file(run, recipe.DEMONSTRATIONS))[0]


@pytest.fixture
def student(run):
    """Return an untrained student."""
    return recipe.new_student(run, recipe.Recipe())
