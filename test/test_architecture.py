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

"""The package keeps its layout: who may import whom, file sizes, licence headers, version."""

import ast
from pathlib import Path
import re
import subprocess
import sys

import pytest

import oxygen_ros

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / 'oxygen_ros'
MAX_LINES = 400
LICENCE = 'Licensed under the Apache License, Version 2.0'

NOUNS = {'types', 'config', 'clock', 'figures', 'rotations'}
COMPUTES = {'torch', 'transformers', 'safetensors', 'tokenizers'}
OPTIONAL = {'huggingface_hub', 'sentencepiece'}   # some checkpoints need them
OPTIONAL = {'huggingface_hub', 'sentencepiece'}   # for some checkpoints, imported when needed
MESSAGES = {'action_msgs', 'builtin_interfaces', 'diagnostic_msgs', 'geometry_msgs',
            'lifecycle_msgs', 'rcl_interfaces', 'rosgraph_msgs', 'sensor_msgs', 'std_msgs',
            'std_srvs', 'trajectory_msgs', 'unique_identifier_msgs',
            'oxygen_ros.msg', 'oxygen_ros.srv', 'oxygen_ros.action'}
ROS = {'rclpy', 'ament_index_python', 'cv_bridge', 'rosbags'} | MESSAGES

# folder -> (folders of ours it may import, third-party packages it may import)
ALLOWED = {
    'types': (set(), {'numpy'}),
    'clock': (set(), set()),
    'figures': (set(), set()),
    'rotations': (set(), {'numpy'}),
    'config': (NOUNS, {'numpy', 'yaml'}),
    'models': (NOUNS, {'numpy'} | COMPUTES),
    'spaces': (NOUNS, {'numpy', 'pinocchio'}),
    'checkpoint': (NOUNS | {'models', 'spaces'}, {'numpy'} | COMPUTES | OPTIONAL),
    'engine': (NOUNS | {'models', 'checkpoint'}, {'numpy'} | COMPUTES),
    'policy': (NOUNS, {'numpy'}),
    'runtime': (NOUNS | {'models', 'checkpoint', 'engine', 'policy'}, {'numpy', 'torch'}),
    'bags': (NOUNS, {'numpy', 'yaml', 'rosbags', 'lz4', 'backports', 'compression'}),
    'sensing': (NOUNS, {'numpy', 'cv2', 'cv_bridge', 'rosbags'}),
    'view': (NOUNS | {'sensing', 'bags'}, {'numpy', 'cv2'}),
    'ros': (NOUNS | {'policy', 'runtime', 'sensing', 'spaces', 'bags', 'view'},
            {'numpy', 'cv2'} | ROS),
    'evaluation': (NOUNS | {'engine', 'policy', 'runtime', 'sensing', 'bags'},
                   {'numpy', 'cv2'}),
    'sim': (NOUNS, {'numpy', 'mujoco'}),
    'training': (NOUNS | {'models', 'spaces', 'checkpoint', 'runtime', 'sim'}, {'numpy', 'torch'}),
    'tools': (NOUNS | {'models', 'checkpoint', 'engine', 'policy', 'runtime', 'sim', 'training',
                       'bags', 'evaluation'},
              {'numpy', 'yaml', 'torch', 'matplotlib', 'cv2'}),
}
# Single files that may import more than their folder.
EXTRA = {
    'ros/sim_node.py': {'sim'},        # the simulated robot as a ROS node
    'ros/sim_tour.py': {'sim'},
    'ros/sim_trials.py': {'sim'},
}
# These run in the process that holds the control timer, where torch would make it late.
WITHOUT_TORCH = ('oxygen_ros.policy', 'oxygen_ros.spaces', 'oxygen_ros.runtime.session',
                 'oxygen_ros.runtime.host', 'oxygen_ros.runtime.shared_frames',
                 'oxygen_ros.runtime.facts', 'oxygen_ros.runtime.metrics', 'oxygen_ros.cli')


def modules() -> list[Path]:
    """Return every Python file of the package."""
    return sorted(PACKAGE.rglob('*.py'))


def python_files() -> list[Path]:
    """Return every Python file that belongs to the repository, scripts included."""
    scripts = [path for path in (ROOT / 'scripts').iterdir()
               if path.is_file()
               and path.read_text(encoding='utf-8').startswith('#!/usr/bin/env python3')]
    folders = [path for name in ('oxygen_ros', 'test', 'launch', 'cmake')
               for path in (ROOT / name).rglob('*.py')]
    return sorted([*folders, *scripts, ROOT / 'setup.py'])


