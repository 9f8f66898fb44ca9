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

"""`oxygen bench recall`: what was seen is remembered and reaches the prompt after it is gone."""

import json

import pytest

pytest.importorskip('mujoco')

from oxygen_ros.tools import bench
from oxygen_ros.tools.bench_recall import agree


@pytest.mark.timeout(300)       # a busy machine renders slowly
def test_facts_of_the_simulator_are_remembered_and_put_into_the_prompt(tmp_path, capsys):
    """Everything but the model is right in every episode; random weights answer at random."""
    code = bench.main(['recall', '--oracle', '--episodes', '2', '--seconds', '0.6', '--json',
                       str(tmp_path / 'recall.json')])
    assert code == 0
    figures = json.loads((tmp_path / 'recall.json').read_text())
    assert figures['remembered'] == figures['in_prompt'] == figures['episodes'] == 2
    assert all(cube['truth'] == cube['remembered'] for cube in figures['cubes'])
    assert 'remembered 2 of 2 | in_prompt 2 of 2' in capsys.readouterr().out


@pytest.mark.timeout(300)
def test_the_shipped_model_tells_where_a_cube_was_that_is_gone(tmp_path):
    path = tmp_path / 'recall.json'
    assert bench.main(['recall', '--episodes', '3', '--json', str(path)]) == 0
    figures = json.loads(path.read_text())
    assert figures['answered'] >= 2, figures


@pytest.mark.parametrize('said, truth, right', [
    ('at 200 100 mm', 'at 200 100 mm', True), ('it is at 215 110 mm now', 'at 200 100 mm', True),
    ('at 240 100 mm', 'at 200 100 mm', False), ('on the left', 'at 200 100 mm', False),
    ('It is in the tray', 'in the tray', True), ('', 'in the tray', False)])
def test_an_answer_is_right_if_it_names_the_place(said, truth, right):
    """Locations within 3 cm; words as they are."""
    assert agree(said, truth) == right


def test_a_checkpoint_that_is_not_there_is_told_in_one_line(capsys):
    """Before anything is simulated."""
    assert bench.main(['recall', '--checkpoint', '/no/such/model']) == 1
    assert '/no/such/model does not exist' in capsys.readouterr().err
