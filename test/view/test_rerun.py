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

"""`--rerun`: a clear word where it is not installed, a whole recording where it is."""

import subprocess
import sys
import time

import pytest
import view_helpers as make

from oxygen_ros.view import Feed
from oxygen_ros.view.rerun_log import RerunError
from oxygen_ros.view.rerun_log import RerunLog


def test_without_rerun_it_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, 'rerun', None)
    with pytest.raises(RerunError, match=r'not installed; `pip install "rerun-sdk'):
        RerunLog(now_s=time.monotonic)


def test_recording_holds_everything_that_was_shown(tmp_path):
    pytest.importorskip('rerun', reason='rerun comes with the extra [rerun], half a gigabyte')
    file = tmp_path / 'run.rrd'
    log = RerunLog(now_s=time.monotonic, file=str(file))
    feed = Feed(log, now_s=time.monotonic, node_name='/oxygen')
    for channel, message in (
            (make.FRONT, make.picture(1.0)), (make.STATE, make.joint_state()),
            (make.other('chunk'), make.chunk(1.0)), (make.other('fact'), make.fact(1, 'left')),
            (make.other('piece'), make.piece(1.0, 0, 'red cube', final=True)),
            (make.other('engine'), make.engine()), (make.other('deadline'), make.deadline())):
        feed.take(channel, message)
    log.close()
    listing = subprocess.run([sys.executable, '-m', 'rerun', 'rrd', 'print', str(file)],
                             capture_output=True, text=True, timeout=60, check=True).stdout
    for path in ('/cameras/front', '/joints/arm/state', '/cycles/encode', '/facts',
                 '/language/narrate', '/engine/token_rate', '/deadline/lateness_p99'):
        assert f' {path} ' in listing, path


def test_file_that_cannot_be_written_is_said(tmp_path):
    pytest.importorskip('rerun', reason='rerun comes with the extra [rerun], half a gigabyte')
    with pytest.raises(RerunError, match='cannot write'):
        RerunLog(now_s=time.monotonic, file=str(tmp_path / 'missing' / 'run.rrd'))
