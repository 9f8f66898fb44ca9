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

"""What is said about the table is true, and says nothing of what no camera sees."""

import numpy as np
import pytest

from oxygen_ros.config import ConfigError
from oxygen_ros.runtime.facts import parse_fact
from oxygen_ros.sim import CAMERAS
from oxygen_ros.sim import CUBE_COLORS
from oxygen_ros.sim import Task
from oxygen_ros.sim.layout import HELD_OUT_RADIUS_M
from oxygen_ros.sim.layout import HELD_OUT_SPOTS
from oxygen_ros.sim.tasks import HELD_OUT_PHRASINGS
from oxygen_ros.sim.tasks import PHRASINGS
from oxygen_ros.sim.texts import describe
from oxygen_ros.sim.texts import location
from oxygen_ros.sim.texts import parse_location
from oxygen_ros.sim.texts import seen_cubes


@pytest.fixture
def table(shared_table):
    """Return the scene with each cube in a part of the table of its own."""
    shared_table.reset(seed=0, task=Task('pick', 'red'))
    shared_table.place_cube('red', (0.20, -0.12, 0.015))
    shared_table.place_cube('green', (0.25, -0.03, 0.015))
    shared_table.place_cube('blue', (0.21, 0.155, 0.0195))
    return shared_table


def seen(table):
    return seen_cubes([table.render(camera.slot) for camera in CAMERAS])


def test_texts_of_a_plain_scene(table):
    texts = describe(table, 'reach', seen(table))
    assert texts.subtask == 'reach for the red cube'
    assert texts.narration == 'red on the left, green in the middle, blue in the tray'
    assert texts.memory.split('\n') == [
        'red cube | is | at 200 -120 mm', 'green cube | is | at 250 -30 mm',
        'blue cube | is | in the tray']


def test_every_memory_line_is_a_fact(table):
    lines = describe(table, 'reach', seen(table)).memory.split('\n')
    subjects = [parse_fact(line)[0] for line in lines]
    assert subjects == [f'{color} cube' for color in CUBE_COLORS]


@pytest.mark.parametrize('hide', ['cover_cube', 'remove_cube'])
def test_a_hidden_cube_is_out_of_sight_and_out_of_the_new_facts(table, hide):
    getattr(table, hide)('green')
    assert seen(table) == ('red', 'blue')
    texts = describe(table, 'reach', seen(table))
    assert 'green out of sight' in texts.narration
    assert 'green' not in texts.memory


def test_the_cover_goes_away_with_the_episode(table):
    table.cover_cube('green')
    table.reset(seed=0)
    table.place_cube('green', (0.25, -0.03, 0.015))
    assert 'green' in seen(table)


def test_a_covered_cube_stays_where_it_is(table):
    before = table.cube_position('green')
    table.cover_cube('green')
    table.step(0.5)
    assert table.cube_position('green') == pytest.approx(before, abs=1e-3)


def test_locations_are_read_back_to_the_precision_they_are_said_in(table):
    for color in ('red', 'green'):
        said = parse_location(location(table, color))
        assert said == pytest.approx(table.cube_position(color)[:2], abs=0.0026)
    assert parse_location('in the tray') is None
    assert parse_location('at x y mm') is None


def test_points_are_projected_to_where_the_camera_shows_them(table):
    picture = table.render('front').astype(int)
    red = (picture[..., 0] > picture[..., 1] + 60) & (picture[..., 0] > picture[..., 2] + 60)
    rows, columns = np.nonzero(red)
    where = table.project('front', table.cube_position('red')) * len(picture)
    assert where == pytest.approx([columns.mean() + 0.5, rows.mean() + 0.5], abs=1.5)
    assert np.isnan(table.project('front', np.array([2.0, 0.0, 0.8]))).all()


def test_training_never_starts_where_the_examination_does(shared_table):
    def is_held_out(spots, seed):
        shared_table.reset(seed=seed, task=Task('pick', 'red'), spots=spots)
        where = shared_table.cube_position('red')[:2]
        return any(np.hypot(*(where - spot)) < HELD_OUT_RADIUS_M + 1e-3
                   for spot in HELD_OUT_SPOTS)

    assert all(is_held_out('held_out', seed) for seed in range(10))
    assert any(is_held_out('any', seed) for seed in range(40))
    seen_spots = [is_held_out('seen', seed) for seed in range(40)]
    assert sum(seen_spots) <= 2      # at the very edge, after the cubes have settled
    with pytest.raises(ConfigError, match='spots'):
        shared_table.reset(spots='everywhere')


def test_phrasings_of_the_examination_are_no_others(shared_table):
    for verb, phrases in HELD_OUT_PHRASINGS.items():
        assert not set(phrases) & set(PHRASINGS[verb])
        for phrase in phrases:
            assert Task.from_instruction(phrase.format(color='blue')) == Task(verb, 'blue')
