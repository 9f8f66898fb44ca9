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

"""Counts and quantiles of the control timer."""

import tracemalloc

import numpy as np
import pytest

from oxygen_ros.policy import TickStats
from oxygen_ros.policy.stats import LATENESS_EDGES_S
from oxygen_ros.types import Cause
from oxygen_ros.types import TickResult
from oxygen_ros.types import Verdict

COMMAND = np.zeros(2)


def _result(index, *, verdict=Verdict.FRESH, cause=Cause.NONE, command=COMMAND, lateness_ns=0,
            clamped=0):
    return TickResult(index, command, verdict, cause, 1, lateness_ns, clamped)


def test_empty_snapshot_is_all_zero():
    snapshot = TickStats().snapshot()
    assert (snapshot.ticks, snapshot.commands, snapshot.lateness_max_s) == (0, 0, 0)
    assert snapshot.verdicts == {'fresh': 0, 'carried': 0, 'fallback': 0, 'stopped': 0}
    assert snapshot.causes == {} and snapshot.last is None


def test_verdicts_causes_commands_and_clamps_are_counted():
    stats = TickStats()
    for index in range(4):
        stats.record(_result(index, clamped=2 * (index == 1)))
    stats.record(_result(4, verdict=Verdict.FALLBACK, cause=Cause.CAMERA_STALE))
    stats.record(_result(5, verdict=Verdict.STOPPED, cause=Cause.INACTIVE, command=None))
    snapshot = stats.snapshot()
    assert snapshot.verdicts == {'fresh': 4, 'carried': 0, 'fallback': 1, 'stopped': 1}
    assert snapshot.causes == {'camera_stale': 1, 'inactive': 1}
    assert (snapshot.ticks, snapshot.commands, snapshot.clamped) == (6, 5, 1)
    assert snapshot.last.index == 5


def test_gaps_of_the_grid_are_missed_ticks_and_a_new_grid_is_not_a_gap():
    stats = TickStats()
    for index in (0, 1, 5, 6, 0, 1, 3):
        stats.record(_result(index))
    snapshot = stats.snapshot()
    assert snapshot.missed == 4
    assert snapshot.ticks == 11


def test_quantiles_of_the_whole_run_are_within_three_percent():
    lateness_ns = np.random.default_rng(0).lognormal(12, 1.5, 20_000).astype(int)
    stats = TickStats()
    for index, value in enumerate(lateness_ns):
        stats.record(_result(index, lateness_ns=int(value)))
    snapshot = stats.snapshot()
    p50, p99 = np.quantile(lateness_ns, (0.5, 0.99)) / 1e9
    assert snapshot.lateness_p50_s == pytest.approx(p50, rel=0.035)
    assert snapshot.lateness_p99_s == pytest.approx(p99, rel=0.035)
    assert snapshot.lateness_max_s == lateness_ns.max() / 1e9


def test_recent_quantiles_forget_what_is_long_ago():
    stats = TickStats()
    for index in range(100):
        stats.record(_result(index, lateness_ns=10**9))
    for index in range(100, 3000):
        stats.record(_result(index, lateness_ns=1000))
    snapshot = stats.snapshot()
    assert snapshot.recent_lateness_p99_s == pytest.approx(1e-6)
    assert snapshot.lateness_p99_s == pytest.approx(1, rel=0.04)
    assert snapshot.lateness_max_s == 1


@pytest.mark.parametrize('lateness_ns', [0, 1, 63, 64, 65, 10**6, 2**62])
def test_every_lateness_has_a_place(lateness_ns):
    stats = TickStats()
    stats.record(_result(0, lateness_ns=lateness_ns))
    assert stats.snapshot().lateness_p50_s == pytest.approx(lateness_ns / 1e9, rel=0.04)


def test_recording_keeps_no_memory():
    stats = TickStats()
    result = _result(0)
    for _ in range(10):
        stats.record(result)
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        for _ in range(5000):
            stats.record(result)
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert after - before < 2000


def test_histogram_counts_every_tick_between_its_edges():
    stats = TickStats()
    for index, lateness_ns in enumerate((0, 4_000, 60_000, 70_000, 1_400_000, 900_000_000)):
        stats.record(_result(index, lateness_ns=lateness_ns))
    counts = stats.snapshot().lateness_counts
    assert len(counts) == len(LATENESS_EDGES_S) + 1
    below = {edge: sum(counts[:position + 1]) for position, edge in enumerate(LATENESS_EDGES_S)}
    assert below[LATENESS_EDGES_S[0]] == 2, 'up to 10 us'
    assert (below[5e-5], below[1e-4]) == (2, 4)
    assert (below[1e-3], below[2e-3]) == (4, 5)
    assert (sum(counts), counts[-1]) == (6, 1), 'the last bin is open'
