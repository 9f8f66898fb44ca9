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

"""Everything about a replay as one JSON document, and its ticks as CSV."""

import base64
from collections import Counter
from collections.abc import Sequence
import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oxygen_ros.evaluation.errors import ActionErrors
from oxygen_ros.evaluation.errors import Reference
from oxygen_ros.evaluation.replay import Replayed

FORMAT = 'oxygen evaluation 2'


def document(replayed: Replayed, errors: ActionErrors | None, *, bag: str,
             machine: dict[str, str]) -> dict[str, Any]:
    """
    Return the report, ready for JSON.

    What is measured on this machine stands under 'machine', what belongs to the files of the bag
    under 'source'; with timing offline all the rest is the same in every run.
    """
    notes, status = replayed.notes, replayed.status
    return {
        'format': FORMAT,
        'source': {'bag': bag, 'faults': list(replayed.faults)},
        'setting': _setting(replayed),
        'recording': _recording(replayed),
        'instructions': [{
            'at_s': _since(replayed, told.time_ns), 'text': told.text, 'source': told.source}
            for told in notes.instructions],
        'actions': None if errors is None else _actions(errors, notes.robot.joint_names),
        'deadline': _deadline(replayed),
        'engine': _engine(replayed),
        'language': _language(replayed),
        'texts': [{
            'request_id': text.request_id, 'task': text.task, 'frame': text.frame_id,
            'at_s': _since(replayed, text.stamp_ns), 'text': text.text,
            'tokens': text.num_tokens, 'reason': text.reason, 'detail': text.detail}
            for text in notes.texts.values()],
        'facts': [{
            'subject': fact.subject, 'relation': fact.relation, 'object': fact.object,
            'frame': fact.frame_id, 'at_s': _since(replayed, fact.stamp_ns)}
            for fact in notes.facts],
        'chunks': {
            'shape': [status.engine.chunks and len(notes.chunks[0][1].actions),
                      len(notes.robot.joints)] if notes.chunks else [0, 0],
            'stamps_ns': [chunk.stamp_ns for _, chunk in notes.chunks],
            'actions': [_packed(chunk.actions) for _, chunk in notes.chunks]},
        'machine': {
            **machine, 'load_s': round(replayed.load_s, 3), 'wall_s': round(replayed.wall_s, 3),
            'stage_ms': {stage: spread_ms(values) for stage, values in
                         replayed.machine_s.items()}},
    }


def write_json(path: Path, report: dict[str, Any]) -> None:
    """Write a report; a line per entry of the lists, so that a diff of two shows what changed."""
    path.write_text(json.dumps(report, indent=1, ensure_ascii=False) + '\n', encoding='utf-8')


def unpacked(text: str, shape: Sequence[int]) -> NDArray[np.float32]:
    """Return the actions of one chunk, [horizon, num_joints], as the report holds them."""
    return np.frombuffer(base64.b64decode(text), '<f4').reshape(shape)


def write_ticks(path: Path, replayed: Replayed, reference: Reference | None,
                errors: ActionErrors | None) -> None:
    """Write a line per tick: verdict, lateness, command, and what was recorded and measured."""
    notes, names = replayed.notes, replayed.notes.robot.joint_names
    times = np.array([time_ns for time_ns, _ in notes.ticks], np.int64)
    empty = np.full((len(times), len(names)), np.nan)
    recorded = empty if reference is None or not len(times) else reference.at(
        times, delay_s=errors.delay_s if errors else 0.0)
    measured = empty if len(notes.measured_track) < 2 or not len(times) else Reference(
        'measured', notes.measured_track).at(times)
    with path.open('w', encoding='utf-8', newline='') as file:
        writer = csv.writer(file)
        writer.writerow(['time_s', 'tick', 'verdict', 'cause', 'frame', 'lateness_ms', 'clamped',
                         *(f'{kind}_{name}' for kind in ('command', 'recorded', 'measured')
                           for name in names)])
        for row, (time_ns, tick) in enumerate(notes.ticks):
            command = empty[row] if tick.command is None else tick.command
            writer.writerow([
                f'{(time_ns - replayed.start_ns) / 1e9:.6f}', tick.index, tick.verdict.value,
                tick.cause.value, tick.frame_id, f'{tick.lateness_ns / 1e6:.3f}', tick.clamped,
                *('' if np.isnan(value) else f'{value:.6g}' for values in
                  (command, recorded[row], measured[row]) for value in values)])


def spread_ms(values_s: Sequence[float]) -> dict[str, float] | None:
    """Return p50, p99 and max in ms; None without values."""
    if not len(values_s):
        return None
    p50, p99 = np.quantile(values_s, (0.5, 0.99))
    return {'p50': _number(1e3 * p50), 'p99': _number(1e3 * p99),
            'max': _number(1e3 * max(values_s))}


def _setting(replayed: Replayed) -> dict[str, Any]:
    setting, engine = replayed.setting, replayed.setting.engine
    return {
        'robot': setting.robot.name, 'joints': list(setting.robot.joint_names),
        'units': [joint.unit for joint in setting.robot.joints],
        'ranges': _numbers([np.nan if None in (joint.lower, joint.upper)
                            else joint.upper - joint.lower for joint in setting.robot.joints]),
        'checkpoint': engine.checkpoint, 'trained': replayed.status.engine.trained,
        'timing': setting.timing, 'costs_of': setting.costs.machine if setting.costs else '',
        'stamps': setting.stamps, 'instruction': setting.instruction,
        'tasks': [task.name for task in setting.tasks], 'policy': engine.policy,
        'seed': engine.seed, 'denoise_steps': engine.num_denoise_steps, 'device': engine.device,
        'weights': engine.weights, 'replan_hz': engine.scheduler.replan_hz,
        'control_rate_hz': setting.robot.control_rate_hz,
        'transition': setting.control.transition, 'fallback': setting.control.fallback,
    }


