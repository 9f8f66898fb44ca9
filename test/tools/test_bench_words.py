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

"""`oxygen bench words` shows the tick with and without language, and the rhythm of streams."""

import json

import pytest

from oxygen_ros.tools import bench
from oxygen_ros.tools.bench_words import table

TASKS = """
narrate: {prompt: "\\nNarrate: ", max_tokens: 16, target_tokens_per_s: 20, priority: 5}
"""


@pytest.mark.timeout(200)       # a busy machine loads slowly
def test_turns_with_and_without_language_are_measured_in_one_run(tmp_path, capsys):
    (tmp_path / 'tasks.yaml').write_text(TASKS)
    code = bench.main(['words', '--seconds', '4', '--turn', '2', '--replan-hz', '2',
                       '--checkpoint', 'builtin:tabletop', '--robot', 'table_top',
                       '--tasks', str(tmp_path / 'tasks.yaml'),
                       '--json', str(tmp_path / 'words.json')])
    assert code == 0
    figures = json.loads((tmp_path / 'words.json').read_text())
    speaking, silent = figures['turns']['with language'], figures['turns']['without']
    for turn in (speaking, silent):
        assert turn['ticks'] + turn['missed'] == pytest.approx(100, abs=8)
        assert 0 <= turn['lateness_ms']['p50'] <= turn['lateness_ms']['p99']
        assert turn['encodes_per_frame'] == 1.0 and turn['replans_per_s'] > 0
    assert speaking['tokens_per_s'] > silent['tokens_per_s'] == 0.0
    assert set(figures['streams']) <= {'narrate', 'ask'} and figures['streams']
    assert 'with language' in capsys.readouterr().out


def test_the_table_has_a_line_per_stream():
    turn = {'ticks': 1, 'missed': 0, 'lateness_ms': {'p50': 0.0, 'p99': 0.0, 'max': 0.0},
            'replans_per_s': 1.0, 'look_to_chunk_ms': {'p50': 1.0, 'p99': 1.0},
            'encodes_per_frame': 1.0, 'tokens_per_s': 0.0}
    text = table({'turns': {'without': turn}, 'streams': {'narrate': {
        'num': 120, 'p50': 50.0, 'p99': 75.0, 'p99_over_p50': 1.5}}})
    assert text.splitlines()[-1].split() == ['narrate', '120', '50.0', '75.0', '1.50']


def test_tasks_that_are_not_there_are_told_in_one_line(capsys):
    assert bench.main(['words', '--tasks', '/no/such/tasks.yaml']) == 1
    assert '/no/such/tasks.yaml does not exist' in capsys.readouterr().err
