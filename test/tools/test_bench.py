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

"""
`oxygen bench` on the tiny model: figures, files and messages a user sees.

Pinned: every policy ends the same number of texts with equal work; one encode per frame under
oxygen, one more per text under isolated; no KV byte copied; the JSON has its keys.
"""

import json
from pathlib import Path
import sys

import pytest

from oxygen_ros.tools import bench
from oxygen_ros.tools.bench_machine import EnergyCounter

KEYS = {
    'frame_ms_p50', 'frame_ms_p99', 'action_ms_p50', 'action_ms_p99', 'replans_per_s',
    'action_hz', 'tokens_per_s', 'ttft_ms_p50', 'itl_ms_p50', 'itl_ms_p99', 'request_ms_p50',
    'kv_bytes_copied', 'kv_bytes_peak', 'manager_share', 'rss_mb_peak', 'encodes_per_frame'}


@pytest.fixture(scope='module')
def document(tmp_path_factory) -> dict:
    """Two grid points over all policies, through the command line."""
    file = tmp_path_factory.mktemp('bench') / 'new' / 'bench.json'
    code = bench.main(['--policies', 'isolated,parallel,shared,oxygen', '--tokens', '6',
                       '--tokens-per-frame', '2,3', '--denoise-steps', '2', '--frames', '4',
                       '--json', str(file)])
    assert code == 0
    return json.loads(file.read_text())


def test_json_has_every_key_for_every_policy_and_grid_point(document):
    assert [point['setting']['tokens_per_frame'] for point in document['grid']] == [2, 3]
    for point in document['grid']:
        assert set(point['policies']) == {'isolated', 'parallel', 'shared', 'oxygen'}
        for result in point['policies'].values():
            assert set(result) >= KEYS
    assert document['policies'] == document['grid'][0]['policies']


def test_policies_do_equal_work_and_share_as_they_should(document):
    for point in document['grid']:
        for name, result in point['policies'].items():
            assert result['texts_finished'] == 4
            assert result['tokens_per_s'] / result['replans_per_s'] == pytest.approx(6)
            assert result['kv_bytes_copied'] == 0
            assert result['encodes_per_frame'] == {'isolated': 2, 'parallel': 2}.get(name, 1)


def test_figures_fit_together(document):
    for point in document['grid']:
        for result in point['policies'].values():
            assert 0 < result['action_ms_p50'] <= result['frame_ms_p99']
            assert result['action_hz'] == pytest.approx(10 * result['replans_per_s'], rel=1e-6)
            assert 0 < result['manager_share'] < 0.5
            assert 50 < result['rss_mb_peak'] < 4000
            assert result['kv_bytes_peak'] > 0
    texts = document['policies']
    assert texts['oxygen']['frame_ms_p50'] < texts['isolated']['frame_ms_p50']


def test_a_longer_text_waits_for_more_frames_under_oxygen(document):
    """Two tokens per frame: three frames per text; its latency is counted on its own clock."""
    oxygen = document['policies']['oxygen']
    assert oxygen['request_ms_p50'] > 2 * oxygen['frame_ms_p50']
    assert oxygen['request_ms_p50'] < 4 * oxygen['frame_ms_p99']


def test_options_of_the_engine_run_beside_the_plain_policy(tmp_path):
    file = tmp_path / 'b.json'
    assert bench.main(['--policies', 'oxygen,oxygen+piggyback,oxygen+drafts', '--tokens', '6',
                       '--tokens-per-frame', '2', '--denoise-steps', '1', '--frames', '6',
                       '--json', str(file)]) == 0
    results = json.loads(file.read_text())['policies']
    assert results['oxygen']['draft_acceptance'] == 0
    assert 0 <= results['oxygen+drafts']['draft_acceptance'] <= 1
    # A token more per frame inside the encode: texts need fewer frames.
    frames = {name: result['request_ms_p50'] / result['frame_ms_p50']
              for name, result in results.items()}
    assert frames['oxygen+piggyback'] < frames['oxygen']


def test_no_text_at_all_can_be_measured(tmp_path, capsys):
    assert bench.main(['--texts', '0', '--frames', '2', '--policies', 'oxygen',
                       '--json', str(tmp_path / 'b.json')]) == 0
    result = json.loads((tmp_path / 'b.json').read_text())['policies']['oxygen']
    assert result['tokens_per_s'] == 0 and result['ttft_ms_p50'] is None
    assert 'oxygen' in capsys.readouterr().out


def test_plot_is_drawn(document, tmp_path):
    pytest.importorskip('matplotlib')
    from oxygen_ros.tools.bench_plot import plot
    plot(document['grid'], tmp_path / 'b.png')
    assert (tmp_path / 'b.png').read_bytes().startswith(b'\x89PNG')


def test_a_missing_plot_library_is_said_before_anything_is_measured(monkeypatch, capsys, tmp_path):
    monkeypatch.setitem(sys.modules, 'matplotlib', None)
    assert bench.main(['--plot', str(tmp_path / 'b.png')]) == 2
    captured = capsys.readouterr()
    assert 'pip install matplotlib' in captured.err and captured.out == ''


@pytest.mark.parametrize('arguments, message', [
    (['--policies', 'fast'], "'fast' is no policy"),
    (['--cameras', '4'], "'4' is not a number from 0 to 3"),
    (['--tokens', '1,x'], "'x' is not a number"),
])
def test_wrong_arguments_are_named(arguments, message, capsys):
    with pytest.raises(SystemExit) as stop:
        bench.main(arguments)
    assert stop.value.code == 2
    assert message in capsys.readouterr().err


def test_an_unknown_kind_of_picture_is_refused_at_once(capsys):
    assert bench.main(['--plot', 'b.txt']) == 2
    assert '.png' in capsys.readouterr().err


def make_zone(root: Path, name: str, energy_uj: int) -> None:
    zone = root / name
    zone.mkdir()
    (zone / 'energy_uj').write_text(f'{energy_uj}\n')
    (zone / 'max_energy_range_uj').write_text('1000000\n')


def test_energy_adds_packages_once_and_survives_the_wrap(tmp_path):
    make_zone(tmp_path, 'intel-rapl:0', 900_000)
    make_zone(tmp_path, 'intel-rapl:1', 0)
    make_zone(tmp_path, 'intel-rapl:0:0', 5)      # part of package 0
    counter = EnergyCounter(tmp_path)
    mark = counter.start()
    (tmp_path / 'intel-rapl:0' / 'energy_uj').write_text('100000')
    (tmp_path / 'intel-rapl:1' / 'energy_uj').write_text('300000')
    (tmp_path / 'intel-rapl:0:0' / 'energy_uj').write_text('900000')
    assert counter.available
    assert counter.since_j(mark) == pytest.approx(0.5)


def test_energy_that_cannot_be_read_is_unavailable(tmp_path):
    assert not EnergyCounter(tmp_path).available