def imports(path: Path) -> set[str]:
    """Return the dotted names a file imports, wherever in the file they stand."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding='utf-8'))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f'{path}: relative import; name the module in full'
            names.add(node.module)
    return names


def folder_of(path: Path) -> str:
    """Return the stage a file belongs to: its folder, or its own name at the top."""
    relative = path.relative_to(PACKAGE)
    return relative.parts[0] if len(relative.parts) > 1 else relative.stem


def violations(path: Path) -> list[str]:
    """Return the imports of a file that the table does not allow."""
    relative = path.relative_to(PACKAGE).as_posix()
    folder = folder_of(path)
    own, third_party = ALLOWED[folder]
    own = own | {folder} | EXTRA.get(relative, set())
    wrong = []
    for name in sorted(imports(path)):
        parts = name.split('.')
        if name in third_party or '.'.join(parts[:2]) in third_party or name == 'oxygen_ros':
            continue
        if parts[0] == 'oxygen_ros':
            wrong += [] if parts[1] in own else [name]
        elif parts[0] not in sys.stdlib_module_names and parts[0] not in third_party:
            wrong.append(name)
    return [f'{relative} imports {name}, which {folder} may not' for name in wrong]


def test_imports_follow_the_table():
    free = {'__init__', '__main__', 'cli'}      # they only import each other
    wrong = [text for path in modules() if folder_of(path) not in free
             for text in violations(path)]
    assert not wrong, '\n'.join(wrong)


def test_the_table_notices_a_wrong_import(tmp_path, monkeypatch):
    monkeypatch.setitem(globals(), 'PACKAGE', tmp_path)
    (tmp_path / 'policy').mkdir()
    bad = tmp_path / 'policy' / 'bad.py'
    bad.write_text('import os\nimport torch\nfrom oxygen_ros.runtime import session\n'
                   'from oxygen_ros.types import Verdict\nfrom oxygen_ros.msg import Deadline\n')
    assert violations(bad) == [
        'policy/bad.py imports oxygen_ros.msg, which policy may not',
        'policy/bad.py imports oxygen_ros.runtime, which policy may not',
        'policy/bad.py imports torch, which policy may not']


def test_every_folder_is_in_the_table():
    found = {folder_of(path) for path in modules()}
    assert found - set(ALLOWED) == {'__init__', '__main__', 'cli'}


@pytest.mark.parametrize('module', WITHOUT_TORCH)
def test_the_process_with_the_control_timer_stays_free_of_torch(module):
    code = f'import sys, {module}; sys.exit(any(m in sys.modules for m in ("torch", "rclpy")))'
    assert subprocess.run([sys.executable, '-c', code], cwd=ROOT, timeout=60).returncode == 0


def test_files_stay_readable_in_one_sitting():
    long = {path.relative_to(ROOT).as_posix(): count for path in python_files()
            if (count := len(path.read_text(encoding='utf-8').splitlines())) > MAX_LINES}
    assert not long, f'files over {MAX_LINES} lines; split them by responsibility: {long}'


def test_every_file_has_licence_and_docstring():
    for path in python_files():
        text = path.read_text(encoding='utf-8')
        assert LICENCE in text[:600], f'{path} has no licence header; copy it from clock.py'
        assert ast.get_docstring(ast.parse(text)), f'{path} has no module docstring'


def test_library_code_does_not_print():
    # Folders that are not command line tools report through logging or a ROS logger.
    silent = set(ALLOWED) - {'tools', 'ros'}
    for path in modules():
        if folder_of(path) in silent:
            calls = [node for node in ast.walk(ast.parse(path.read_text(encoding='utf-8')))
                     if isinstance(node, ast.Call) and getattr(node.func, 'id', '') == 'print']
            assert not calls, f'{path}:{calls[0].lineno} prints; use logging'


def test_version_is_the_same_everywhere():
    package_xml = (ROOT / 'package.xml').read_text(encoding='utf-8')
    changelog = (ROOT / 'CHANGELOG.rst').read_text(encoding='utf-8')
    version = re.search(r'<version>(.+?)</version>', package_xml).group(1)
    assert oxygen_ros.__version__ == version
    assert re.search(r'^(\d+\.\d+\.\d+|Forthcoming)', changelog, re.M).group(1) in (
        version, 'Forthcoming')


def test_every_message_is_built():
    cmake = (ROOT / 'CMakeLists.txt').read_text(encoding='utf-8')
    for kind in ('msg', 'srv', 'action'):
        for path in (ROOT / kind).iterdir():
            assert f'"{kind}/{path.name}"' in cmake, f'{path.name} is missing in CMakeLists.txt'


def test_every_message_field_has_a_comment():
    for path in (*(ROOT / 'msg').iterdir(), *(ROOT / 'srv').iterdir(),
                 *(ROOT / 'action').iterdir()):
        for line in path.read_text(encoding='utf-8').splitlines():
            bare = line.strip()
            is_field = bare and bare[0] != '#' and bare != '---' and '=' not in bare.split('#')[0]
            assert not is_field or '#' in bare, f'{path.name}: {bare!r} needs a comment with unit'
