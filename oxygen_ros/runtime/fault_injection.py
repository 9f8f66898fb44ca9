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
Faults of the engine on demand, for tests of what the robot does then; off unless asked for.

Set OXYGEN_FAULTS to the path of a file in the environment of the node. Its engine process reads
the file before every step and does what its one line says:

    nan               every number of the chunk is not-a-number
    inf               every number of the chunk is infinite
    short             the chunk has one joint too few
    leap              the chunk asks for a place far beyond every limit
    sleep SECONDS     the step takes that long, with no sign of life
    error             the step raises
    warm_up SECONDS   the warm-up takes that long, with signs of progress; read once at start

An empty or absent file: no fault. The variable is no parameter of the node, so nothing that is
written into a launch file can switch it on by mistake, and a warning tells that it is set.
"""

from dataclasses import replace
import logging
import os
from pathlib import Path
import time
from typing import Any
from typing import Callable

import numpy as np

from oxygen_ros.types import ActionChunk

VARIABLE = 'OXYGEN_FAULTS'
_SPOIL: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    'nan': lambda actions: np.full_like(actions, np.nan),
    'inf': lambda actions: np.full_like(actions, np.inf),
    'short': lambda actions: actions[:, 1:],
    'leap': lambda actions: actions + 1e3,
}

logger = logging.getLogger(__name__)


def with_faults(load: Callable) -> Callable:
    """Return the loader of an engine, of one that fails on demand if the environment asks so."""
    path = os.environ.get(VARIABLE)
    if not path:
        return load
    faults = Faults(Path(path))

    def load_with_faults(start, emit, on_progress, **kwargs):
        logger.warning('%s is set: this engine fails on demand, not for a robot', VARIABLE)
        engine, info = load(start, lambda event: emit(faults.spoil(event)), on_progress, **kwargs)
        faults.warm_up(on_progress)
        return FaultyEngine(engine, faults), info
    return load_with_faults


class Faults:
    """Reads which fault is wanted."""

    def __init__(self, path: Path):
        self._path = path

    def wanted(self) -> tuple[str, float]:
        """Return (name, seconds); ('', 0) for none."""
        try:
            words = self._path.read_text(encoding='utf-8').split()
        except OSError:
            return '', 0.0
        return (words[0] if words else ''), float(words[1]) if len(words) > 1 else 0.0

    def spoil(self, event: Any) -> Any:
        """Return what the engine sends instead of this."""
        spoil = _SPOIL.get(self.wanted()[0])
        if spoil is None or not isinstance(event, ActionChunk):
            return event
        return replace(event, actions=spoil(event.actions))

    def before_step(self) -> None:
        """Do what is wanted before a step with an observation."""
        name, seconds = self.wanted()
        if name == 'sleep':
            time.sleep(seconds)
        elif name == 'error':
            raise RuntimeError('fault on demand')

    def warm_up(self, on_progress: Callable[[str], None]) -> None:
        """Take as long for the warm-up as wanted."""
        name, seconds = self.wanted()
        end_s = time.monotonic() + (seconds if name == 'warm_up' else 0.0)
        while time.monotonic() < end_s:
            on_progress('warming up slowly')
            time.sleep(0.1)


class FaultyEngine:
    """An engine whose steps fail on demand; everything else is that of the engine."""

    def __init__(self, engine: Any, faults: Faults):
        self._engine = engine
        self._faults = faults

    def __getattr__(self, name: str) -> Any:
        """Return what the engine itself has."""
        return getattr(self._engine, name)

    def step(self, observation=None, **kwargs) -> None:
        """Run a step, or fail."""
        if observation is not None:
            self._faults.before_step()
        self._engine.step(observation, **kwargs)
