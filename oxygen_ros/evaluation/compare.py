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

"""Two reports of one recording against each other: whether actions, texts or times changed."""

from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import field
import json
from pathlib import Path
from typing import Any

import numpy as np

from oxygen_ros.config import ConfigError
from oxygen_ros.evaluation.report import FORMAT
from oxygen_ros.evaluation.report import unpacked
from oxygen_ros.evaluation.words import number
from oxygen_ros.evaluation.words import percent
from oxygen_ros.evaluation.words import told

REPORT_FILE = 'report.json'
KINDS = ('chunks', 'actions', 'error', 'texts', 'deadline', 'timing')
TIMES = (('engine', 'observation_to_chunk_ms', 'age of the picture when its chunk came'),
         ('engine', 'observation_to_command_ms', 'age of the picture when first acted on'),
         ('deadline', 'lateness_ms', 'tick lateness'),
         ('language', 'first_token_ms', 'first token'),
         ('language', 'token_gap_ms', 'between tokens'))
MIN_SLOWER_MS = 0.5      # less than this is no slowdown, whatever its share


@dataclass(frozen=True)
class Tolerances:
    """What may differ without being called a change."""

    action: float = 1e-5       # of the joint's range (of one unit where it has no limits)
    error: float = 0.02        # growth of the mean action error, relative
    timing: float = 0.1        # growth of p50 or p99 of a time, relative
    ticks: float = 0.005       # share of ticks with an action that may be lost
    chunks: float = 0.0        # share of chunks that only one of the two has
    texts: float = 0.0         # share of texts that differ


@dataclass(frozen=True)
class Finding:
    """One thing that was compared."""

    kind: str                  # one of KINDS
    text: str
    is_change: bool            # beyond the tolerance, for the worse where there is a worse


@dataclass(frozen=True)
class Comparison:
    """The outcome."""

    setting: tuple[str, ...]   # what was set differently, in words
    findings: tuple[Finding, ...]
    figures: dict[str, Any] = field(default_factory=dict)

    def changes(self, ignored: Sequence[str] = ()) -> list[Finding]:
        """Return what changed beyond the tolerances, apart from some kinds."""
        return [finding for finding in self.findings
                if finding.is_change and finding.kind not in ignored]


def load_report(path: Path | str) -> dict[str, Any]:
    """Read a report, a file or the folder it is in; raises ConfigError with the remedy."""
    path = Path(path)
    path = path / REPORT_FILE if path.is_dir() else path
    try:
        report = json.loads(path.read_text(encoding='utf-8'))
    except OSError as error:
        raise ConfigError(f'report {path} cannot be read: {error.strerror}') from error
    except ValueError as error:
        raise ConfigError(f'report {path} is no JSON ({error}); give a report.json of '
                          f'`oxygen eval`') from error
    if not isinstance(report, dict) or report.get('format') != FORMAT:
        raise ConfigError(f'{path} is no report of this version of `oxygen eval`; evaluate the '
                          f'recording again')
    return report


def compare(before: dict[str, Any], after: dict[str, Any],
            tolerances: Tolerances = Tolerances()) -> Comparison:
    """Compare two reports; raises ConfigError when they are not of one recording and robot."""
    if before['setting']['joints'] != after['setting']['joints']:
        raise ConfigError('the reports are of robots with different joints; compare reports of '
                          'one robot')
    stamps = [set(report['chunks']['stamps_ns']) for report in (before, after)]
    common = stamps[0] & stamps[1]
    if not common:
        raise ConfigError('the reports have no observation in common; compare two reports of the '
                          'same recording')
    only_one = len(stamps[0] ^ stamps[1]) / len(stamps[0] | stamps[1])
    findings = [Finding('chunks', f'{len(common)} observations in both, '
                        f'{len(stamps[0] - common)} only before, {len(stamps[1] - common)} only '
                        f'after', only_one > tolerances.chunks)]
    actions, figures = _actions(before, after, sorted(common), tolerances)
    findings += [*actions, *_error(before, after, tolerances), *_texts(before, after, tolerances),
                 *_deadline(before, after, tolerances), *_timing(before, after, tolerances)]
    return Comparison(tuple(_setting(before, after)), tuple(findings), figures)


