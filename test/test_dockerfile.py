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

"""The Dockerfile, which nobody builds here, agrees with the package that it installs."""

from pathlib import Path
import re

ROOT = Path(__file__).resolve().parents[1]
DOCKERFILE = (ROOT / 'Dockerfile').read_text(encoding='utf-8')


def test_it_installs_what_the_engine_requires():
    setup = (ROOT / 'setup.py').read_text(encoding='utf-8')
    engine = re.search(r"'torch': \[(.*?)\]", setup, re.S)[1]
    wanted = set(re.findall(r"'([^']+)'", engine))
    assert set(re.findall(r"'(\w+>=[^']+)'", DOCKERFILE)) == wanted


def test_it_starts_what_exists():
    launch_files = re.findall(r'oxygen_ros (\w+\.launch\.py)', DOCKERFILE)
    assert launch_files
    assert all((ROOT / 'launch' / name).exists() for name in launch_files)
    executable, = re.findall(r'"oxygen_ros", "(\w+)"', DOCKERFILE)
    assert (ROOT / 'scripts' / executable).exists()


def test_it_names_the_folder_of_the_package():
    name = re.search(r'<name>(.+?)</name>', (ROOT / 'package.xml').read_text())[1]
    assert f'/src/{name}' in DOCKERFILE
