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

"""`oxygen plot`: lateness and verdicts of a run, from the trace that its node wrote."""

import argparse
from collections import Counter
import csv
from dataclasses import dataclass
from pathlib import Path
import sys
from typing import Sequence

import numpy as np

from oxygen_ros.config import ConfigError
from oxygen_ros.figures import write_figures
from oxygen_ros.policy.trace import COLUMNS
from oxygen_ros.tools.bench_plot import SUFFIXES
from oxygen_ros.types import Verdict

EPILOG = """
Record a trace with the node's parameter tick_trace_file, then draw it:

  oxygen node --ros-args -p autostart:=true -p tick_trace_file:=ticks.csv
  oxygen plot ticks.csv -o lateness.png
"""
COLOURS = {'fresh': '#2a9d8f', 'carried': '#6aa0d8', 'fallback': '#d1495b', 'stopped': '#8a94a6'}
EXIT_USAGE = 2


@dataclass(frozen=True)
class Trace:
    """The ticks of one file, oldest first."""

    seconds: np.ndarray       # since the first tick
    lateness_ms: np.ndarray
    verdicts: list[str]
    causes: list[str]
    num_missed: int           # grid points between the ticks

    def summary(self) -> dict:
        """Return the figures that the plot shows."""
        p50, p99 = np.quantile(self.lateness_ms, (0.5, 0.99))
        return {
            'ticks': len(self.verdicts), 'missed': self.num_missed,
            'lateness_ms': {'p50': round(float(p50), 4), 'p99': round(float(p99), 4),
                            'max': round(float(self.lateness_ms.max()), 4)},
            'verdicts': dict(Counter(self.verdicts)),
            'causes': dict(Counter(cause for cause in self.causes if cause))}


def main(argv: Sequence[str] | None = None) -> int:
    """Draw a trace; return the exit code."""
    parser = argparse.ArgumentParser(
        prog='oxygen plot', description='Draw lateness and verdicts of a tick trace.',
        formatter_class=argparse.RawDescriptionHelpFormatter, epilog=EPILOG)
    parser.add_argument('trace', type=Path, help='file written by the parameter tick_trace_file')
    parser.add_argument('-o', '--output', type=Path, default=Path('lateness.png'), metavar='FILE',
                        help='picture to write, .png, .svg or .pdf (default %(default)s)')
    parser.add_argument('--json', type=Path, metavar='FILE', help='write the figures to FILE')
    arguments = parser.parse_args(argv)
    try:
        check_output(arguments.output)
        trace = read_trace(arguments.trace)
        draw(trace, arguments.output, title=arguments.trace.name)
        if arguments.json and (failure := write_figures(arguments.json, trace.summary())):
            raise ConfigError(failure)
    except ConfigError as error:
        print(f'oxygen plot: {error}', file=sys.stderr)
        return EXIT_USAGE
    except OSError as error:
        print(f'oxygen plot: cannot write {error.filename}: {error.strerror}; choose another file',
              file=sys.stderr)
        return EXIT_USAGE
    print(f'{describe(trace.summary())}\nplot: {arguments.output}')
    return 0


def check_output(file: Path) -> None:
    """Raise ConfigError with the remedy if no plot can be drawn."""
    if file.suffix not in SUFFIXES:
        raise ConfigError(f'{file} is no kind of picture known here; end its name in one of '
                          f'{", ".join(SUFFIXES)}')
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise ConfigError('drawing needs matplotlib; pip install matplotlib') from None


def read_trace(path: Path) -> Trace:
    """
    Read a trace, also of a run that was killed or whose disk was full: up to its last whole line.

    Raises ConfigError for a file that is none.
    """
    try:
        with open(path, encoding='utf-8', newline='') as file:
            rows = list(csv.reader(file))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ConfigError(f'{path} cannot be read ({error}); give a file written by the '
                          f'parameter tick_trace_file') from error
    if not rows or tuple(rows[0][:len(COLUMNS)]) != COLUMNS:
        raise ConfigError(f'{path} is no tick trace; give a file written by the parameter '
                          f'tick_trace_file')
    known = {verdict.value for verdict in Verdict}
    ticks = [row for row in rows[1:] if len(row) == len(rows[0]) and row[3] in known]
    if not ticks:
        raise ConfigError(f'{path} has no tick; a trace starts when the node is activated')
    index, steady_ns, lateness_ns = np.array([row[:3] for row in ticks], np.int64).T
    gaps = np.diff(index)
    return Trace(seconds=(steady_ns - steady_ns[0]) / 1e9, lateness_ms=lateness_ns / 1e6,
                 verdicts=[row[3] for row in ticks], causes=[row[4] for row in ticks],
                 num_missed=int((gaps[gaps > 1] - 1).sum()))   # a new grid starts at zero


def describe(figures: dict) -> str:
    """Return the figures as one line."""
    late = figures['lateness_ms']
    causes = ', '.join(f'{name} {count}' for name, count in figures['causes'].items())
    return (f"{figures['ticks']} ticks, {figures['missed']} missed, late p50 {late['p50']:.3f}, "
            f"p99 {late['p99']:.3f}, max {late['max']:.3f} ms; "
            + ', '.join(f'{name} {count}' for name, count in figures['verdicts'].items())
            + (f' ({causes})' if causes else ''))


def draw(trace: Trace, file: Path, *, title: str) -> None:
    """Draw a histogram of lateness and, over time, lateness coloured by verdict and the causes."""
    import matplotlib
    matplotlib.use('Agg')   # a file is written; no window, no display needed
    from matplotlib import pyplot

    figure, (histogram, timeline) = pyplot.subplots(2, 1, figsize=(9, 7))
    lateness_ms = np.maximum(trace.lateness_ms, 1e-3)     # the axis is logarithmic
    late = trace.summary()['lateness_ms']
    histogram.hist(lateness_ms, bins=np.geomspace(1e-3, max(1e-2, lateness_ms.max()) * 1.1, 80),
                   color='#6aa0d8')
    for name, style in (('p50', ':'), ('p99', '--'), ('max', '-')):
        histogram.axvline(max(late[name], 1e-3), color='black', linestyle=style, linewidth=1,
                          label=f'{name} {late[name]:.3f} ms')
    histogram.set(xscale='log', yscale='log', xlabel='lateness, ms', ylabel='ticks',
                  title=f'{title}: {len(trace.verdicts)} ticks, {trace.num_missed} missed')
    histogram.legend()
    for verdict, colour in COLOURS.items():
        of_it = np.array([name == verdict for name in trace.verdicts])
        if of_it.any():
            timeline.scatter(trace.seconds[of_it], lateness_ms[of_it], s=4, color=colour,
                             label=f'{verdict} {of_it.sum()}')
    changed = [number for number, cause in enumerate(trace.causes)
               if cause and (not number or trace.causes[number - 1] != cause)]
    for number in changed[:20]:     # more names than that could not be read
        timeline.annotate(trace.causes[number], (trace.seconds[number], lateness_ms.max()),
                          rotation=90, fontsize=7, va='top')
    timeline.set(yscale='log', xlabel='time, s', ylabel='lateness, ms')
    timeline.legend(loc='lower right', markerscale=3)
    figure.tight_layout()
    figure.savefig(file, dpi=120)
    pyplot.close(figure)
