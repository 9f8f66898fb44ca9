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

"""The parts of /diagnostics (REP-107): a level, a sentence and figures for each."""

from collections.abc import Mapping
import time

from diagnostic_msgs.msg import DiagnosticStatus
from diagnostic_msgs.msg import KeyValue

from oxygen_ros.config import RobotProfile
from oxygen_ros.config import Thresholds
from oxygen_ros.ros.faults import Faults
from oxygen_ros.runtime.protocol import EngineState
from oxygen_ros.runtime.status import SessionStatus
from oxygen_ros.sensing.intake import Source

OK, WARN, ERROR = DiagnosticStatus.OK, DiagnosticStatus.WARN, DiagnosticStatus.ERROR


class Part:
    """One part: its troubles, worst first to be said, and its figures."""

    def __init__(self, name: str, **values: object):
        self.name = name
        self.values = values
        self._troubles: list[tuple[bytes, str]] = []

    def warn(self, text: str) -> None:
        """Say that something is not as it should be."""
        self._troubles.append((WARN, text))

    def error(self, text: str) -> None:
        """Say that the part does not work."""
        self._troubles.append((ERROR, text))

    def warn_above(self, value: float, limit: float, text: str) -> None:
        """Warn if a value is above its threshold."""
        if value > limit:
            self.warn(text)

    def message(self, node: str, hardware: str, well: str) -> DiagnosticStatus:
        """Return the message; well: what is said when there is no trouble."""
        worst_first = sorted(self._troubles, key=lambda trouble: -trouble[0][0])
        return DiagnosticStatus(
            name=f'{node}: {self.name}', hardware_id=hardware,
            level=worst_first[0][0] if worst_first else OK,
            message='; '.join(text for _, text in worst_first) or well,
            values=[KeyValue(key=key.replace('_', ' '), value=str(value))
                    for key, value in self.values.items()])


