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

"""The same in the rerun viewer, or as a recording for it; rerun-sdk is loaded only here."""

from collections.abc import Callable
from importlib import import_module

import numpy as np
from numpy.typing import NDArray

# What of the status is drawn over time.
_CURVES = {
    'engine': ('replan_rate', 'token_rate', 'action_latency_p50', 'action_latency_p99',
               'kv_pages_used', 'kv_prefixes', 'kv_generations', 'texts_running'),
    'deadline': ('lateness_p50', 'lateness_p99', 'fresh', 'carried', 'fallback', 'stopped',
                 'missed'),
}


class RerunError(RuntimeError):
    """Rerun cannot be used; the message says why and what to do."""


class RerunLog:
    """Takes what a Board takes and passes it on; nothing is kept here. One thread."""

    is_watched = True          # a viewer or a file always wants everything

    def __init__(self, *, now_s: Callable[[], float], file: str = ''):
        """Start the viewer, or write to a file. Raises RerunError."""
        try:
            self._rerun = import_module('rerun')
        except ImportError as error:
            raise RerunError('rerun is not installed; `pip install "rerun-sdk>=0.24,<1"`, or '
                             'leave --rerun out for the page that needs nothing') from error
        self._now_s = now_s
        self._texts: dict[str, str] = {}
        self._stream = self._rerun.RecordingStream('oxygen_ros')
        try:
            if file:
                self._stream.save(file)
            else:
                self._stream.spawn()
        except (OSError, RuntimeError) as error:
            raise RerunError(f'rerun cannot {"write " + file if file else "start its viewer"}: '
                             f'{error}') from error

    def picture(self, camera: str, picture: NDArray[np.uint8]) -> None:
        """Log [H, W, 3] RGB."""
        self._log(f'cameras/{camera}', self._rerun.Image(picture).compress(jpeg_quality=80))

    def sample(self, kind: str, names: list[str], values: list[float]) -> None:
        """Log joint positions."""
        for name, value in zip(names, values):
            self._log(f'joints/{name}/{kind}', self._rerun.Scalars(value))

    def add(self, kind: str, entry: dict) -> None:
        """Log a cycle, a finished text or a fact."""
        if kind == 'cycles':
            for name in ('encode', 'act'):
                self._log(f'cycles/{name}', self._rerun.Scalars(entry[name]))
        elif kind == 'facts':
            self._log('facts', self._rerun.TextLog(
                f'{entry["subject"]} | {entry["relation"]} | {entry["object"]}'))
        elif kind == 'pieces':
            text = self._texts.pop(entry['request_id'], '') + entry['text']
            if entry['final']:
                self._log(f'language/{entry["task"]}', self._rerun.TextLog(text))
            else:
                self._texts[entry['request_id']] = text

    def put(self, key: str, value) -> None:
        """Log the figures of a status that curves are drawn of."""
        for name in _CURVES.get(key, ()):
            self._log(f'{key}/{name}', self._rerun.Scalars(value[name]))
        if key == 'instruction':
            self._log('language/instruction', self._rerun.TextLog(value))

    def clear(self) -> None:
        """Keep everything: rerun has a time line of its own."""

    def close(self) -> None:
        """Write what waits."""
        self._stream.flush()
        self._stream.disconnect()

    def _log(self, path: str, what) -> None:
        self._stream.set_time('time', duration=self._now_s())
        self._stream.log(path, what)
