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

"""`oxygen sim-compare`: texts change no action in lock-step, and do not stop it in real time."""

import json

import pytest

from oxygen_ros.tools import sim_compare


@pytest.mark.timeout(300)
def test_texts_and_policies_leave_success_and_actions_as_they_are(tmp_path, capsys):
    path = tmp_path / 'compare.json'
    assert sim_compare.main(['--episodes', '1', '--texts', '0', '1', '--policies', 'isolated',
                             'oxygen', '--json', str(path)]) == 0
    rows = json.loads(path.read_text(encoding='utf-8'))['rows']
    assert [(row['policy'], row['num_texts']) for row in rows] == [
        ('isolated', 0), ('oxygen', 0), ('isolated', 1), ('oxygen', 1)]
    assert all(row['same_actions'] for row in rows)
    assert len({(row['successes'], row['mean_seconds']) for row in rows}) == 1
    assert 'OTHER' not in capsys.readouterr().out


@pytest.mark.timeout(400)      # a busy machine loads slowly
def test_in_real_time_node_and_simulator_run_as_processes(tmp_path):
    path = tmp_path / 'compare.json'
    assert sim_compare.main(['--realtime', '--episodes', '1', '--texts', '1', '--policies',
                             'oxygen', '--json', str(path)]) == 0
    row, = json.loads(path.read_text(encoding='utf-8'))['rows']
    assert row['episodes'] == 2 and 0 < row['mean_seconds'] and row['verdicts']['fresh'] > 100
    assert row['replans_per_s'] > 1 and row['tokens_per_s'] > 0


def test_what_cannot_be_loaded_is_told_in_one_line(capsys):
    assert sim_compare.main(['--checkpoint', '/no/such/model', '--episodes', '1']) == 1
    assert '/no/such/model does not exist' in capsys.readouterr().err
