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

"""Counts what a session sees: totals, recent rates and quantiles."""

from collections import deque
import threading
import time

import numpy as np

from oxygen_ros.runtime.protocol import EngineStatus
from oxygen_ros.runtime.status import Figures
from oxygen_ros.runtime.status import Spread
from oxygen_ros.types import ActionChunk
from oxygen_ros.types import CycleReport
from oxygen_ros.types import KVUse
from oxygen_ros.types import TokenDelta

_WINDOW_S = 5.0          # of recent rates
_NUM_RECENT = 512        # values of recent quantiles


class Quantiles:
    """The newest values of one figure."""

    def __init__(self):
        self._values: deque[float] = deque(maxlen=_NUM_RECENT)
        self._max = 0.0

    def add(self, value: float) -> None:
        """Take a value."""
        self._values.append(value)
        self._max = max(self._max, value)

    def spread(self) -> Spread:
        """Return the quantiles of what is kept."""
        if not self._values:
            return Spread()
        p50, p99 = np.quantile(np.array(self._values), (0.5, 0.99))
        return Spread(float(p50), float(p99), self._max)


class Rate:
    """Events per second over the last seconds."""

    def __init__(self):
        self._events: deque[tuple[float, int]] = deque()
        self._sum = 0
        self._start_s = time.monotonic()
        self.total = 0

    def add(self, num: int = 1) -> None:
        """Count num events now."""
        self._events.append((time.monotonic(), num))
        self._sum += num
        self.total += num
        self._forget()

    def per_s(self) -> float:
        """Return the recent rate."""
        self._forget()
        return self._sum / min(_WINDOW_S, max(0.1, time.monotonic() - self._start_s))

    def _forget(self) -> None:
        limit_s = time.monotonic() - _WINDOW_S
        while self._events and self._events[0][0] < limit_s:
            self._sum -= self._events.popleft()[1]


class Metrics:
    """Counts what a session sees; any thread, no lock is held for longer than a few additions."""

    def __init__(self):
        self._lock = threading.Lock()
        self._active_since_s: float | None = None
        self._active_s = 0.0
        self._chunks, self._tokens, self._texts = Rate(), Rate(), Rate()
        self._reasons: dict[str, int] = {}
        self._last_token_s: dict[str, float] = {}
        self._spreads = {name: Quantiles() for name in (
            'action_latency_s', 'command_latency_s', 'encode_s', 'denoise_s', 'decode_s',
            'ttft_s', 'token_gap_s', 'text_s')}
        self._report: CycleReport | None = None
        self._before = (0, 0)         # frames and encodes of engines that ended
        self._horizon = 0
        self._manager_s = self._busy_s = 0.0
        self._kv_peak = 0
        self.facts = 0
        self.malformed_facts = 0
        self.facts_not_stored = 0
        self.dropped_observations = 0  # replaced by a newer one before the engine took them

    def chunk(self, chunk: ActionChunk, now_ns: int) -> None:
        """Count a chunk that arrived at now_ns on the node clock."""
        with self._lock:
            self._chunks.add()
            self._horizon = len(chunk.actions)
            self._spreads['action_latency_s'].add((now_ns - chunk.stamp_ns) / 1e9)

    def first_command(self, chunk_stamp_ns: int, now_ns: int) -> None:
        """Count the first command of a chunk."""
        self._spreads['command_latency_s'].add((now_ns - chunk_stamp_ns) / 1e9)

    def delta(self, delta: TokenDelta) -> None:
        """Count a piece of text."""
        now_s = time.monotonic()
        with self._lock:
            if delta.num_tokens:
                self._tokens.add(delta.num_tokens)
                last_s = self._last_token_s.get(delta.request_id)
                if last_s is not None:
                    self._spreads['token_gap_s'].add((now_s - last_s) / delta.num_tokens)
                self._last_token_s[delta.request_id] = now_s
            if delta.final:
                self._last_token_s.pop(delta.request_id, None)
                self._texts.add()
                name = delta.reason.value
                self._reasons[name] = self._reasons.get(name, 0) + 1
                if delta.ttft_s:
                    self._spreads['ttft_s'].add(delta.ttft_s)
                self._spreads['text_s'].add(delta.duration_s)

    def report(self, report: CycleReport) -> None:
        """Take the figures of an engine cycle."""
        with self._lock:
            self._report = report
            self._manager_s += report.manager_s
            self._busy_s += report.encode_s + report.denoise_s + report.decode_s
            self._kv_peak = max(self._kv_peak, report.kv.bytes_peak)
            if report.frame_id:
                self._spreads['encode_s'].add(report.encode_s)
                self._spreads['denoise_s'].add(report.denoise_s)
            if report.decode_steps:
                self._spreads['decode_s'].add(report.decode_s / report.decode_steps)

    def engine_ended(self) -> None:
        """Keep the totals of an engine that ended; the next one counts from 0."""
        with self._lock:
            if self._report is not None:
                frames, encodes = self._before
                self._before = (frames + self._report.frames, encodes + self._report.encodes)
            self._report = None

    def figures(self, status: EngineStatus) -> Figures:
        """Return all figures so far."""
        with self._lock:
            report = self._report
            kv = report.kv if report else KVUse(0, 0, 0, self._kv_peak, 0, 0, 0)
            replan_hz = self._chunks.per_s()
            return Figures(
                status=status,
                frames=self._before[0] + (report.frames if report else 0),
                encodes=self._before[1] + (report.encodes if report else 0),
                chunks=self._chunks.total, dropped_observations=self.dropped_observations,
                replan_hz=replan_hz, action_hz=replan_hz * self._horizon,
                tokens=self._tokens.total, tokens_per_s=self._tokens.per_s(),
                texts_finished=self._texts.total, texts_by_reason=dict(self._reasons),
                texts_running=report.running if report else 0,
                texts_queued=report.queued if report else 0,
                facts=self.facts, malformed_facts=self.malformed_facts,
                facts_not_stored=self.facts_not_stored, kv=kv,
                manager_share=self._manager_s / self._busy_s if self._busy_s else 0.0,
                rates_met=report.rates_met if report else True,
                detail=report.detail if report else '',
                **{name: quantiles.spread() for name, quantiles in self._spreads.items()})

    def set_active(self, active: bool) -> None:
        """Count seconds only while the robot may move: rates of the run are about that."""
        now_s = time.monotonic()
        if active and self._active_since_s is None:
            self._active_since_s = now_s
        elif not active and self._active_since_s is not None:
            self._active_s += now_s - self._active_since_s
            self._active_since_s = None

    def seconds(self) -> float:
        """Return for how long the robot was allowed to move."""
        since_s = self._active_since_s
        return self._active_s + (0.0 if since_s is None else time.monotonic() - since_s)
