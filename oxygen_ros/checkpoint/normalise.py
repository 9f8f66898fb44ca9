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
"""Robot units to the numbers a model was trained on, and back; exact per checkpoint family."""

from collections.abc import Mapping
from dataclasses import dataclass
import logging

import numpy as np
from numpy.typing import NDArray

from oxygen_ros.config import ConfigError

IDENTITY, MEAN_STD, MIN_MAX, QUANTILES = 'identity', 'mean_std', 'min_max', 'quantiles'
# Statistics each mode reads: offset and scale, or the two ends that become -1 and 1.
KEYS = {IDENTITY: (), MEAN_STD: ('mean', 'std'), MIN_MAX: ('min', 'max'),
        QUANTILES: ('q01', 'q99'), 'quantile10': ('q10', 'q90')}
TINY_RANGE = 1e-4   # of a statistic; what never moved in the data says nothing about the robot

_logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Normaliser:
    """
    One affine map per entry: (x - offset) / divisor, for ranges stretched to [-1, 1].

    The families differ in where they add an epsilon and in precision, which is kept here,
    because a state on the edge between two bins must fall to the same side. Actions may have a
    map for each row of a chunk: rows far ahead vary more than the next one.
    """

    mode: str
    offset: NDArray                  # [size] or [horizon, size], robot units
    divisor: NDArray                 # like offset, robot units, never 0
    multiplier: NDArray              # like offset, of the way back
    dtype: type = np.float64         # of the arithmetic

    @property
    def size(self) -> int:
        """Number of entries."""
        return self.offset.shape[-1]

    @property
    def used_size(self) -> int:
        """Number of entries without those at the end that pad the model's width (all 0)."""
        return _without_padding(self.offset, self.divisor)

    def normalise(self, values: NDArray) -> NDArray:
        """Return model units for robot units [..., size], of a chunk its first rows."""
        values = np.asarray(values, self.dtype)
        scaled = (values - self._rows(self.offset, values)) / self._rows(self.divisor, values)
        return scaled * 2 - 1 if self._is_range else scaled

    def restore(self, values: NDArray) -> NDArray:
        """Return robot units for model units [..., size], of a chunk its first rows."""
        values = np.asarray(values, self.dtype)
        if self._is_range:
            values = (values + 1) / 2
        return values * self._rows(self.multiplier, values) + self._rows(self.offset, values)

    def cut_to(self, size: int, *, what: str) -> 'Normaliser':
        """
        Return the map of the first `size` entries; the rest must be padding (all 0).

        Raises ConfigError when the statistics are of something with another number of entries.
        """
        if self.size < size or self.used_size > size:
            raise ConfigError(f'the checkpoint has statistics of {self.used_size} {what} entries, '
                              f'the robot profile has {size}; they are of another robot: choose '
                              'the profile (or asset_id) that belongs to the checkpoint')
        kept = np.s_[..., :size]
        return Normaliser(self.mode, self.offset[kept], self.divisor[kept],
                          self.multiplier[kept], self.dtype)

    @staticmethod
    def _rows(part: NDArray, values: NDArray) -> NDArray:
        """Return a part of the map for as many rows as there are values."""
        return part if part.ndim == 1 else part[:values.shape[-2]]

    @property
    def _is_range(self) -> bool:
        return self.mode not in (IDENTITY, MEAN_STD)


@dataclass(frozen=True)
class Normalisation:
    """What a checkpoint does to the state and to the actions, and where that was read."""

    state: Normaliser
    actions: Normaliser
    source: str


def identity(size: int) -> Normaliser:
    """Return the map that changes nothing."""
    ones = np.ones(size)
    return Normaliser(IDENTITY, np.zeros(size), ones, ones)


def between(low: NDArray, high: NDArray) -> Normaliser:
    """Return the map of [low, high] to [-1, 1]."""
    return Normaliser(MIN_MAX, low, high - low, high - low)


def openpi_normaliser(mode: str, statistics: Mapping[str, NDArray], *, where: str) -> Normaliser:
    """Return openpi's map: epsilon 1e-6 always added, both ways, in float64."""
    first, second = read_pair(mode, statistics, where=where, dtype=np.float64)
    divisor = (second if mode == MEAN_STD else second - first) + 1e-6
    return Normaliser(mode, first, divisor, divisor)


def lerobot_normaliser(mode: str, statistics: Mapping[str, NDArray], *, where: str, size: int,
                       eps: float = 1e-8) -> Normaliser:
    """Return LeRobot's map: float32; epsilon only where a range is 0, or added to std one way."""
    if mode == IDENTITY:
        return identity(size)
    first, second = read_pair(mode, statistics, where=where, dtype=np.float32)
    if mode == MEAN_STD:
        return Normaliser(mode, first, second + np.float32(eps), second, np.float32)
    divisor = second - first
    divisor = np.where(divisor == 0, np.float32(eps), divisor)
    return Normaliser(mode, first, divisor, divisor, np.float32)


def read_pair(mode: str, statistics: Mapping[str, NDArray], *, where: str,
              dtype: type) -> tuple[NDArray, NDArray]:
    """Return the two statistics of a mode; ConfigError names what is missing or impossible."""
    if mode not in KEYS or mode == IDENTITY:
        raise ConfigError(f'{where}: normalisation {mode!r} is not known; known: '
                          f'{", ".join(KEYS)}')
    missing = [key for key in KEYS[mode] if key not in statistics]
    if missing:
        raise ConfigError(f'{where} lacks {" and ".join(missing)} for the normalisation '
                          f'{mode!r}; compute the statistics of the training data again')
    first, second = (np.asarray(statistics[key], dtype) for key in KEYS[mode])
    if first.ndim != 2:      # one row per step of a chunk
        first, second = first.reshape(-1), second.reshape(-1)
    if first.shape != second.shape or not first.size:
        raise ConfigError(f'{where}: {KEYS[mode][0]} has {first.size} entries, {KEYS[mode][1]} '
                          f'{second.size}; the file is damaged')
    if not (np.isfinite(first).all() and np.isfinite(second).all()):
        raise ConfigError(f'{where} holds a value that is not finite; compute the statistics '
                          'of the training data again')
    spread = second if mode == MEAN_STD else second - first
    if (spread < 0).any():
        worst = int(np.unravel_index(np.argmax(spread < 0), spread.shape)[-1])
        raise ConfigError(f'{where}: entry {worst} has a negative range; '
                          'the file is damaged')
    widest = np.atleast_2d(spread).max(axis=0)
    tiny = np.flatnonzero(widest[:_without_padding(first, spread)] < TINY_RANGE)
    if tiny.size:
        _logger.warning('%s: entries %s hardly moved in the training data (range below %g); what '
                        'the model does with them on a moving robot is arbitrary',
                        where, ', '.join(map(str, tiny)), TINY_RANGE)
    return first, second


def _without_padding(offset: NDArray, spread: NDArray) -> int:
    used = np.flatnonzero(np.atleast_2d((offset != 0) | (spread > TINY_RANGE)).any(axis=0))
    return int(used[-1]) + 1 if used.size else 0