def _setting(before: dict, after: dict) -> list[str]:
    """Return what was set differently; of the instruction what was in force, not the option."""
    changed = [f'{key}: {value!r} before, {after["setting"].get(key)!r} after'
               for key, value in before['setting'].items()
               if key != 'instruction' and after['setting'].get(key) != value]
    texts = [[entry['text'] for entry in report['instructions']] for report in (before, after)]
    if texts[0] != texts[1]:
        changed.append(f'instruction: {told(before["instructions"])} before, '
                       f'{told(after["instructions"])} after')
    return changed


def _actions(before: dict, after: dict, common: list[int],
             tolerances: Tolerances) -> tuple[list[Finding], dict]:
    both = []
    for report in (before, after):
        chunks = report['chunks']
        rows = dict(zip(chunks['stamps_ns'], chunks['actions']))
        both.append(np.stack([unpacked(rows[stamp], chunks['shape']) for stamp in common]))
    num = min(both[0].shape[1], both[1].shape[1])
    moved = np.abs(both[0][:, :num].astype(np.float64) - both[1][:, :num])
    ranges = np.array([value or 1.0 for value in before['setting']['ranges']])
    worst, mean = moved.max(axis=(0, 1)), moved.mean(axis=(0, 1))
    share = worst / ranges
    findings = []
    if both[0].shape[1] != both[1].shape[1]:
        findings.append(Finding('actions', f'chunks have {both[0].shape[1]} actions before and '
                                f'{both[1].shape[1]} after', True))
    names = before['setting']['joints']
    index = int(share.argmax())
    if not moved.any():
        findings.append(Finding('actions', 'every action is the same, bit for bit', False))
    else:
        findings.append(Finding(
            'actions', f'actions moved by up to {number(worst[index])} ({percent(share[index])} '
            f'of its range) at joint {names[index]}, {number(mean[index])} in the mean',
            bool(share[index] > tolerances.action)))
    return findings, {'max_change': dict(zip(names, worst.tolist())),
                      'mean_change': dict(zip(names, mean.tolist()))}


def _error(before: dict, after: dict, tolerances: Tolerances) -> list[Finding]:
    means = []
    for report in (before, after):
        joints = report['actions']['joints'].values() if report['actions'] else ()
        shares = [joint['share_of_range'] for joint in joints
                  if joint['share_of_range'] is not None]
        if not shares:
            return []
        means.append(float(np.mean(shares)))
    return [Finding('error', f'mean action error {percent(means[0])} of the range before, '
                    f'{percent(means[1])} after',
                    means[1] > means[0] * (1 + tolerances.error) + 1e-12)]


def _texts(before: dict, after: dict, tolerances: Tolerances) -> list[Finding]:
    both = [{text['request_id']: (text['text'], text['reason']) for text in report['texts']}
            for report in (before, after)]
    names = both[0].keys() | both[1].keys()
    if not names:
        return []
    different = sorted(name for name in names if both[0].get(name) != both[1].get(name))
    example = f', first {different[0]}' if different else ''
    return [Finding('texts', f'{len(different)} of {len(names)} texts differ{example}',
                    len(different) / len(names) > tolerances.texts)]


def _deadline(before: dict, after: dict, tolerances: Tolerances) -> list[Finding]:
    shares = [(report['deadline']['verdicts']['fresh'] + report['deadline']['verdicts']['carried'])
              / max(1, report['deadline']['ticks']) for report in (before, after)]
    return [Finding('deadline', f'{100 * shares[0]:.2f} % of the ticks had an action before, '
                    f'{100 * shares[1]:.2f} % after', shares[1] < shares[0] - tolerances.ticks)]


def _timing(before: dict, after: dict, tolerances: Tolerances) -> list[Finding]:
    findings = []
    for section, key, name in TIMES:
        first, second = before[section][key], after[section][key]
        if not first or not second:
            continue
        for quantile in ('p50', 'p99'):
            slower_ms = second[quantile] - first[quantile]
            if first[quantile] or second[quantile]:
                findings.append(Finding(
                    'timing', f'{name} {quantile} {first[quantile]:.2f} ms before, '
                    f'{second[quantile]:.2f} ms after',
                    slower_ms > max(MIN_SLOWER_MS, tolerances.timing * first[quantile])))
    return findings
