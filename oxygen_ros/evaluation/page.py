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

"""The report as one HTML file that needs nothing else: figures, plots, pictures, words."""

import base64
from collections.abc import Iterable
from collections.abc import Sequence
from html import escape
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from oxygen_ros.evaluation.charts import bars
from oxygen_ros.evaluation.charts import Line
from oxygen_ros.evaluation.charts import line_chart
from oxygen_ros.evaluation.charts import strip
from oxygen_ros.evaluation.errors import ActionErrors
from oxygen_ros.evaluation.errors import Reference
from oxygen_ros.evaluation.replay import Replayed
from oxygen_ros.evaluation.words import delay
from oxygen_ros.evaluation.words import number
from oxygen_ros.evaluation.words import origin
from oxygen_ros.evaluation.words import percent
from oxygen_ros.evaluation.words import told
from oxygen_ros.evaluation.words import verdict

STYLE = Path(__file__).with_name('page.css')
NUM_MOMENTS = 12           # pictures shown per camera
NUM_FORECASTS = 12         # chunks drawn beside the recorded line
MAX_ROWS = 60              # of texts and facts; the JSON has all
VERDICTS = {'fresh': 'an action of the newest chunk', 'carried': 'an action of an older chunk',
            'fallback': 'no action was due: the fallback', 'stopped': 'stopped'}


def write_page(path: Path, report: dict[str, Any], replayed: Replayed,
               reference: Reference | None, errors: ActionErrors | None) -> None:
    """Write the page of a replay."""
    setting = report['setting']
    title = f'{report["source"]["bag"]} on {setting["robot"]}'
    sections = [
        _head(report), _cards(report), _notices(report),
        _section('What it saw and said', _moments(replayed),
                 'A choice of observations; under each what was said about it.'),
        _section('What the robot was told', _instructions(report) + _verdicts(replayed) + _legend(
            (name, f'v-{name}', text) for name, text in VERDICTS.items()),
            f'The instruction in force, and one command per tick at '
            f'{setting["control_rate_hz"]:g} Hz.'),
        _section('Joints', _joints(replayed, reference, errors), _joints_text(report)),
        _section('Error of the actions', _errors(report), _errors_text(report)),
        _section('Times', _times(report, replayed), _times_text(report)),
        _section('Texts', _texts(report)), _section('Facts', _facts(report)),
        _section('Setting', _table([(key, _plain(value)) for key, value in setting.items()])),
    ]
    path.write_text(
        f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}'
        f'</title><meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<style>{STYLE.read_text(encoding="utf-8")}</style></head><body><main>'
        f'{"".join(sections)}</main></body></html>\n', encoding='utf-8')


def _head(report: dict[str, Any]) -> str:
    setting, recording = report['setting'], report['recording']
    actions, source = report['actions'], origin(report['instructions'])
    judged = ''
    if actions:
        better, moved = actions['joints_better_than_still'], actions['joints_moved']
        kind = '' if not moved else ' good' if better > moved / 2 else ' bad'
        judged = f'<p class="verdict{kind}">{escape(verdict(actions).capitalize())}</p>'
    return (f'<header><p class="over">Replay of a recording</p>'
            f'<h1>{escape(report["source"]["bag"])}</h1><p>{recording["seconds"]:.1f} s on robot '
            f'<b>{escape(setting["robot"])}</b> with <b>{escape(setting["checkpoint"])}</b>, '
            f'timing <b>{setting["timing"]}</b>'
            f'{" of " + escape(setting["costs_of"]) if setting["costs_of"] else ""}</p>'
            f'<p>told <b>{escape(told(report["instructions"]))}</b>'
            f'{f" ({escape(source)})" if source else ""}</p>{judged}</header>')


