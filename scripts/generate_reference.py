#!/usr/bin/env python3
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
Writes doc/reference/parameters.md and doc/reference/messages.md from the code.

    .venv/bin/python scripts/generate_reference.py

test/test_reference.py fails when the files are not current.
"""

from pathlib import Path

from oxygen_ros.config import load_robot
from oxygen_ros.ros import parameters as declared
from oxygen_ros.ros.parameters import LIVE
from oxygen_ros.ros.parameters import Parameter
from oxygen_ros.ros.parameters import PARAMETERS
from oxygen_ros.ros.parameters import START

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / 'doc' / 'reference'
WHEN = {START: 'start', LIVE: 'at once'}
NOTE = '<!-- Made by scripts/generate_reference.py; change the code, not this file. -->\n'


def row(parameter: Parameter) -> str:
    """Return one parameter as a row of the table."""
    default = repr(parameter.default).lower() if isinstance(parameter.default, bool) \
        else repr(parameter.default)
    values = ''
    if parameter.low is not None:
        values = f'{parameter.low} to {parameter.high}'
    elif parameter.choices:
        values = ', '.join(choice or "''" for choice in parameter.choices)
    when = WHEN.get(parameter.read, 'configure')
    return f'| `{parameter.name}` | `{default}` | {values} | {when} | {parameter.description} |'


def parameters_page() -> str:
    """Return the page about the node's parameters."""
    head = ['| name | default | values | read | what it does |', '|---|---|---|---|---|']
    camera = load_robot('so101').cameras[0]
    return '\n'.join([
        NOTE, '# Parameters of the node', '',
        'Read `start`: fixed for the life of the process. Read `configure`: a change takes effect '
        'at the next configure, and is refused from then until cleanup. Read `at once`: a change '
        'takes effect while the robot moves.', '',
        *head, *(row(parameter) for parameter in PARAMETERS), '',
        '## Cameras', '',
        f'For every camera of the profile, here `{camera.slot}`; the default is what the profile '
        f'says.', '',
        *head, *(row(make(camera)) for _, make in declared._CAMERA_PARAMETERS), ''])


def messages_page() -> str:
    """Return the page about messages, the service and the action."""
    lines = [NOTE, '# Messages, service, action', '',
             'Every field has its unit in the comment behind it.', '']
    for kind in ('msg', 'srv', 'action'):
        for path in sorted((ROOT / kind).iterdir()):
            lines += [f'## oxygen_ros/{kind}/{path.stem}', '', '```',
                      path.read_text(encoding='utf-8').rstrip(), '```', '']
    return '\n'.join(lines)


PAGES = {'parameters.md': parameters_page, 'messages.md': messages_page}

if __name__ == '__main__':
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, page in PAGES.items():
        (FOLDER / name).write_text(page(), encoding='utf-8')
