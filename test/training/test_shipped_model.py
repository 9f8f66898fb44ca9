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

"""The shipped model does what it is told, says what is so, and needs its eyes and ears for it."""

import pytest

from oxygen_ros.checkpoint import load
from oxygen_ros.config import EngineConfig
from oxygen_ros.config import find_share_file
from oxygen_ros.config import load_robot
from oxygen_ros.sim import TableTop
from oxygen_ros.sim.trials import make_trials
from oxygen_ros.training.closed_loop import ClosedLoop
from oxygen_ros.training.examination import run_trials
from oxygen_ros.training.examination import score_texts
from oxygen_ros.training.examination import standing_tasks
from oxygen_ros.training.ship import directory_size

CHECKPOINT = 'builtin:tabletop'


@pytest.fixture(scope='module')
def table():
    """One simulated table."""
    table = TableTop()
    yield table
    table.close()


@pytest.fixture(scope='module')
def silent(table):
    """Return the robot without texts."""
    loop = ClosedLoop(CHECKPOINT, table)
    yield loop
    loop.close()


def test_it_is_small_trained_and_comes_with_a_card():
    folder = find_share_file('checkpoints/tabletop')
    assert directory_size(folder) < 10_000_000
    policy = load(CHECKPOINT, EngineConfig(), load_robot('table_top'))
    assert policy.trained and policy.name == CHECKPOINT
    card = (folder / 'README.md').read_text(encoding='utf-8')
    for part in ('## Data', '## Figures', '## Limits', 'Apache'):
        assert part in card


@pytest.mark.timeout(300)
def test_it_picks_and_puts_and_says_what_is_so(table):
    loop = ClosedLoop(CHECKPOINT, table, tasks=standing_tasks())
    episodes = [episode for verb in ('pick', 'put')
                for episode in run_trials(loop, make_trials(verb, 2))]
    loop.close()
    assert sum(episode.success for episode in episodes) >= 3, episodes
    scores = score_texts(episodes)
    assert scores['subtask']['right'] > 0.8, scores
    assert scores['narration_objects']['right'] > 0.8, scores
    assert scores['memory_locations']['right'] > 0.8, scores


@pytest.mark.timeout(300)
def test_it_fetches_the_cube_that_is_named(silent):
    episodes = run_trials(silent, make_trials('pick', 3), control='swapped_color')
    assert sum(episode.success for episode in episodes) >= 2


@pytest.mark.timeout(300)
def test_it_does_not_find_the_cube_with_pictures_of_another_table(silent):
    episodes = run_trials(silent, make_trials('pick', 3), control='frozen_camera')
    assert sum(episode.success for episode in episodes) <= 1
