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

"""The reference in doc/ says what the code does."""

import importlib.util
from pathlib import Path
import re

import pytest

from oxygen_ros.cli import COMMANDS
from oxygen_ros.types import Cause
from oxygen_ros.types import Verdict

pytest.importorskip('rclpy', reason='rclpy comes with a ROS 2 installation')

ROOT = Path(__file__).resolve().parents[1]


def load_generator():
    """Return scripts/generate_reference.py as a module."""
    spec = importlib.util.spec_from_file_location(
        'generate_reference', ROOT / 'scripts' / 'generate_reference.py')
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize('name', ['parameters.md', 'messages.md', 'cli.md'])
def test_generated_page_is_current(name):
    page = load_generator().PAGES[name]()
    assert (ROOT / 'doc' / 'reference' / name).read_text(encoding='utf-8') == page, \
        'run scripts/generate_reference.py'


def test_every_cause_and_verdict_is_explained():
    text = (ROOT / 'doc' / 'reference' / 'topics.md').read_text(encoding='utf-8')
    for value in (*Cause, *Verdict):
        assert not value.value or f'`{value.value}`' in text


def test_readme_lists_every_command():
    text = (ROOT / 'README.md').read_text(encoding='utf-8')
    assert set(re.findall(r'`oxygen ([\w-]+)', text)) == set(COMMANDS)


def test_links_between_pages_lead_somewhere():
    pages = [*ROOT.glob('*.md'), *(ROOT / 'doc').rglob('*.md')]
    assert len(pages) > 8
    for page in pages:
        for target in re.findall(r'\]\(([^)#]+)', page.read_text(encoding='utf-8')):
            assert target.startswith('http') or (page.parent / target).exists(), \
                f'{page.name} links to {target}'
