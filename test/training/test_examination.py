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

"""The examination counts what happened, and its session is driven in lock-step."""

import json

import numpy as np
import pytest

from oxygen_ros.sim import TableTop
from oxygen_ros.sim.texts import Texts
from oxygen_ros.sim.trials import make_trials
from oxygen_ros.tools import sim_eval
from oxygen_ros.training import examination
from oxygen_ros.training.closed_loop import ClosedLoop
from oxygen_ros.training.closed_loop import Episode
from oxygen_ros.training.closed_loop import jerk

TRUTH = Texts('lift the red cube', 'red in the gripper, green on the left, blue out of sight',
              'red cube | is | in the gripper\ngreen cube | is | at 200 -100 mm')


def test_wilson_interval_of_a_textbook_case():
    low, high = examination.wilson(49, 50)
    assert (low, high) == (pytest.approx(0.895, abs=1e-3), pytest.approx(0.9965, abs=1e-3))
    assert examination.wilson(0, 10)[0] == 0.0


def test_jerk_of_a_cubic_is_its_third_derivative():
    times = np.arange(20) / 50
    path = np.stack([times ** 3, 0 * times], axis=1)     # the last column is the gripper
    assert jerk(path, 50) == pytest.approx(6.0)


def test_texts_are_scored_field_by_field():
    said = [('subtask', 'lift the red cube', TRUTH),
            ('narrate', 'red in the gripper, green on the right, blue out of sight', TRUTH),
            ('memory', 'red cube | is | in the gripper\ngreen cube | is | at 205 -105 mm', TRUTH),
            ('memory', 'red cube | is | in the tray\ngreen cube | is | at 220 -100 mm', TRUTH),
            ('memory', 'nonsense', TRUTH)]
    scores = examination.score_texts([Episode(True, 1.0, 1.0, (), [], said)])
    right = {name: score['right'] for name, score in scores.items()}
    assert right == {'subtask': 1.0, 'narration_objects': pytest.approx(2 / 3, abs=1e-4),
                     'memory_facts': pytest.approx(1 / 3, abs=1e-4),
                     'memory_locations': pytest.approx(1 / 3, abs=1e-4)}


def test_trials_turn_through_colours_and_never_meet_the_training_seeds():
    trials = make_trials('put', 9, held_out=True)
    assert [trial.task.color for trial in trials[:3]] == ['red', 'green', 'blue']
    assert len({trial.instruction for trial in trials}) == 6
    assert all(trial.seed >= 2 ** 32 and trial.spots == 'held_out' for trial in trials)


def test_the_teacher_passes(capsys, tmp_path):
    path = tmp_path / 'expert.json'
    assert sim_eval.main(['--checkpoint', 'expert', '--episodes', '3', '--json', str(path)]) == 0
    figures = json.loads(path.read_text())
    assert [figures['tasks'][verb]['successes'] for verb in ('pick', 'put')] == [3, 3]
    assert '3 of 3 done' in capsys.readouterr().out


@pytest.fixture(scope='module')
def table():
    """One simulated table."""
    table = TableTop()
    yield table
    table.close()


def actions_of(table, policy, num_texts):
    """Return all actions of two looks under an engine policy, untrained weights."""
    loop = ClosedLoop('builtin:tiny', table, policy=policy,
                      tasks=examination.standing_tasks(num_texts))
    table.reset(seed=3)
    episode = loop.run('pick up the red cube', max_seconds=0.4)
    loop.close()
    assert len(episode.actions) == 2
    return np.stack(episode.actions)


def test_texts_and_policies_do_not_change_a_bit_of_the_actions(table):
    wanted = actions_of(table, 'oxygen', 0)
    for policy, num_texts in (('isolated', 8), ('shared', 8), ('oxygen', 1), ('oxygen', 8)):
        assert np.array_equal(actions_of(table, policy, num_texts), wanted), policy


def test_controls_change_what_is_told_or_shown(table):
    told, seen = [], []

    class Loop:
        def __init__(self):
            self.table = table
            self.session = type('Session', (), {'robot': type('Robot', (), {
                'camera_slots': ('front', 'wrist')})})

        def run(self, instruction, *, see, on_look):
            told.append((instruction, self.table.task.color))
            seen.append(see({'front': 'now'}))
            return Episode(True, 1.0, 1.0, ())

    trials = make_trials('pick', 1)
    examination.run_trials(Loop(), trials)
    examination.run_trials(Loop(), trials, control='swapped_color')
    examination.run_trials(Loop(), trials, control='frozen_camera')
    assert told == [('pick up the red cube', 'red'), ('pick up the green cube', 'green'),
                    ('pick up the red cube', 'red')]
    assert seen[0] == {'front': 'now'}
    assert seen[2]['front'].shape == (96, 96, 3)


def test_a_sheet_and_a_film_are_written(tmp_path, capsys):
    sheet, film = tmp_path / 'sheet.png', tmp_path / 'film.mp4'
    assert sim_eval.main(['--checkpoint', 'builtin:tabletop', '--episodes', '1', '--tasks', 'pick',
                          '--texts', '1', '--sheet', str(sheet), '--video', str(film)]) == 0
    assert sheet.read_bytes().startswith(b'\x89PNG')
    assert film.stat().st_size > 1000
    assert '1 of 1 done' in capsys.readouterr().out


def test_an_unknown_checkpoint_is_one_line(capsys):
    assert sim_eval.main(['--checkpoint', 'builtin:nothing', '--episodes', '1']) == 1
    assert 'builtin:nothing' in capsys.readouterr().err
