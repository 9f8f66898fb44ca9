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

"""Online cost of each engine stage: a high quantile of recent durations, by batch size."""

from bisect import bisect_left
from collections import deque
from collections.abc import Mapping
import math

STAGES = ('encode', 'denoise', 'decode')
# Rows share one bucket up to the next bound: costs between two bounds differ by little.
BUCKETS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 1024, 4096)
HISTORY = 64
# So many steps in a row this much over their prediction mean that the machine has changed (heat,
# another process), not that one step was unlucky: older measurements of the stage are void.
SURPRISES = 3
SURPRISE = 1.2


def bucket_of(batch: int) -> int:
    """Return the bucket bound that `batch` rows are counted under."""
    if batch < 1:
        raise ValueError(f'batch is {batch}; a stage runs at least one row')
    return BUCKETS[min(bisect_left(BUCKETS, batch), len(BUCKETS) - 1)]


def quantile_of(samples, quantile: float) -> float:
    """Return the sample of that rank, rounded up: with few samples this is their maximum."""
    ordered = sorted(samples)
    return ordered[max(0, math.ceil(quantile * len(ordered)) - 1)]


class CostModel:
    """
    Predicts how long a stage takes from what it took lately.

    Per stage and bucket the last HISTORY durations are kept. One outlier among many does not
    move the prediction; a lasting slow-down does after SURPRISES steps. Single thread.
    """

    def __init__(self, quantile: float = 0.95):
        self._quantile = quantile
        self._samples: dict[str, dict[int, deque[float]]] = {stage: {} for stage in STAGES}
        self._cache: dict[str, dict[int, float]] = {stage: {} for stage in STAGES}
        self._surprises: dict[str, list[tuple[int, float]]] = {stage: [] for stage in STAGES}
        self._fresh: set[tuple[str, int]] = set()   # measured since the last age()

    def record(self, stage: str, duration_s: float, *, batch: int = 1) -> None:
        """Add one measured duration; for 'decode' batch counts rows, prompt rows included."""
        self._watch_for_change(stage, duration_s, batch)
        buckets = self._samples[stage]
        bucket = bucket_of(batch)
        if bucket not in buckets:
            buckets[bucket] = deque(maxlen=HISTORY)
        buckets[bucket].append(duration_s)
        self._fresh.add((stage, bucket))
        self._cache[stage].clear()

    def known(self, stage: str) -> bool:
        """Return whether the stage was measured at all."""
        return bool(self._samples[stage])

    def predict_s(self, stage: str, *, batch: int = 1) -> float:
        """
        Return the high quantile for `batch`; 0 for a stage never measured.

        Unseen sizes: linear between two measured neighbours; below the smallest its cost; above
        the largest in proportion to the rows, which is more than any GEMM really takes.
        """
        cache = self._cache[stage]
        if batch not in cache:
            cache[batch] = self._predict_bucket_s(self._samples[stage], bucket_of(batch))
        return cache[batch]

    def worst_s(self, stage: str) -> float:
        """Return the highest prediction over the sizes measured; 0 if none."""
        return max((self.predict_s(stage, batch=bucket) for bucket in self._samples[stage]),
                   default=0.0)

    def age(self, stage: str) -> None:
        """
        Drop the longest quarter of the samples of every size not measured since the last call.

        A size that is avoided because it was once slow could never show that it is fast again.
        """
        for bucket, samples in self._samples[stage].items():
            if (stage, bucket) not in self._fresh:
                for _ in range(min(len(samples) - 1, math.ceil(len(samples) / 4))):
                    samples.remove(max(samples))
        self._fresh = {key for key in self._fresh if key[0] != stage}
        self._cache[stage].clear()

    def to_dict(self) -> dict[str, dict[str, list[float]]]:
        """Return all samples in seconds, ready for JSON."""
        return {stage: {str(bucket): list(samples) for bucket, samples in buckets.items()}
                for stage, buckets in self._samples.items()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Mapping[str, list[float]]],
                  *, quantile: float = 0.95) -> 'CostModel':
        """Rebuild a model from to_dict()."""
        model = cls(quantile)
        for stage, buckets in data.items():
            for bucket, samples in buckets.items():
                for duration_s in samples:
                    model.record(stage, duration_s, batch=int(bucket))
        return model

    def _watch_for_change(self, stage: str, duration_s: float, batch: int) -> None:
        if not 0.0 < SURPRISE * self.predict_s(stage, batch=batch) < duration_s:
            self._surprises[stage].clear()
            return
        self._surprises[stage].append((bucket_of(batch), duration_s))
        if len(self._surprises[stage]) == SURPRISES:
            self._samples[stage].clear()
            for bucket, earlier_s in self._surprises[stage][:-1]:
                self._samples[stage].setdefault(bucket, deque(maxlen=HISTORY)).append(earlier_s)
            self._surprises[stage].clear()

    def _predict_bucket_s(self, buckets: dict[int, deque[float]], bucket: int) -> float:
        if not buckets:
            return 0.0
        if bucket in buckets:
            return quantile_of(buckets[bucket], self._quantile)
        below = max((known for known in buckets if known < bucket), default=None)
        above = min((known for known in buckets if known > bucket), default=None)
        if below is None:
            return quantile_of(buckets[above], self._quantile)
        low_s = quantile_of(buckets[below], self._quantile)
        if above is None:
            return low_s * bucket / below
        high_s = quantile_of(buckets[above], self._quantile)
        return low_s + (high_s - low_s) * (bucket - below) / (above - below)
