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

"""`oxygen bench tick` measures real ticks beside a real engine; wrong wishes are named."""

import json

import pytest

from oxygen_ros.tools import bench
from oxygen_ros.tools.bench_tick import summary


def test_ways_are_measured_side_by_side(tmp_path, capsys):
    pytest.importorskip('matplotlib')
    code = bench.main(['tick', '--seconds', '1.5', '--rate', '50', '--model', 'tiny',
                       '--ways', 'normal,thread', '--json', str(tmp_path / 'tick.json'),
                       '--plot', str(tmp_path / 'tick.png')])
    assert code == 0
    figures = json.loads((tmp_path / 'tick.json').read_text())
    assert list(figures['ways']) == ['normal', 'thread']
    for figure in figures['ways'].values():
        assert figure['ticks'] + figure['missed'] == pytest.approx(75, abs=6)
        late = figure['lateness_ms']
        assert 0 <= late['p50'] <= late['p99'] <= late['p99.9'] <= late['max'] < 20
        assert 0 <= figure['late_over_5_ms_own'] <= figure['late_over_5_ms'] <= figure['ticks']
        assert figure['machine_late_ms_max'] >= 0
        assert not figure['realtime_priority']
        assert figure['chunks'] > 0
    assert (tmp_path / 'tick.png').read_bytes().startswith(b'\x89PNG')
    assert 'missed' in capsys.readouterr().out


def test_a_tick_is_late_with_the_machine_only_while_the_machine_stands_still():
    ms, start_ns = 1_000_000, 5_000_000_000
    result = {'start_ns': start_ns, 'indices': [0, 1, 2, 4], 'missed': 1,
              'lateness_us': [100.0, 9000.0, 12000.0, 100.0], 'realtime_priority': True,
              'chunks': 1, 'verdicts': {},
              'machine': {'stalls': [(start_ns - 900 * ms, 70 * ms),        # before the run
                                     (start_ns + 41 * ms, 10.5 * ms)]}}     # in tick 2
    figures = summary(result, rate_hz=50.0)
    assert (figures['late_over_5_ms'], figures['late_over_5_ms_own']) == (2, 1)
    assert figures['machine_late_ms_max'] == pytest.approx(10.5)


def test_a_way_that_does_not_exist_is_named(capsys):
    with pytest.raises(SystemExit) as ended:
        bench.main(['tick', '--ways', 'fifo,magic'])
    assert ended.value.code == 2
    assert "'magic' is no way; choose among fifo" in capsys.readouterr().err


def test_a_file_that_cannot_be_written_is_refused_before_the_run(tmp_path, capsys):
    file = tmp_path / 'missing' / 'tick.json'
    assert bench.main(['tick', '--json', str(file)]) == 2
    assert f'cannot write {file}' in capsys.readouterr().err
