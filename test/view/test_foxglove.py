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

"""The Foxglove layout names panels, topics and fields that exist."""

import json
from pathlib import Path
import re

import pytest

from oxygen_ros.config import load_robot

ROOT = Path(__file__).resolve().parents[2]
MESSAGES = {'action_chunk': 'ActionChunk', 'deadline': 'Deadline', 'engine': 'EngineStatus',
            'language': 'TokenDelta', 'memory': 'MemoryFact'}


@pytest.fixture(scope='module')
def layout():
    """Return the layout."""
    return json.loads((ROOT / 'config' / 'foxglove' / 'oxygen.json').read_text())


def panels(node) -> list[str]:
    """Return the panels of a part of the layout."""
    if isinstance(node, str):
        return [node]
    return panels(node['first']) + panels(node['second'])


def test_every_panel_has_its_place(layout):
    assert sorted(panels(layout['layout'])) == sorted(layout['configById'])


def test_every_topic_and_field_exists(layout):
    robot = load_robot('so101')
    topics = {f'/{camera.topic}' for camera in robot.cameras}
    topics |= {f'/{robot.joint_states_topic}', f'/{robot.command_topic}', '/diagnostics'}
    paths = re.findall(r'"(/[^"]+)"', json.dumps(layout))
    assert len(paths) > 15
    for path in paths:
        topic, field = re.fullmatch(r'([/\w]+)(?:\{.*?\})?(?:\.(\w+).*)?', path).groups()
        if topic.startswith('/oxygen/'):
            text = (ROOT / 'msg' / f'{MESSAGES[topic[8:]]}.msg').read_text()
            assert not field or re.search(rf'^\S+ {field}\b', text, re.M), path
        else:
            assert topic in topics, path
