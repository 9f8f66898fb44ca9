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

"""`oxygen bench tick`: how late the control tick is while the model keeps a core busy."""

import argparse
import json
import os
from pathlib import Path
import platform
import subprocess
import sys
from typing import Sequence

import numpy as np

from oxygen_ros.config import ConfigError
from oxygen_ros.figures import why_unwritable
from oxygen_ros.figures import write_figures
from oxygen_ros.policy.realtime import request_priority
from oxygen_ros.tools.bench_plot import check_plot
from oxygen_ros.tools.tables import aligned

EPILOG = """
Runs the same session with an engine that never rests, one way after another, each in a process of
its own, and measures when the tick really came:

  fifo       own thread under SCHED_FIFO, engine in another process: what the node does
  normal     the same at normal priority: what it does where that is not permitted
  thread     own thread in the process of the engine: shares its interpreter lock
  rclpy      an rclpy timer in the process of the engine: what most nodes do

Lateness is the time from a point of the grid to the tick. A point that passed without a tick is
missed; it is never made up for. Beside each way runs a timer that does nothing, above every other
priority: what holds that up is the machine (a busy host of a virtual machine, the kernel), and no
program on it can be punctual. `machine max` is its worst; `> 5 ms` counts late ticks, `own` those
of them during which the machine was punctual.

example: oxygen bench tick --seconds 60 --json tick.json --plot tick.png
"""
MODULES = {'fifo': ('oxygen_ros.tools.bench_tick_run', 'fifo'),
           'normal': ('oxygen_ros.tools.bench_tick_run', 'normal'),
           'thread': ('oxygen_ros.tools.bench_tick_run', 'thread'),
           'rclpy': ('oxygen_ros.ros.timer_bench',)}
COLOURS = {'fifo': '#2a9d8f', 'normal': '#6aa0d8', 'thread': '#e9a03b', 'rclpy': '#d1495b'}
START_S = 180.0      # allowed beside the measurement: imports, loading, warm-up, end
LATE_MS = 5.0
EXIT_FAILED, EXIT_USAGE = 1, 2


def main(argv: Sequence[str] | None = None) -> int:
    """Run the benchmark; return the exit code."""
    arguments = _parser().parse_args(argv)
    try:
        if arguments.plot:
            check_plot(arguments.plot)
        if arguments.json and (why := why_unwritable(arguments.json)):
            raise ConfigError(why)
    except ConfigError as error:
        print(f'oxygen bench tick: {error}', file=sys.stderr)
        return EXIT_USAGE
    results = {}
    try:
        for way in arguments.ways:
            print(f'{way}: {arguments.seconds:g} s at {arguments.rate:g} Hz beside '
                  f'builtin:{arguments.model} ...', flush=True)
            results[way] = measure(way, arguments)
            if results[way]:
                print(table({way: summary(results[way], rate_hz=arguments.rate)}), flush=True)
    except KeyboardInterrupt:
        print('oxygen bench tick: stopped', file=sys.stderr)
        return 130
    figures = {way: summary(result, rate_hz=arguments.rate)
               for way, result in results.items() if result}
    print(table(figures))
    if 'fifo' in figures and not figures['fifo']['realtime_priority']:
        print(f'fifo ran at normal priority: {_refusal()}')
    failure = write_figures(arguments.json, {
        'seconds': arguments.seconds, 'rate_hz': arguments.rate, 'model': arguments.model,
        'cpus': os.cpu_count(), 'machine': platform.platform(), 'ways': figures}) \
        if arguments.json else ''
    if failure:
        print(f'oxygen bench tick: {failure}', file=sys.stderr)
    if arguments.plot and figures:
        draw({way: results[way] for way in figures}, arguments.plot, rate_hz=arguments.rate)
    return 0 if len(figures) == len(results) and not failure else EXIT_FAILED


def measure(way: str, arguments: argparse.Namespace) -> dict | None:
    """Run one way in a process of its own; None, with the reason on stderr, if it failed."""
    module, *words = MODULES[way]
    command = [sys.executable, '-m', module, *words, '--seconds', str(arguments.seconds),
               '--rate', str(arguments.rate), '--model', arguments.model]
    # Two cores: one for the tick, one for the engine.
    environment = {**os.environ, 'OMP_NUM_THREADS': '1', 'MKL_NUM_THREADS': '1',
                   'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST'}
    machine = subprocess.Popen([sys.executable, '-m', 'oxygen_ros.tools.bench_tick_machine'],
                               stdout=subprocess.PIPE, text=True)
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True,
                              timeout=arguments.seconds + START_S)
    except subprocess.TimeoutExpired:
        print(f'oxygen bench tick: {way} did not end in time', file=sys.stderr)
        return None
    finally:
        machine.terminate()
        stalls = machine.communicate()[0]
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ['no message']
        print(f'oxygen bench tick: {way} failed: {lines[-1]}', file=sys.stderr)
        return None
    return {**json.loads(done.stdout.strip().splitlines()[-1]), 'machine': json.loads(stalls)}


