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

"""The trace has every tick, and the robot never waits for the disk."""

import csv
import time

import numpy as np
import pytest

from oxygen_ros.config import ConfigError
from oxygen_ros.policy import TickTrace
from oxygen_ros.types import Cause
from oxygen_ros.types import TickResult
from oxygen_ros.types import Verdict

FALLBACK = TickResult(1, None, Verdict.FALLBACK, Cause.STARTING, 0, 777)


def test_every_tick_is_a_line(tmp_path):
    trace = TickTrace(tmp_path / 'ticks.csv', ('lift', 'grip'))
    trace.record(TickResult(0, np.array([0.25, 1.0]), Verdict.FRESH, Cause.NONE, 7, 1500, 1))
    trace.record(FALLBACK)
    trace.close()
    with open(tmp_path / 'ticks.csv', encoding='utf-8') as file:
        first, second = csv.DictReader(file)
    assert (first['index'], first['lateness_ns'], first['verdict'], first['frame_id'],
            first['clamped'], first['lift']) == ('0', '1500', 'fresh', '7', '1', '0.25')
    assert (second['cause'], second['lift'], second['grip']) == ('starting', '', '')
    assert int(second['steady_ns']) >= int(first['steady_ns'])
    assert trace.num_lost == 0


def test_full_disk_ends_the_trace_with_one_message_and_nothing_else(caplog):
    trace = TickTrace('/dev/full', ('lift',))
    for _ in range(3):
        started = time.monotonic()
        for _ in range(1000):
            trace.record(FALLBACK)
        assert time.monotonic() - started < 1
        time.sleep(0.3)
    trace.close()
    assert trace.num_lost == 3000
    assert [record.levelname for record in caplog.records] == ['ERROR']
    assert 'No space left' in caplog.text


def test_file_that_cannot_be_made_is_refused_with_a_remedy(tmp_path):
    with pytest.raises(ConfigError, match='missing/ticks.csv cannot be written.*folder that exi'):
        TickTrace(tmp_path / 'missing' / 'ticks.csv', ('lift',))
