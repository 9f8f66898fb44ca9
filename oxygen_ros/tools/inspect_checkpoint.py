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
"""`oxygen inspect`: what a checkpoint is, and what is missing to run it; loads no weights."""

import argparse
from collections import Counter
from collections.abc import Sequence
import json
import logging
import sys
import textwrap
from typing import Any

from oxygen_ros.checkpoint.description import collect
from oxygen_ros.checkpoint.description import Description
from oxygen_ros.checkpoint.description import WEIGHTS
from oxygen_ros.checkpoint.device import weight_bytes
from oxygen_ros.checkpoint.directory import describe
from oxygen_ros.checkpoint.directory import find
from oxygen_ros.checkpoint.normalise import Normaliser
from oxygen_ros.checkpoint.tensor_file import TensorFile
from oxygen_ros.checkpoint.trained import open_prompt
from oxygen_ros.checkpoint.weights import compare
from oxygen_ros.config import ConfigError
from oxygen_ros.figures import write_figures

EXIT_OK, EXIT_MISSING = 0, 1
WIDTH, NAME_WIDTH = 99, 16
STDOUT = '-'


def examine(checkpoint: str, *, asset_id: str = '', tokenizer: str = '') -> dict[str, Any]:
    """Return everything that is known about a checkpoint; 'problems' is empty if it can run."""
    try:
        description = describe(find(checkpoint), asset_id=asset_id)
    except ConfigError as error:
        return {'checkpoint': checkpoint, 'problems': [str(error)]}
    problems, sizes = list(description.problems), description.architecture
    prompt = collect(problems, lambda: open_prompt(description, tokenizer))
    return {
        'checkpoint': checkpoint, 'directory': str(description.directory),
        'family': description.family, **_weights(description, problems),
        'cameras': list(description.cameras), 'image_size': sizes.vision.image_size,
        'resize': 'antialiased' if description.antialias else 'not antialiased',
        'horizon': sizes.horizon, 'action_dim': sizes.action_dim,
        'prefix_mode': sizes.prefix_mode, 'state_in_prompt': description.with_state,
        'max_prompt_tokens': description.max_tokens,
        'relative_actions': description.relative_actions,
        'tokenizer': None if prompt is None else str(prompt.tokenizer.path),
        'asset_ids': list(description.assets), 'statistics': _statistics(description),
        'problems': problems}


def _weights(description: Description, problems: list[str]) -> dict[str, Any]:
    """Return figures of the weights; tensors that do not fit become a problem."""
    from oxygen_ros.models.pi05 import Pi05

    model = Pi05.empty(description.architecture, device='meta')
    figures: dict[str, Any] = {
        'parameters': sum(weight.numel() for weight in model.parameters()),
        'memory_bytes': {name: weight_bytes(description.architecture, name)
                         for name in ('float32', 'bfloat16')}}
    path = description.directory / WEIGHTS
    if not path.is_file():
        return figures
    file = collect(problems, lambda: TensorFile(path))
    if file is not None:
        with file:
            report, _ = compare(model, file)
            counts = Counter(entry.dtype for entry in file.entries.values())
        figures.update(file_bytes=path.stat().st_size, tensors=dict(counts),
                       ignored_tensors=report.ignored)
        if report.problem:
            problems.append(f'{path} does not fit: it {report.problem}; get a whole file')
    return figures


def _statistics(description: Description) -> dict[str, Any] | None:
    found = description.normalisation
    if found is None:
        return None
    return {'source': found.source, 'state': _numbers(found.state),
            'actions': _numbers(found.actions)}


def _numbers(normaliser: Normaliser) -> dict[str, Any]:
    return {'mode': normaliser.mode, 'entries': normaliser.used_size,
            'offset': normaliser.offset.tolist(), 'divisor': normaliser.divisor.tolist()}