def summary(result: dict, *, rate_hz: float) -> dict:
    """Return the figures of one way."""
    lateness_ms = np.array(result['lateness_us'] or [0.0]) / 1e3
    p50, p99, p999 = np.quantile(lateness_ms, (0.5, 0.99, 0.999))
    late = lateness_ms > LATE_MS
    is_machine, machine_max_ms = _machine(result, lateness_ms, rate_hz)
    return {'ticks': len(result['lateness_us']), 'missed': result['missed'],
            'lateness_ms': {'p50': round(float(p50), 4), 'p99': round(float(p99), 4),
                            'p99.9': round(float(p999), 4),
                            'max': round(float(lateness_ms.max()), 4)},
            'late_over_5_ms': int(late.sum()),
            'late_over_5_ms_own': int((late & ~is_machine).sum()),
            'machine_late_ms_max': round(machine_max_ms, 4),
            'realtime_priority': result['realtime_priority'], 'chunks': result['chunks'],
            'verdicts': result['verdicts']}


def _machine(result: dict, lateness_ms: np.ndarray, rate_hz: float) -> tuple[np.ndarray, float]:
    """Return which ticks the machine was late with, too, and its worst in the same time, ms."""
    due_ms = (result['start_ns'] + np.array(result['indices'] or [0]) * 1e9 / rate_hz) / 1e6
    stalls = np.array(result['machine']['stalls'], float).reshape(-1, 2) / 1e6   # due, late
    begin, end = stalls[:, 0], stalls[:, 0] + stalls[:, 1]
    inside = (end >= due_ms[0]) & (begin <= due_ms[-1])
    # Stalls follow each other in time: the first one that ends after a tick was due decides.
    first = np.searchsorted(end, due_ms)
    is_machine = np.append(begin, np.inf)[first] < due_ms + lateness_ms
    return is_machine, float(stalls[inside, 1].max(initial=0.0))


def table(figures: dict[str, dict]) -> str:
    """Return the figures, a line per way."""
    rows = [('way', 'ticks', 'missed', 'late p50 ms', 'p99', 'p99.9', 'max', '> 5 ms', 'own',
             'machine max', 'real-time', 'chunks')]
    for way, figure in figures.items():
        late = figure['lateness_ms']
        rows.append((way, str(figure['ticks']), str(figure['missed']),
                     *(f'{late[key]:.3f}' for key in ('p50', 'p99', 'p99.9', 'max')),
                     str(figure['late_over_5_ms']), str(figure['late_over_5_ms_own']),
                     f'{figure["machine_late_ms_max"]:.3f}',
                     'yes' if figure['realtime_priority'] else 'no', str(figure['chunks'])))
    return aligned(rows)


def draw(results: dict[str, dict], file: Path, *, rate_hz: float) -> None:
    """Draw, per way, the share of ticks that came later than a time."""
    import matplotlib
    matplotlib.use('Agg')   # a file is written; no window, no display needed
    from matplotlib import pyplot

    figure, axis = pyplot.subplots(figsize=(8, 5))
    for way, result in results.items():
        lateness_ms = np.sort(np.maximum(np.array(result['lateness_us']) / 1e3, 1e-3))
        later = 1 - np.arange(len(lateness_ms)) / len(lateness_ms)
        axis.step(lateness_ms, later, where='post', color=COLOURS[way],
                  label=f"{way}, {result['missed']} missed")
    axis.axvline(1e3 / rate_hz, color='black', linestyle=':', linewidth=1, label='one period')
    axis.set(xscale='log', yscale='log', xlabel='lateness, ms',
             ylabel='share of ticks that come later')
    axis.legend()
    figure.tight_layout()
    figure.savefig(file, dpi=120)
    pyplot.close(figure)


def _refusal() -> str:
    """Return why there is no real-time priority; asked in a thread, to leave this one alone."""
    from concurrent.futures import ThreadPoolExecutor
    with ThreadPoolExecutor(max_workers=1) as workers:
        return workers.submit(request_priority, 50).result() or 'granted here, refused there'


def _ways(text: str) -> list[str]:
    ways = text.split(',')
    for way in ways:
        if way not in MODULES:
            raise argparse.ArgumentTypeError(f'{way!r} is no way; choose among '
                                             f'{", ".join(MODULES)}')
    return ways


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog='oxygen bench tick', description='Measure the lateness of the control tick.',
        formatter_class=argparse.RawDescriptionHelpFormatter, epilog=EPILOG)
    parser.add_argument('--seconds', type=float, default=30.0, help='per way (default 30)')
    parser.add_argument('--rate', type=float, default=50.0, help='ticks per second (default 50)')
    parser.add_argument('--model', default='mid', choices=('tiny', 'mid'),
                        help='builtin model that keeps the other core busy (default mid)')
    parser.add_argument('--ways', type=_ways, default=list(MODULES),
                        help=f'separated by commas (default {",".join(MODULES)})')
    parser.add_argument('--json', type=Path, metavar='FILE', help='write the figures to FILE')
    parser.add_argument('--plot', type=Path, metavar='FILE', help='.png, .svg or .pdf')
    return parser
