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

"""`oxygen bench`: how fast the engine is here, and how much sharing and batching bring."""

import argparse
from datetime import datetime
from datetime import timezone
from itertools import product
import json
import os
from pathlib import Path
import platform
import sys
from typing import Callable
from typing import Sequence

import torch

from oxygen_ros.config import ConfigError
from oxygen_ros.config.engine import POLICIES as ENGINE_POLICIES
from oxygen_ros.config.engine import WEIGHTS
from oxygen_ros.tools import bench_costs
from oxygen_ros.tools import bench_tick
from oxygen_ros.tools import bench_words
from oxygen_ros.tools.bench_machine import processor_name
from oxygen_ros.tools.bench_plot import check_plot
from oxygen_ros.tools.bench_plot import plot
from oxygen_ros.tools.bench_run import bench_robot
from oxygen_ros.tools.bench_run import load_weights
from oxygen_ros.tools.bench_run import NUM_SLOTS
from oxygen_ros.tools.bench_run import run_setting
from oxygen_ros.tools.bench_run import Setting
from oxygen_ros.tools.bench_run import VARIANTS
from oxygen_ros.tools.tables import aligned

EXIT_USAGE = 2
POLICIES = (*ENGINE_POLICIES, *VARIANTS)

EPILOG = """
Policies take turns on every frame in this one process, so that what else the machine does hits
all alike; each is timed on a clock that stands still while the others run. All use the same
weights and kernels and give the same actions and words:

  oxygen     one encode per frame for actions and all texts; texts of many frames decode together,
             --tokens-per-frame steps after each chunk
  shared     one encode per frame; its texts decode to their end before the next frame
  isolated   actions and every text encode the picture for themselves, one after another
  parallel   the same in two threads
  oxygen+piggyback   running texts get one more token inside the encode of the next frame
  oxygen+drafts      up to 4 tokens per step guessed from the last text and verified at once

Lists separated by commas span a grid. A frame gets --texts new texts; frames until as many texts
end as start are run first and not counted. Weights are random: the figures say how fast, not how
good.

How late the control tick is beside the engine: oxygen bench tick --help
What language costs the control tick, and its rhythm: oxygen bench words --help
Whether what was seen is remembered and recalled: oxygen bench recall --help
What the stages take here, for `oxygen eval --timing simulated`: oxygen bench costs --help

example: oxygen bench --model mid --tokens 30 --tokens-per-frame 6,1 --json bench.json
"""

