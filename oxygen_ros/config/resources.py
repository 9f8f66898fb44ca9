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

"""Finds files the package ships, from a source tree, a wheel or an ament install."""

import os
from pathlib import Path
import sys

from oxygen_ros.config.errors import ConfigError


def share_folders() -> list[Path]:
    """Return the folders that may hold this package's shared files, nearest first."""
    folders = [Path(__file__).resolve().parents[2]]          # a source tree
    prefixes = os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep) + [sys.prefix]
    folders += [Path(prefix) / 'share' / 'oxygen_ros' for prefix in prefixes if prefix]
    return folders


def find_share_file(relative: str) -> Path:
    """
    Return the path of a shipped file such as 'config/robots/so101.yaml'.

    Raises ConfigError naming every folder that was searched.
    """
    searched = share_folders()
    for folder in searched:
        if (folder / relative).exists():
            return folder / relative
    places = ', '.join(str(folder) for folder in searched)
    raise ConfigError(f'{relative} is not installed; looked in {places}; install the package '
                      f'again')
