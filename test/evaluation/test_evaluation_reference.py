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

"""doc/reference/evaluation.md names every key of a report."""

import json
from pathlib import Path
import re

from bag_helpers import scene
from bag_helpers import write_bag
from bag_helpers import write_profile

from oxygen_ros.evaluation.report import FORMAT
from oxygen_ros.tools.eval import main

DOCUMENT = Path(__file__).resolve().parents[2] / 'doc' / 'reference' / 'evaluation.md'


def keys_of(report):
    """Return the keys of a report, but not names of joints, cameras and reasons."""
    keys = set(report)
    for name in set(report) - {'format', 'instructions', 'texts', 'facts'}:
        keys |= set(report[name])
    for entries in (report['instructions'], report['texts'], report['facts'],
                    report['actions']['by_index'], report['actions']['joints'].values()):
        for entry in entries:
            keys |= set(entry)
    return keys


def test_every_key_of_a_report_and_every_column_is_described(tmp_path):

    assert main([str(write_bag(tmp_path / 'bag', scene(seconds=0.7))), '--quiet', '--robot',
                 str(write_profile(tmp_path)), '--output', str(tmp_path / 'out')]) == 0
    text = DOCUMENT.read_text(encoding='utf-8')
    named = set(re.findall(r'`([a-z_0-9]+)', text))
    report = json.loads((tmp_path / 'out' / 'report.json').read_text(encoding='utf-8'))
    assert keys_of(report) - {'index'} <= named
    header = (tmp_path / 'out' / 'ticks.csv').read_text().splitlines()[0].split(',')
    assert {re.sub('(arm|elbow)$', '', column) for column in header} <= named
    assert FORMAT in text