def _cards(report: dict[str, Any]) -> str:
    """Return the figures that answer the first questions."""
    actions, deadline, engine = report['actions'], report['deadline'], report['engine']
    cards = []
    if actions:
        shares = [(joint['share_of_range'], joint['mae_standing_still'] / width)
                  for joint, width in zip(actions['joints'].values(), report['setting']['ranges'])
                  if joint['share_of_range'] is not None]
        agree = [joint['direction_agreement'] for joint in actions['joints'].values()
                 if joint['direction_agreement'] is not None]
        if shares:
            mean, still = np.mean(shares, axis=0)
            cards.append((percent(mean), f'mean action error, of the range; standing still '
                                         f'{percent(still)}'))
        if agree:
            cards.append((f'{100 * np.mean(agree):.0f} %', 'same direction as recorded'))
    good = deadline['verdicts']['fresh'] + deadline['verdicts']['carried']
    cards += [(f'{100 * good / max(1, deadline["ticks"]):.1f} %', 'ticks with an action'),
              (str(engine['chunks']), f'chunks, {engine["replans_per_s"]:.1f} per second')]
    response = engine['observation_to_chunk_ms']
    if response:
        cards.append((f'{response["p99"]:.0f} ms', 'age of the picture when its chunk came, p99'))
    cards.append((str(report['language']['tokens']), f'words and parts of words in '
                                                     f'{report["language"]["texts"]} texts'))
    return ('<div class="cards">' + ''.join(
        f'<div class="card"><b>{value}</b><span>{escape(text)}</span></div>'
        for value, text in cards) + '</div>')


def _notices(report: dict[str, Any]) -> str:
    notices = list(report['source']['faults'])
    if not report['setting']['trained']:
        notices.insert(0, 'The weights are random: actions and words mean nothing.')
    if report['engine']['detail']:
        notices.append(report['engine']['detail'])
    return ''.join(f'<p class="notice">{escape(text)}</p>' for text in notices)


def _moments(replayed: Replayed) -> str:
    """Return pictures along the recording with what was said about them."""
    notes, rows = replayed.notes, []
    said: dict[int, list[str]] = {}
    for text in notes.texts.values():
        if text.text.strip():
            said.setdefault(text.stamp_ns, []).append(text.text.strip())
    stamps = sorted({stamp_ns for stamp_ns, _, _ in notes.thumbnails})
    telling = [stamp_ns for stamp_ns in stamps if stamp_ns in said] or stamps
    chosen = {telling[index] for index in
              np.unique(np.linspace(0, len(telling) - 1, NUM_MOMENTS).astype(int))} if stamps \
        else set()
    for stamp_ns in sorted(chosen):
        pictures = ''.join(
            f'<img alt="{escape(slot)}" title="{escape(slot)}" '
            f'src="data:image/jpeg;base64,{base64.b64encode(jpeg).decode()}">'
            for at_ns, slot, jpeg in notes.thumbnails if at_ns == stamp_ns)
        words = ' · '.join(said.get(stamp_ns, [])[:2])
        rows.append(f'<figure>{pictures}<figcaption><b>'
                    f'{(stamp_ns - replayed.start_ns) / 1e9:.1f} s</b> {escape(words[:160])}'
                    f'</figcaption></figure>')
    return f'<div class="moments">{"".join(rows)}</div>' if rows else ''


def _instructions(report: dict[str, Any]) -> str:
    end_s, entries = report['recording']['seconds'], report['instructions']
    untils_s = [*(entry['at_s'] for entry in entries[1:]), end_s]
    spans = [(entry['at_s'], until_s, f'told{index % 2}', entry['text'])
             for index, (entry, until_s) in enumerate(zip(entries, untils_s))]
    return strip(spans, end=end_s, label='instruction in force', is_named=True) if spans else ''


