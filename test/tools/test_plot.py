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

"""`oxygen plot` draws what a session traced, and says in one line what it cannot draw."""

import json
import sys

import numpy as np
import pytest

from oxygen_ros.policy import TickTrace
from oxygen_ros.tools.plot import main
from oxygen_ros.tools.plot import read_trace
from oxygen_ros.types import Cause
from oxygen_ros.types import TickResult
from oxygen_ros.types import Verdict

HOLD = np.array([0.1, 0.2])


@pytest.fixture
def trace_file(tmp_path):
    """Write five ticks with two missed between them, then a second activation."""
    trace = TickTrace(tmp_path / 'ticks.csv', ('lift', 'grip'))
    for index, verdict, cause in (
            (0, Verdict.FALLBACK, Cause.STARTING), (1, Verdict.FRESH, Cause.NONE),
            (4, Verdict.FRESH, Cause.NONE), (5, Verdict.FALLBACK, Cause.CAMERA_STALE),
            (0, Verdict.STOPPED, Cause.STOP_REQUESTED)):
        trace.record(TickResult(index, HOLD, verdict, cause, 0, (index + 1) * 100_000))
    trace.close()
    return tmp_path / 'ticks.csv'


def test_a_trace_becomes_a_picture_and_figures(trace_file, tmp_path, capsys):
    pytest.importorskip('matplotlib')
    picture, figures = tmp_path / 'lateness.png', tmp_path / 'figures.json'
    assert main([str(trace_file), '-o', str(picture), '--json', str(figures)]) == 0
    assert picture.read_bytes().startswith(b'\x89PNG')
    assert json.loads(figures.read_text()) == {
        'ticks': 5, 'missed': 2, 'lateness_ms': {'p50': 0.2, 'p99': 0.596, 'max': 0.6},
        'verdicts': {'fallback': 2, 'fresh': 2, 'stopped': 1},
        'causes': {'starting': 1, 'camera_stale': 1, 'stop_requested': 1}}
    assert '5 ticks, 2 missed' in capsys.readouterr().out


def test_a_line_cut_off_by_a_full_disk_is_left_out(trace_file):
    trace_file.write_text(trace_file.read_text()[:-8])
    assert len(read_trace(trace_file).verdicts) == 4


@pytest.mark.parametrize('content, words', [
    ('time,value\n1,2\n', 'no tick trace'), (None, 'cannot be read'), ('', 'no tick trace')])
def test_what_is_no_trace_is_named(tmp_path, capsys, content, words):
    file = tmp_path / 'x.csv'
    if content is not None:
        file.write_text(content)
    assert main([str(file), '-o', str(tmp_path / 'x.png')]) == 2
    complaint = capsys.readouterr().err
    assert words in complaint and str(file) in complaint and complaint.count('\n') == 1


def test_a_missing_plot_library_is_one_line(trace_file, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, 'matplotlib', None)
    assert main([str(trace_file), '-o', str(tmp_path / 'x.png')]) == 2
    assert 'drawing needs matplotlib; pip install matplotlib' in capsys.readouterr().err
