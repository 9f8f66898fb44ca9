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

"""TickStats: counts and lateness of the control timer, cheap enough for every tick."""

from array import array
from dataclasses import dataclass

import numpy as np

from oxygen_ros.types import Cause
from oxygen_ros.types import TickResult
from oxygen_ros.types import Verdict

_NUM_RECENT = 2048
# Histogram of the whole run: 32 bins for every doubling of the lateness, so within 3 %.
_SUB_BITS = 5
_NUM_BINS = 64 << _SUB_BITS
# Upper edges of the histogram that is shown, s; what is later falls into one more bin.
LATENESS_EDGES_S = tuple(step * 10.0 ** power for power in range(-5, 0) for step in (1, 2, 5))


@dataclass(frozen=True)
class TickSnapshot:
    """What the control timer did since the last reset."""

    ticks: int                     # grid points passed, missed ones included
    commands: int                  # commands given out
    missed: int                    # grid points skipped after a stall
    clamped: int                   # ticks changed by a limit
    verdicts: dict[str, int]       # by name, every name present
    causes: dict[str, int]         # by name, only those that occurred
    lateness_p50_s: float          # of the whole run, within 3 %
    lateness_p99_s: float
    lateness_max_s: float          # exact
    lateness_counts: tuple[int, ...]   # of the whole run: below each of LATENESS_EDGES_S, above
    recent_lateness_p50_s: float   # of the newest 2048 ticks
    recent_lateness_p99_s: float
    last: TickResult | None


class TickStats:
    """
    Counts ticks in the tick thread and answers `snapshot` in any other.

    `record` writes into arrays made beforehand and takes no lock; a snapshot taken meanwhile may
    be one tick apart between two of its figures.
    """

    def __init__(self):
        self.reset()

    def reset(self) -> None:
        """Start again from zero; not while ticks are running."""
        self._verdicts = dict.fromkeys(Verdict, 0)
        self._causes = dict.fromkeys(Cause, 0)
        self._bins = array('q', bytes(8 * _NUM_BINS))
        self._recent = array('q', bytes(8 * _NUM_RECENT))
        self._num_recorded = 0
        self._num_missed = 0
        self._num_commands = 0
        self._num_clamped = 0
        self._max_ns = 0
        self._last: TickResult | None = None

    def record(self, result: TickResult) -> None:
        """Count one tick; grid points between it and the last one were missed."""
        last = self._last
        # A grid that starts again at zero (another activation) has missed nothing.
        if last is not None and result.index > last.index:
            self._num_missed += result.index - last.index - 1
        self._verdicts[result.verdict] += 1
        self._causes[result.cause] += 1
        self._num_commands += result.command is not None
        self._num_clamped += result.clamped > 0
        lateness_ns = max(0, result.lateness_ns)
        self._max_ns = max(self._max_ns, lateness_ns)
        self._bins[_bin(lateness_ns)] += 1
        self._recent[self._num_recorded % _NUM_RECENT] = lateness_ns
        self._num_recorded += 1
        self._last = result

    def snapshot(self) -> TickSnapshot:
        """Return the counts so far."""
        num_recent = min(self._num_recorded, _NUM_RECENT)
        recent = np.array(self._recent[:num_recent]) if num_recent else np.zeros(1)
        recent_p50, recent_p99 = np.quantile(recent, (0.5, 0.99)) / 1e9
        bins = np.array(self._bins)
        return TickSnapshot(
            ticks=self._num_recorded + self._num_missed, commands=self._num_commands,
            missed=self._num_missed, clamped=self._num_clamped,
            verdicts={verdict.value: count for verdict, count in self._verdicts.items()},
            causes={cause.value: count for cause, count in self._causes.items()
                    if count and cause is not Cause.NONE},
            lateness_p50_s=min(_quantile_ns(bins, 0.5), self._max_ns) / 1e9,
            lateness_p99_s=min(_quantile_ns(bins, 0.99), self._max_ns) / 1e9,
            lateness_max_s=self._max_ns / 1e9, lateness_counts=_coarse(bins),
            recent_lateness_p50_s=float(recent_p50), recent_lateness_p99_s=float(recent_p99),
            last=self._last)


def _bin(value_ns: int) -> int:
    """Return the histogram bin: the leading bits of the value, as in a floating-point number."""
    shift = max(0, value_ns.bit_length() - _SUB_BITS - 1)
    return min((shift << _SUB_BITS) + (value_ns >> shift), _NUM_BINS - 1)


def _upper_edge_ns(index: int) -> int:
    """Return the largest value of a bin."""
    if index < 2 << _SUB_BITS:
        return index
    shift = (index >> _SUB_BITS) - 1
    return ((index - (shift << _SUB_BITS) + 1) << shift) - 1


def _coarse(bins: np.ndarray) -> tuple[int, ...]:
    """Return the counts between LATENESS_EDGES_S; an edge may be off by 3 %."""
    edges = [_bin(round(edge * 1e9)) for edge in LATENESS_EDGES_S]
    return tuple(int(part.sum()) for part in np.split(bins, edges))


def _quantile_ns(bins: np.ndarray, quantile: float) -> int:
    total = bins.sum()
    if not total:
        return 0
    rank = max(1, int(np.ceil(quantile * total)))
    return _upper_edge_ns(int(np.searchsorted(np.cumsum(bins), rank)))