def _verdicts(replayed: Replayed) -> str:
    spans, start_ns = [], replayed.start_ns
    end_s = (replayed.end_ns - start_ns) / 1e9
    runs = [list(run) for _, run in groupby(
        replayed.notes.ticks, key=lambda entry: (entry[1].verdict, entry[1].cause))]
    for run, following in zip(runs, [*runs[1:], None]):
        begin_s = (run[0][0] - start_ns) / 1e9
        until_s = (following[0][0] - start_ns) / 1e9 if following else end_s
        tick = run[0][1]
        cause = f': {tick.cause.value}' if tick.cause.value else ''
        spans.append((begin_s, until_s, f'v-{tick.verdict.value}',
                      f'{begin_s:.2f} to {until_s:.2f} s {tick.verdict.value}{cause}'))
    return strip(spans, end=end_s, label='verdict of every tick')


def _joints(replayed: Replayed, reference: Reference | None, errors: ActionErrors | None) -> str:
    """Return a chart per joint: recorded, told, and some chunks as forecasts."""
    notes, start_ns, charts = replayed.notes, replayed.start_ns, []
    delay_s = errors.delay_s if errors else 0.0
    every = max(1, len(notes.chunks) // NUM_FORECASTS)
    tick_s = [(time_ns - start_ns) / 1e9 for time_ns, _ in notes.ticks]
    for index, joint in enumerate(notes.robot.joints):
        lines = [Line('forecast', (chunk.stamp_ns - start_ns) / 1e9 + np.arange(
            len(chunk.actions)) * chunk.dt_s, chunk.actions[:, index], 'forecast')
            for _, chunk in notes.chunks[::every]]
        if reference is not None:
            lines.append(Line('recorded', (reference.times_ns - start_ns) / 1e9 - delay_s,
                              reference.values[:, index], 'recorded'))
        lines.append(Line('told', tick_s, [
            np.nan if tick.command is None else tick.command[index] for _, tick in notes.ticks],
            'told'))
        charts.append(f'<h3>{escape(joint.name)} <span>{escape(joint.unit)}</span></h3>'
                      + line_chart(lines, width=460, height=130,
                                   label=f'joint {joint.name} over time'))
    return _legend([('recorded', 'recorded', ''), ('told', 'told', 'commands of this replay'),
                    ('forecast', 'forecast', 'some of the chunks')]) + (
        f'<div class="joints">{"".join(f"<div>{chart}</div>" for chart in charts)}</div>')


def _joints_text(report: dict[str, Any]) -> str:
    actions = report['actions']
    if not actions:
        return 'Nothing was recorded to compare with.'
    return (f'Recorded are the {actions["reference"].replace("_", " ")}, {delay(actions)}. A '
            f'delay is the time between a command and its effect. The robot did not follow this '
            f'replay: every chunk starts from what was recorded.')


def _errors(report: dict[str, Any]) -> str:
    actions, setting = report['actions'], report['setting']
    if not actions:
        return ''
    ranges = [np.nan if value is None else value for value in setting['ranges']]
    by_index = np.array([[np.nan if value is None else value for value in entry['mae']]
                         for entry in actions['by_index']], float)
    names = setting['joints']
    lines = [Line(name, range(len(by_index)), 100 * by_index[:, index] / ranges[index],
                  f'c{index % 8}') for index, name in enumerate(names)]
    rows = [('joint', 'mean', 'max', 'of range', 'same direction', 'without delay',
             'standing still')]
    for name, unit in zip(names, setting['units']):
        joint = actions['joints'][name]
        rows.append((f'{name} ({unit})', number(joint['mae']), number(joint['max']),
                     percent(joint['share_of_range']), percent(joint['direction_agreement']),
                     number(joint['mae_without_delay']), number(joint['mae_standing_still'])))
    return (line_chart(lines, x_unit='', y_from_zero=True, height=206, x_name='index in chunk',
                       y_name="% of the joint's range",
                       label='mean error by index in the chunk')
            + _legend((name, f'c{index % 8}', '') for index, name in enumerate(names))
            + _table(rows, head=True))


def _errors_text(report: dict[str, Any]) -> str:
    if not report['actions']:
        return ''
    return ('Mean distance in % of the joint\'s range over the index in the chunk. "Standing '
            'still" is the error of a robot that stays where it was seen.')


def _times(report: dict[str, Any], replayed: Replayed) -> str:
    engine, language = report['engine'], report['language']
    rows = [('ms', 'p50', 'p99', 'max')]
    for name, spread in (
            ('age of the picture when its chunk came', engine['observation_to_chunk_ms']),
            ('age of the picture when first acted on', engine['observation_to_command_ms']),
            ('lateness of ticks', report['deadline']['lateness_ms']),
            ('first token of a text', language['first_token_ms']),
            ('between tokens', language['token_gap_ms']),
            ('whole text', language['text_ms']),
            *((f'{stage} on this machine', spread) for stage, spread in
              report['machine']['stage_ms'].items())):
        if spread:
            rows.append((name, *(f'{spread[key]:.2f}' for key in ('p50', 'p99', 'max'))))
    delays_ms = [(at_ns - chunk.stamp_ns) / 1e6 for at_ns, chunk in replayed.notes.chunks]
    chart = ''
    if report['setting']['timing'] != 'offline' and delays_ms:
        counts, edges = np.histogram(delays_ms, bins=40)
        chart = bars(counts.tolist(), edges.tolist(), unit='ms',
                     label='age of the picture when its chunk came')
    return chart + _table(rows, head=True)


def _times_text(report: dict[str, Any]) -> str:
    texts = {'offline': 'Timing offline: the engine is taken to need no time, so that every run '
                        'gives the same report. All the same a picture can be old when its chunk '
                        'comes: it took time to be recorded, or waited for the next replan.',
             'realtime': 'Timing realtime: as measured here, at the speed of the recording.',
             'simulated': 'Timing simulated: the engine takes what it took on the other machine.'}
    return texts[report['setting']['timing']]


def _texts(report: dict[str, Any]) -> str:
    rows = [('at', 'frame', 'task', 'text', 'end')]
    rows += [(f'{text["at_s"]:.1f} s', text['frame'], text['task'], text['text'].strip(),
              text['reason']) for text in report['texts'][:MAX_ROWS]]
    return _table(rows, head=True) + _rest(report['texts'], 'texts')


def _facts(report: dict[str, Any]) -> str:
    rows = [('at', 'frame', 'subject', 'relation', 'object')]
    rows += [(f'{fact["at_s"]:.1f} s', fact['frame'], fact['subject'], fact['relation'],
              fact['object']) for fact in report['facts'][:MAX_ROWS]]
    return _table(rows, head=True) + _rest(report['facts'], 'facts')


def _section(title: str, content: str, text: str = '') -> str:
    about = f'<p class="about">{escape(text)}</p>' if text else ''
    return f'<section><h2>{escape(title)}</h2>{about}{content or "<p>None.</p>"}</section>'


def _table(rows: Sequence[Sequence[Any]], *, head: bool = False) -> str:
    """Return a table; '' with nothing but a heading."""
    if len(rows) <= head:
        return ''
    lines = []
    for index, row in enumerate(rows):
        tag = 'th' if head and index == 0 else 'td'
        lines.append('<tr>' + ''.join(f'<{tag}>{escape(str(cell))}</{tag}>' for cell in row)
                     + '</tr>')
    return f'<div class="wide"><table>{"".join(lines)}</table></div>'


def _legend(entries: Iterable[tuple[str, str, str]]) -> str:
    return '<p class="legend">' + ''.join(
        f'<span><i class="{style}"></i>{escape(name)}{" – " + escape(text) if text else ""}</span>'
        for name, style, text in entries) + '</p>'


def _rest(entries: Sequence[Any], what: str) -> str:
    more = len(entries) - MAX_ROWS
    return f'<p class="about">and {more} more {what}, in the JSON.</p>' if more > 0 else ''


def _plain(value: Any) -> str:
    return ', '.join(map(str, value)) if isinstance(value, list) else str(value)