class Diagnostics:
    """
    Judges the figures of a session and of its sources. One thread.

    Rates and misses count since the report before, so `report` is to be called steadily.
    """

    def __init__(self, node_name: str, robot: RobotProfile, sources: Mapping[str, Source], *,
                 faults: Faults):
        self.thresholds = Thresholds()
        self._node_name = node_name
        self._robot = robot
        self._sources = sources
        self._faults = faults
        self._max_age_s = {camera.slot: camera.max_age_s for camera in robot.cameras}
        self._before: dict[str, tuple[int, int]] = {}    # source -> received, newest stamp
        self._before_s = time.monotonic()
        self._missed_before = 0

    def report(self, state: str, status: SessionStatus | None) -> list[DiagnosticStatus]:
        """Return every part; status None: nothing is loaded, so there is no more than sources."""
        messages = [self._node(state)]
        elapsed_s = max(1e-3, time.monotonic() - self._before_s)
        self._before_s += elapsed_s
        for name, source in self._sources.items():
            messages.append(self._source(name, source, elapsed_s, bool(status and status.active)))
        if status is not None:
            messages += [self._tick(status), self._model(status), self._engine(status),
                         self._kv(status), self._memory(status)]
        return messages

    def _message(self, part: Part, well: str) -> DiagnosticStatus:
        return part.message(self._node_name, self._robot.name, well)

    def _node(self, state: str) -> DiagnosticStatus:
        part = Part('node', state=state, exceptions=self._faults.num_exceptions)
        for text, is_error in self._faults.recent():
            (part.error if is_error else part.warn)(text)
        return self._message(part, state)

    def _source(self, name: str, source: Source, elapsed_s: float,
                active: bool) -> DiagnosticStatus:
        """Judge a camera, or the joint states; without one that is required nothing moves."""
        is_camera = name in self._max_age_s
        received, stamp_ns = self._before.get(name, (source.num_received, 0))
        self._before[name] = source.num_received, source.newest_ns
        rate_hz = (source.num_received - received) / elapsed_s
        part = Part(f'camera {name}' if is_camera else name.replace('_', ' '),
                    topic=source.topic, rate_Hz=f'{rate_hz:.1f}', received=source.num_received,
                    refused=source.num_refused)
        for reason, count in source.reasons.most_common(3):
            part.values[f'refused: {reason}'] = count
        complain = part.error if active and source.required else part.warn
        age_s = time.monotonic() - source.last_s
        limit_s = self._max_age_s.get(name, self._robot.joints_max_age_s)
        least_hz = (self.thresholds.min_camera_hz if is_camera
                    else self.thresholds.min_joints_hz)
        if not source.last_s:
            if source.required:
                complain('no data')
        elif age_s > limit_s:
            complain(f'nothing for {age_s:.1f} s, allowed {limit_s:g} s')
        elif active and source.num_received > received and 0 < source.newest_ns == stamp_ns:
            complain('repeats one message: frozen')
        elif rate_hz < least_hz and received < source.num_received:
            part.warn(f'{rate_hz:.1f} Hz, wanted {least_hz:g} Hz')
        return self._message(part, f'{rate_hz:.1f} Hz' if source.last_s else 'not used yet')

    def _tick(self, status: SessionStatus) -> DiagnosticStatus:
        deadline, limits = status.deadline, self.thresholds
        missed = max(0, deadline.missed - self._missed_before)
        self._missed_before = deadline.missed
        part = Part(
            'tick', verdict=deadline.verdict, cause=deadline.cause, commands=deadline.commands,
            fresh=deadline.fresh, carried=deadline.carried, fallback=deadline.fallback,
            stopped=deadline.stopped, missed=deadline.missed, clamped=deadline.clamped,
            lateness_p99_ms=f'{deadline.lateness_p99 * 1e3:.3f}',
            lateness_max_ms=f'{deadline.lateness_max * 1e3:.3f}',
            real_time_priority=deadline.realtime_priority)
        if deadline.cause:
            detail = f' ({status.cause_detail})' if status.cause_detail else ''
            part.warn(f'{deadline.verdict}: {deadline.cause}{detail}')
        part.warn_above(missed, limits.max_missed_ticks, f'{missed} ticks missed')
        late_ms = deadline.lateness_p99 * 1e3
        part.warn_above(late_ms, limits.max_lateness_ms,
                        f'late: p99 {late_ms:.1f} ms, allowed {limits.max_lateness_ms:g} ms')
        return self._message(part, deadline.verdict or 'not ticking')

    def _model(self, status: SessionStatus) -> DiagnosticStatus:
        info = status.figures.status.info
        part = Part('model', checkpoint=info.checkpoint, trained=info.trained,
                    horizon=info.horizon, threads=info.num_threads)
        if status.figures.status.state is EngineState.STARTING:
            return self._message(part, 'loading')
        if not info.trained:
            part.warn('random weights, actions and words mean nothing')
        return self._message(part, info.checkpoint)

    def _engine(self, status: SessionStatus) -> DiagnosticStatus:
        engine, figures, limits = status.figures.status, status.figures, self.thresholds
        part = Part(
            'engine', state=engine.state.name.lower(), process=engine.pid,
            restarts=engine.restarts, replans_per_s=f'{figures.replan_hz:.1f}',
            tokens_per_s=f'{figures.tokens_per_s:.1f}', texts_running=figures.texts_running,
            texts_queued=figures.texts_queued,
            latency_p99_ms=f'{figures.action_latency_s.p99 * 1e3:.1f}',
            dropped_observations=figures.dropped_observations)
        detail = engine.detail or figures.detail
        if engine.state in (EngineState.FAILED, EngineState.HUNG, EngineState.RESTARTING):
            part.error(detail or engine.state.name.lower())
        elif not figures.rates_met:
            part.warn(detail or 'the rates asked for cannot be met')
        part.warn_above(engine.restarts, limits.max_restarts, f'{engine.restarts} restarts')
        latency_s = figures.action_latency_s.p99
        part.warn_above(latency_s, limits.max_latency_s,
                        f'slow: {latency_s:.2f} s from observation to chunk (p99), allowed '
                        f'{limits.max_latency_s:g} s')
        return self._message(part, engine.state.name.lower())

    def _kv(self, status: SessionStatus) -> DiagnosticStatus:
        kv = status.figures.kv
        part = Part('kv', pages=f'{kv.pages_used} of {kv.pages_total}', frames=kv.prefixes,
                    texts=kv.generations, peak_MB=f'{kv.bytes_peak / 1e6:.1f}',
                    copied_bytes=kv.bytes_copied)
        share = kv.pages_used / kv.pages_total if kv.pages_total else 0.0
        part.warn_above(share, self.thresholds.max_kv_share,
                        f'{share:.0%} full; fewer or shorter texts leave room')
        part.warn_above(kv.bytes_copied, 0, 'entries are copied, which they never should be')
        return self._message(part, f'{share:.0%} in use')

    def _memory(self, status: SessionStatus) -> DiagnosticStatus:
        figures = status.figures
        part = Part('memory', facts=figures.facts, malformed=figures.malformed_facts,
                    not_stored=figures.facts_not_stored)
        lines = figures.facts + figures.malformed_facts
        share = figures.malformed_facts / lines if lines else 0.0
        part.warn_above(share, self.thresholds.max_malformed_share,
                        f'{share:.0%} of the lines are no facts')
        if figures.facts_not_stored:
            part.error(f'{figures.facts_not_stored} facts could not be stored; check the disk of '
                       f'memory_file')
        return self._message(part, f'{figures.facts} facts')