def render(report: dict[str, Any]) -> str:
    """Return the report as text."""
    rows = [('checkpoint', report['checkpoint'])]
    if 'family' in report:
        memory = report['memory_bytes']
        rows += [
            ('kind', f'{report["family"]}, prefix {report["prefix_mode"]}'),
            ('size', f'{report["parameters"]:,} parameters; '
                     f'{_size(memory["float32"])} of memory in float32, '
                     f'{_size(memory["bfloat16"])} in bfloat16'),
            ('weights', _weights_text(report)),
            ('cameras', ', '.join(report['cameras'])),
            ('pictures', f'{report["image_size"]} x {report["image_size"]}, {report["resize"]}'),
            ('actions', f'{report["horizon"]} per chunk, {report["action_dim"]} columns'
                        f'{", relative to the state" if report["relative_actions"] else ""}'),
            ('prompt', f'{"with" if report["state_in_prompt"] else "without"} state, at most '
                       f'{report["max_prompt_tokens"]} tokens'),
            ('tokenizer', report['tokenizer'] or 'not found'),
            ('statistics', _statistics_text(report))]
    rows += [('missing', problem) for problem in report['problems']]
    if not report['problems']:
        rows.append(('', 'It can run.'))
    return '\n'.join(_row(name, text) for name, text in rows)


def _weights_text(report: dict[str, Any]) -> str:
    if 'file_bytes' not in report:
        return 'not found'
    kinds = ', '.join(f'{count} in {dtype}' for dtype, count in report['tensors'].items())
    unused = len(report['ignored_tensors'])
    return (f'{_size(report["file_bytes"])}; tensors: {kinds}'
            f'{f"; {unused} that nothing uses" if unused else ""}')


def _statistics_text(report: dict[str, Any]) -> str:
    statistics, assets = report['statistics'], report['asset_ids']
    ids = f'asset ids: {", ".join(assets)}' if assets else ''
    if statistics is None:
        return f'none in use; {ids}' if ids else 'none'
    state, actions = statistics['state'], statistics['actions']
    text = (f'state {state["entries"]} entries by {state["mode"]}, actions {actions["entries"]} '
            f'by {actions["mode"]}, of {statistics["source"]}')
    return f'{text}; {ids}' if ids else text


def _size(num_bytes: int) -> str:
    return f'{num_bytes / 1e9:.2f} GB' if num_bytes >= 1e8 else f'{num_bytes / 1e6:.1f} MB'


def _row(name: str, text: str) -> str:
    indent = ' ' * NAME_WIDTH
    lines = textwrap.wrap(text, WIDTH - NAME_WIDTH, break_long_words=False,
                          break_on_hyphens=False)
    return f'{name:<{NAME_WIDTH}}' + f'\n{indent}'.join(lines)


def main(argv: Sequence[str] | None = None) -> int:
    """Inspect one checkpoint; the exit code is 0 only if it can run."""
    parser = argparse.ArgumentParser(
        prog='oxygen inspect',
        description='Say what a checkpoint is and what is missing to run it.',
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog='example:\n  oxygen inspect ~/checkpoints/my_pi05 --json\n\n'
               'exit code: 0 when it can run, 1 when something is missing')
    parser.add_argument('checkpoint', metavar='DIR', help='a directory or a hub id')
    parser.add_argument('--asset-id', default='', help='robot whose statistics to use')
    parser.add_argument('--tokenizer', default='', help='file, folder or hub id')
    parser.add_argument('--json', metavar='FILE', nargs='?', const=STDOUT, default='',
                        help='write the report as JSON to FILE, or instead of the text')
    options = parser.parse_args(argv)
    logging.basicConfig(format='warning: %(message)s')
    report = examine(options.checkpoint, asset_id=options.asset_id, tokenizer=options.tokenizer)
    print(json.dumps(report, indent=2) if options.json == STDOUT else render(report))
    if options.json not in ('', STDOUT) and (failure := write_figures(options.json, report)):
        print(f'oxygen inspect: {failure}', file=sys.stderr)
        return EXIT_MISSING
    return EXIT_MISSING if report['problems'] else EXIT_OK