# heading -> key of the result, number format
COLUMNS = {
    'frame ms p50': ('frame_ms_p50', '.1f'), 'p99': ('frame_ms_p99', '.1f'),
    'cpu ms': ('frame_cpu_ms_p50', '.1f'),
    'action ms p50': ('action_ms_p50', '.1f'), 'p99 ': ('action_ms_p99', '.1f'),
    'replans/s': ('replans_per_s', '.2f'), 'actions/s': ('action_hz', '.1f'),
    'tokens/s': ('tokens_per_s', '.1f'), 'first token ms': ('ttft_ms_p50', '.0f'),
    'gap ms p50': ('itl_ms_p50', '.0f'), 'p99  ': ('itl_ms_p99', '.0f'),
    'text ms': ('request_ms_p50', '.0f'), 'encodes': ('encodes_per_frame', '.2f'),
    'KV MB': ('kv_bytes_peak', 'MB'), 'KV copied': ('kv_bytes_copied', 'd'),
    'manager %': ('manager_share', '%'), 'rss MB': ('rss_mb_peak', '.0f'),
    'J/frame': ('joules_per_frame', '.1f'),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the benchmark; return the exit code."""
    argv = list(sys.argv[1:] if argv is None else argv)
    if argv[:1] == ['tick']:
        return bench_tick.main(argv[1:])
    if argv[:1] == ['recall']:
        from oxygen_ros.tools import bench_recall  # needs the simulator
        return bench_recall.main(argv[1:])
    if argv[:1] == ['words']:
        return bench_words.main(argv[1:])
    if argv[:1] == ['costs']:
        return bench_costs.main(argv[1:])
    arguments = _parser().parse_args(argv)
    try:
        if arguments.plot:
            check_plot(arguments.plot)
        points = _run_grid(arguments)
    except ConfigError as error:
        print(f'oxygen bench: {error}', file=sys.stderr)
        return EXIT_USAGE
    except KeyboardInterrupt:
        print('oxygen bench: stopped, nothing was written', file=sys.stderr)
        return 130
    return _write_files(arguments, points)


def table(figures: dict[str, dict]) -> str:
    """Return the figures of one grid point, a line per policy."""
    rows = [['policy', *(heading.rstrip() for heading in COLUMNS)]]
    for name, result in figures.items():
        rows.append([name, *(_cell(result[key], form) for key, form in COLUMNS.values())])
    return aligned(rows)


def speedups(figures: dict[str, dict], key: str = 'frame_ms_p50') -> dict[str, dict[str, float]]:
    """Return the frame rate of each policy over that of each other, from median frame times."""
    return {name: {other: figures[other][key] / result[key]
                   for other in figures if other != name}
            for name, result in figures.items()}


def _run_grid(arguments: argparse.Namespace) -> list[dict]:
    robot = bench_robot()
    points = []
    for num_steps in arguments.denoise_steps:
        base = Setting(arguments.model, num_denoise_steps=num_steps, num_frames=arguments.frames,
                       num_threads=arguments.threads, weights=arguments.weights)
        weights = load_weights(base, robot)
        for tokens, per_frame, cameras, texts in product(
                arguments.tokens, arguments.tokens_per_frame, arguments.cameras, arguments.texts):
            setting = Setting(arguments.model, tokens, per_frame, cameras, num_steps, texts,
                              arguments.frames, arguments.threads, arguments.weights)
            print(f'{arguments.model}: {cameras} of {NUM_SLOTS} cameras, {num_steps} denoise '
                  f'steps, {texts} new texts of {tokens} tokens per frame, {per_frame} tokens '
                  f'per frame each; {setting.num_frames} frames, {setting.num_threads} thread(s), '
                  f'{setting.weights} weights')
            figures = run_setting(setting, arguments.policies, weights, robot, _progress)
            points.append({'setting': _setting_dict(setting), 'policies': figures,
                           'speedup': speedups(figures),
                           'speedup_cpu': speedups(figures, 'frame_cpu_ms_p50')})
            print(table(figures))
            print(_summary(points[-1]) + '\n', flush=True)
    return points


def _summary(point: dict) -> str:
    """Return how much faster oxygen is, by the clock and by processor time."""
    return '\n'.join(
        f'oxygen: {ratio:.2f} x the frame rate of {other} '
        f'({point["speedup_cpu"]["oxygen"][other]:.2f} x by processor time)'
        for other, ratio in point['speedup'].get('oxygen', {}).items())


def _setting_dict(setting: Setting) -> dict:
    return {'model': setting.model, 'tokens': setting.num_tokens,
            'tokens_per_frame': setting.tokens_per_frame, 'cameras': setting.num_cameras,
            'denoise_steps': setting.num_denoise_steps, 'texts': setting.texts_per_frame,
            'frames': setting.num_frames, 'threads': setting.num_threads, 'dtype': 'float32',
            'weights': setting.weights}


def _document(points: list[dict]) -> dict:
    """Return the JSON: `policies` is the first grid point, `grid` holds all of them."""
    return {
        'time': datetime.now(timezone.utc).isoformat(timespec='seconds'),
        'machine': {'processor': processor_name(), 'cpus': os.cpu_count(),
                    'load': os.getloadavg()[0], 'python': platform.python_version(),
                    'torch': torch.__version__},
        'setting': points[0]['setting'], 'policies': points[0]['policies'],
        'speedup': points[0]['speedup'], 'speedup_cpu': points[0]['speedup_cpu'],
        'grid': points}


def _progress(done: int, total: int) -> None:
    if sys.stderr.isatty():
        print(f'\rframe {done} of {total}', end='\n' if done == total else '', file=sys.stderr)


def _cell(value: float | str | None, form: str) -> str:
    if value is None or isinstance(value, str):
        return '-'
    if form == 'MB':
        return f'{value / 1e6:.1f}'
    return f'{100 * value:.2f}' if form == '%' else f'{value:{form}}'


def _write_files(arguments: argparse.Namespace, points: list[dict]) -> int:
    writers = {
        arguments.json: lambda file: file.write_text(
            json.dumps(_document(points), indent=2) + '\n', encoding='utf-8'),
        arguments.plot: lambda file: plot(points, file)}
    for file, write in writers.items():
        if file is None:
            continue
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            write(file)
        except OSError as error:
            print(f'oxygen bench: {file} cannot be written: {error.strerror}', file=sys.stderr)
            return 1
        print(f'wrote {file}')
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog='oxygen bench', description=__doc__, epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--model', choices=('tiny', 'mid'), default='tiny',
                        help='tiny: a second per point; mid: 72 M parameters, minutes')
    parser.add_argument('--policies', type=_names, default=('isolated', 'shared', 'oxygen'),
                        metavar='NAMES', help=f'of {", ".join(POLICIES)} (isolated,shared,oxygen)')
    for name, default, low, high, text in (
            ('--tokens', 30, 1, 4096, 'tokens of a text'),
            ('--tokens-per-frame', 6, 1, 4096, 'tokens each text gets per frame under oxygen'),
            ('--cameras', 2, 0, NUM_SLOTS, f'real cameras, of {NUM_SLOTS}'),
            ('--denoise-steps', 10, 1, 100, 'Euler steps per chunk'),
            ('--texts', 1, 0, 64, 'new texts per frame')):
        parser.add_argument(name, type=_numbers(low, high), default=(default,), metavar='N,..',
                            help=f'{text} ({default})')
    parser.add_argument('--frames', type=_number(1, 100_000), default=30, metavar='N',
                        help='measured frames per policy and grid point (30)')
    parser.add_argument('--threads', type=_number(1, 1024), default=1, metavar='N',
                        help='torch threads (1)')
    parser.add_argument('--weights', choices=WEIGHTS, default='float32',
                        help='int8: faster, not exact, see doc/explanation/precision.md (float32)')
    parser.add_argument('--json', type=Path, metavar='FILE', help='write all figures')
    parser.add_argument('--plot', type=Path, metavar='FILE',
                        help='draw them (.png, .svg or .pdf; needs matplotlib)')
    return parser


def _number(low: int, high: int) -> Callable[[str], int]:
    def convert(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = low - 1
        if not low <= value <= high:
            raise argparse.ArgumentTypeError(f'{text!r} is not a number from {low} to {high}')
        return value
    return convert


def _numbers(low: int, high: int) -> Callable[[str], tuple[int, ...]]:
    convert = _number(low, high)
    return lambda text: tuple(convert(part) for part in text.split(','))


def _names(text: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(text.split(',')))
    for name in names:
        if name not in POLICIES:
            raise argparse.ArgumentTypeError(
                f'{name!r} is no policy; choose of {", ".join(POLICIES)}')
    return names