def _recording(replayed: Replayed) -> dict[str, Any]:
    topics, counts = replayed.topics, replayed.num_messages
    roles = {'joint_states': topics.joint_states, 'pose': topics.pose,
             'instruction': topics.instruction, 'commands': topics.commands}
    return {
        'start_ns': replayed.start_ns, 'seconds': _since(replayed, replayed.end_ns),
        'cameras': {slot: {'topic': topic, 'messages': counts[topic]}
                    for slot, topic in topics.cameras.items()},
        **{role: {'topic': topic, 'messages': counts[topic]} if topic else None
           for role, topic in roles.items()},
        'refused': {name: source.num_refused for name, source in replayed.sources.items()},
        'observations': len(replayed.notes.looks),
    }


def _actions(errors: ActionErrors, joint_names: Sequence[str]) -> dict[str, Any]:
    return {
        'reference': errors.reference,
        'delay_s': None if errors.delay_unknown else errors.delay_s,
        'delay_estimated': errors.delay_estimated, 'delay_unknown': errors.delay_unknown,
        'chunks_compared': errors.num_chunks, 'pairs': errors.num_pairs,
        'joints_moved': int(errors.moved.sum()),
        'joints_better_than_still': int(errors.better_than_still.sum()),
        'joints': {name: {
            'mae': _number(errors.mae[index]), 'max': _number(errors.max[index]),
            'share_of_range': _number(errors.share_of_range[index]),
            'direction_agreement': _number(errors.direction[index]),
            'mae_without_delay': _number(errors.mae_without_delay[index]),
            'mae_standing_still': _number(errors.mae_standing_still[index])}
            for index, name in enumerate(joint_names)},
        'by_index': [{
            'index': index, 'mae': _numbers(errors.mae_by_index[index]),
            'max': _numbers(errors.max_by_index[index]),
            'direction_agreement': _number(errors.direction_by_index[index])}
            for index in range(len(errors.mae_by_index))],
    }


def _deadline(replayed: Replayed) -> dict[str, Any]:
    ticks = replayed.status.ticks
    return {
        'ticks': ticks.ticks, 'commands': ticks.commands, 'missed': ticks.missed,
        'clamped': ticks.clamped, 'verdicts': dict(ticks.verdicts), 'causes': dict(ticks.causes),
        'lateness_ms': spread_ms([tick.lateness_ns / 1e9 for _, tick in replayed.notes.ticks]),
        'realtime_priority': replayed.status.deadline.realtime_priority,
    }


def _engine(replayed: Replayed) -> dict[str, Any]:
    notes, figures = replayed.notes, replayed.status.figures
    first_ns: dict[int, int] = {}
    for time_ns, tick in notes.ticks:
        if tick.frame_id:
            first_ns.setdefault(tick.frame_id, time_ns)
    seconds = max(_since(replayed, replayed.end_ns), 1e-9)
    return {
        'frames': figures.frames, 'encodes': figures.encodes, 'chunks': len(notes.chunks),
        'dropped_observations': figures.dropped_observations,
        'replans_per_s': _number(len(notes.chunks) / seconds),
        'observation_to_chunk_ms': spread_ms(
            [(at_ns - chunk.stamp_ns) / 1e9 for at_ns, chunk in notes.chunks]),
        'observation_to_command_ms': spread_ms(
            [(at_ns - notes.looks[frame_id].stamp_ns) / 1e9 for frame_id, at_ns in
             first_ns.items() if frame_id in notes.looks]),
        'kv_bytes_peak': figures.kv.bytes_peak, 'kv_bytes_copied': figures.kv.bytes_copied,
        'rates_met': figures.rates_met, 'detail': figures.detail,
    }


def _language(replayed: Replayed) -> dict[str, Any]:
    notes = replayed.notes
    texts = list(notes.texts.values())
    tokens = sum(text.num_tokens for text in texts)
    return {
        'texts': len(texts), 'tokens': tokens,
        'tokens_per_s': _number(tokens / max(_since(replayed, replayed.end_ns), 1e-9)),
        'reasons': dict(sorted(Counter(text.reason for text in texts).items())),
        'first_token_ms': spread_ms([text.ttft_s for text in texts if text.num_tokens]),
        'token_gap_ms': spread_ms(notes.token_gaps_s),
        'text_ms': spread_ms([text.duration_s for text in texts if text.num_tokens]),
        'facts': len(notes.facts), 'malformed_facts': replayed.status.figures.malformed_facts,
    }


def _since(replayed: Replayed, time_ns: int) -> float:
    """Return a time in s since the start of the recording; 0 for a text that met no frame."""
    return round((time_ns - replayed.start_ns) / 1e9, 6) if time_ns else 0.0


def _packed(actions: NDArray[np.float32]) -> str:
    return base64.b64encode(np.ascontiguousarray(actions, '<f4').tobytes()).decode()


def _number(value: float) -> float | None:
    """Return a number without noise digits, None for nan, which JSON cannot say."""
    return None if np.isnan(value) else float(f'{value:.7g}')


def _numbers(values: Sequence[float]) -> list[float | None]:
    return [_number(value) for value in values]
