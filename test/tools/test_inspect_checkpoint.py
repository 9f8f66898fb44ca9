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
"""`oxygen inspect` says what a checkpoint is and everything that keeps it from running."""

import json

import pytest

from oxygen_ros.checkpoint.builtin import TOKENIZER_FILE
from oxygen_ros.checkpoint.save import save
from oxygen_ros.models.architecture import tiny
from oxygen_ros.models.pi05 import Pi05
from oxygen_ros.tools.inspect_checkpoint import main

STATISTICS = {part: {'q01': [-1.0] * 6, 'q99': [1.0] * 6} for part in ('state', 'actions')}


@pytest.fixture
def checkpoint(tmp_path):
    """Return a whole checkpoint directory in openpi's layout."""
    model = Pi05(tiny())
    model.random_weights(0)
    save(model, tmp_path / 'mine', layout='openpi', statistics=STATISTICS, asset_id='so101',
         tokenizer=TOKENIZER_FILE, cameras=('front', 'wrist'))
    return tmp_path / 'mine'


def test_a_whole_one_can_run(checkpoint, capsys):
    assert main([str(checkpoint)]) == 0
    text = capsys.readouterr().out
    for part in ('openpi, prefix bidirectional', 'front, wrist', '10 per chunk, 32 columns',
                 'with state, at most 200 tokens', 'tokenizer.json', 'asset ids: so101',
                 'state 6 entries by quantiles', 'It can run.'):
        assert part in text
    assert 'missing' not in text


def test_json_goes_to_the_screen_or_to_a_file(checkpoint, capsys, tmp_path):
    assert main([str(checkpoint), '--json']) == 0
    report = json.loads(capsys.readouterr().out)
    assert report['family'] == 'openpi' and report['problems'] == []
    assert report['memory_bytes']['bfloat16'] < report['memory_bytes']['float32']
    assert report['statistics']['state']['offset'] == [-1.0] * 6
    assert report['tensors'] == {'F32': 91}
    main([str(checkpoint), '--json', str(tmp_path / 'report.json')])
    assert json.loads((tmp_path / 'report.json').read_text()) == report
    assert 'It can run.' in capsys.readouterr().out


def test_everything_that_is_missing_is_listed_at_once(checkpoint, capsys, monkeypatch):
    (checkpoint / 'assets' / 'so101' / 'norm_stats.json').unlink()
    (checkpoint / 'tokenizer.json').write_text('{}')
    (checkpoint / 'model.safetensors').write_bytes(b'')
    assert main([str(checkpoint), '--json']) == 1
    problems = json.loads(capsys.readouterr().out)['problems']
    assert len(problems) == 3
    for problem, part in zip(problems, ('norm_stats.json does not exist',
                                        'tokenizer.json cannot be read',
                                        'is no safetensors file')):
        assert part in problem


def test_what_is_no_checkpoint_says_so(tmp_path, capsys):
    assert main([str(tmp_path)]) == 1
    assert 'is empty; check the path' in ' '.join(capsys.readouterr().out.split())
