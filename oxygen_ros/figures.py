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

"""Figures of a command, written to a JSON file, and how busy the machine was meanwhile."""

from collections.abc import Mapping
from collections.abc import Sequence
import json
import os
from pathlib import Path


def write_figures(path: str | Path, figures: Mapping | Sequence) -> str:
    """Write figures as JSON; return '' or why not, with the remedy."""
    try:
        Path(path).expanduser().write_text(json.dumps(figures, indent=2) + '\n', encoding='utf-8')
    except OSError as error:
        return _unwritable(path, error)
    return ''


def why_unwritable(path: str | Path) -> str:
    """Return why a file cannot be written, '' if it can: better known before than after a run."""
    try:
        Path(path).expanduser().open('a', encoding='utf-8').close()
    except OSError as error:
        return _unwritable(path, error)
    return ''


def machine_load() -> str:
    """Return how many programs want to run, over the last minute: 'load 7.1 on 2 cores'."""
    return f'load {os.getloadavg()[0]:.1f} on {len(os.sched_getaffinity(0))} cores'


def _unwritable(path: str | Path, error: OSError) -> str:
    return f'cannot write {path}: {error.strerror}; choose another FILE'
