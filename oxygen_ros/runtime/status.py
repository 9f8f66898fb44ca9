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

"""The figures of a session: as the messages carry them, and as the JSON of a run."""

from dataclasses import dataclass

from oxygen_ros.policy.stats import LATENESS_EDGES_S
from oxygen_ros.policy.stats import TickSnapshot
from oxygen_ros.runtime.protocol import EngineStatus
from oxygen_ros.types import KVUse


@dataclass(frozen=True)
class Spread:
    """Quantiles of recent values; a mean never stands alone. All 0 without values."""

    p50: float = 0.0
    p99: float = 0.0
    max: float = 0.0     # of the whole run


@dataclass(frozen=True)
class Figures:
    """What the engine and its texts amount to; totals go on over restarts of the engine."""

    status: EngineStatus
    frames: int
    encodes: int
    chunks: int
    dropped_observations: int
    replan_hz: float                  # recent
    action_hz: float                  # horizon * replan_hz
    action_latency_s: Spread          # observation stamp to chunk
    command_latency_s: Spread         # observation stamp to first command
    encode_s: Spread
    denoise_s: Spread
    decode_s: Spread                  # per decode step
    tokens: int                       # real tokens
    tokens_per_s: float               # recent
    ttft_s: Spread                    # submission to first token
    token_gap_s: Spread               # between tokens of one text
    text_s: Spread                    # submission to end
    texts_finished: int               # any reason
    texts_by_reason: dict[str, int]
    texts_running: int
    texts_queued: int
    facts: int
    malformed_facts: int
    facts_not_stored: int
    kv: KVUse
    manager_share: float              # of the engine's working time
    rates_met: bool
    detail: str                       # what cannot be met, in words


@dataclass(frozen=True)
class DeadlineStatus:
    """The fields of Deadline.msg, by the same names and units."""

    rate: float
    ticks: int
    commands: int
    missed: int
    fresh: int
    carried: int
    fallback: int
    stopped: int
    clamped: int
    causes: list[str]
    cause_counts: list[int]
    lateness_p50: float
    lateness_p99: float
    lateness_max: float
    lateness_edges: list[float]
    lateness_counts: list[int]
    realtime_priority: bool
    verdict: str
    cause: str
    frame_id: int

    @classmethod
    def of(cls, ticks: TickSnapshot, *, rate_hz: float, realtime: bool) -> 'DeadlineStatus':
        """Take the figures over from the tick statistics."""
        last = ticks.last
        return cls(
            rate=float(rate_hz), ticks=ticks.ticks, commands=ticks.commands, missed=ticks.missed,
            **{name: ticks.verdicts[name] for name in ('fresh', 'carried', 'fallback', 'stopped')},
            clamped=ticks.clamped, causes=list(ticks.causes),
            cause_counts=list(ticks.causes.values()),
            lateness_p50=ticks.recent_lateness_p50_s, lateness_p99=ticks.recent_lateness_p99_s,
            lateness_max=ticks.lateness_max_s, lateness_edges=list(LATENESS_EDGES_S),
            lateness_counts=list(ticks.lateness_counts), realtime_priority=realtime,
            verdict=last.verdict.value if last else '', cause=last.cause.value if last else '',
            frame_id=last.frame_id if last else 0)


@dataclass(frozen=True)
class EngineReport:
    """The fields of EngineStatus.msg, by the same names and units."""

    state: int
    detail: str
    checkpoint: str
    trained: bool
    pid: int
    restarts: int
    frames: int
    encodes: int
    chunks: int
    dropped_observations: int
    replan_rate: float
    action_frequency: float
    action_latency_p50: float
    action_latency_p99: float
    encode_time_p50: float
    denoise_time_p50: float
    decode_time_p50: float
    tokens: int
    token_rate: float
    time_to_first_token_p50: float
    token_gap_p50: float
    token_gap_p99: float
    texts_finished: int
    texts_running: int
    texts_queued: int
    facts: int
    malformed_facts: int
    kv_pages_used: int
    kv_pages_total: int
    kv_prefixes: int
    kv_generations: int
    kv_bytes_peak: int
    kv_bytes_copied: int
    rates_met: bool

    @classmethod
    def of(cls, figures: Figures) -> 'EngineReport':
        """Take the figures over."""
        status, kv = figures.status, figures.kv
        return cls(
            state=int(status.state), detail=status.detail or figures.detail,
            checkpoint=status.info.checkpoint, trained=status.info.trained, pid=status.pid,
            restarts=status.restarts, frames=figures.frames, encodes=figures.encodes,
            chunks=figures.chunks, dropped_observations=figures.dropped_observations,
            replan_rate=figures.replan_hz, action_frequency=figures.action_hz,
            action_latency_p50=figures.action_latency_s.p50,
            action_latency_p99=figures.action_latency_s.p99,
            encode_time_p50=figures.encode_s.p50, denoise_time_p50=figures.denoise_s.p50,
            decode_time_p50=figures.decode_s.p50, tokens=figures.tokens,
            token_rate=figures.tokens_per_s, time_to_first_token_p50=figures.ttft_s.p50,
            token_gap_p50=figures.token_gap_s.p50, token_gap_p99=figures.token_gap_s.p99,
            texts_finished=figures.texts_finished,
            texts_running=figures.texts_running, texts_queued=figures.texts_queued,
            facts=figures.facts, malformed_facts=figures.malformed_facts,
            kv_pages_used=kv.pages_used, kv_pages_total=kv.pages_total,
            kv_prefixes=kv.prefixes, kv_generations=kv.generations,
            kv_bytes_peak=kv.bytes_peak, kv_bytes_copied=kv.bytes_copied,
            rates_met=figures.rates_met)


@dataclass(frozen=True)
class SessionStatus:
    """All figures of a session at one time."""

    deadline: DeadlineStatus
    engine: EngineReport
    ticks: TickSnapshot
    figures: Figures
    active: bool
    epoch: int
    instruction: str
    cause_detail: str                 # in words, what is behind the newest tick's cause
    seconds: float                    # active since configure

    @classmethod
    def of(cls, ticks: TickSnapshot, figures: Figures, *, rate_hz: float, realtime: bool,
           **state) -> 'SessionStatus':
        """Put the figures of ticks and engine beside the state, the other fields."""
        return cls(DeadlineStatus.of(ticks, rate_hz=rate_hz, realtime=realtime),
                   EngineReport.of(figures), ticks, figures, **state)

    def summary(self) -> dict:
        """Return the JSON of a run."""
        figures, ticks = self.figures, self.ticks
        return {
            'ticks': ticks.ticks,
            'commands_published': ticks.commands,
            'verdicts': dict(ticks.verdicts),
            'causes': dict(ticks.causes),
            'lateness_ms': {'p50': round(ticks.lateness_p50_s * 1e3, 4),
                            'p99': round(ticks.lateness_p99_s * 1e3, 4),
                            'max': round(ticks.lateness_max_s * 1e3, 4)},
            'realtime_priority': self.deadline.realtime_priority,
            'frames': figures.frames,
            'encodes': figures.encodes,
            'chunks': figures.chunks,
            'replans_per_s': round(figures.chunks / max(self.seconds, 1e-9), 3),
            'tokens': figures.tokens,
            'tokens_per_s': round(figures.tokens / max(self.seconds, 1e-9), 3),
            'texts_finished': figures.texts_finished,
            'facts': figures.facts,
            'engine_restarts': figures.status.restarts,
            'seconds': round(self.seconds, 3),
        }
