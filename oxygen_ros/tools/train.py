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

"""
Trains the model of the table-top robot: collect demonstrations, learn, examine.

    oxygen train tabletop [--folder DIR] [--processes N] [--seed N] [--smoke]
"""

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from dataclasses import replace
from pathlib import Path
import sys
import time

from oxygen_ros.figures import write_figures
from oxygen_ros.sim import RenderingError
from oxygen_ros.sim import TableTop
from oxygen_ros.sim.trials import make_trials
from oxygen_ros.training.closed_loop import ClosedLoop
from oxygen_ros.training.examination import run_trials
from oxygen_ros.training.examination import standing_tasks
from oxygen_ros.training.examination import summarise
from oxygen_ros.training.recipe import Recipe
from oxygen_ros.training.recipe import SMOKE
from oxygen_ros.training.recipe import train
from oxygen_ros.training.recipe import TrainingError
from oxygen_ros.training.ship import directory_size

EXAMINED_EPISODES = 20       # of each kind of task, at the end of a run
BAR_WIDTH = 30


class Progress:
    """A bar that is drawn again in place on a terminal, lines elsewhere."""

    def __init__(self):
        self._in_place = sys.stdout.isatty()
        self._start_s = time.monotonic()
        self._is_open = False

    def bar(self, what: str, done: int, total: int) -> None:
        """Show how far something is."""
        filled = BAR_WIDTH * done // max(1, total)
        text = f'{what} [{"#" * filled}{"." * (BAR_WIDTH - filled)}] {done}/{total}'
        if self._in_place:
            sys.stdout.write('\r' + text)
            self._is_open = done < total
            if not self._is_open:
                sys.stdout.write('\n')
            sys.stdout.flush()
        else:
            self.line(text)

    def line(self, text: str) -> None:
        """Write a line with the minutes since the start."""
        if self._is_open:
            sys.stdout.write('\n')
            self._is_open = False
        minutes = (time.monotonic() - self._start_s) / 60
        sys.stdout.write(f'{minutes:6.1f} min  {text}\n')
        sys.stdout.flush()


def main(argv: Sequence[str] | None = None) -> int:
    """Train; return the exit code."""
    options = parse(list(sys.argv[1:] if argv is None else argv))
    recipe = replace(SMOKE if options.smoke else Recipe(), seed=options.seed)
    if options.processes:
        recipe = replace(recipe, num_processes=options.processes)
    progress, start_s = Progress(), time.monotonic()
    try:
        options.folder.mkdir(parents=True, exist_ok=True)
        checkpoint = train(
            options.folder, recipe, report=progress.line,
            on_collected=progress.bar)
        figures = {'recipe': asdict(recipe), 'checkpoint': str(checkpoint),
                   'bytes': directory_size(checkpoint),
                   'examination': examine(str(checkpoint), options.episodes, progress),
                   'minutes': round((time.monotonic() - start_s) / 60, 1)}
        if options.json and (failure := write_figures(options.json, figures)):
            raise TrainingError(failure)
    except (TrainingError, RenderingError, OSError) as error:
        sys.stderr.write(f'oxygen train: {error}\n')
        return 1
    progress.line(f'{checkpoint}: {figures["bytes"] / 1e6:.1f} MB; run it with '
                  f'-p robot:=table_top -p checkpoint:={checkpoint}')
    return 0


def examine(checkpoint: str, num_episodes: int, progress: Progress) -> dict:
    """Return the figures of a few episodes of each kind."""
    figures: dict[str, dict] = {}
    if not num_episodes:
        return figures
    table = TableTop()
    loop = ClosedLoop(checkpoint, table, tasks=standing_tasks())
    for verb in ('pick', 'put'):
        figures[verb] = summarise(run_trials(
            loop, make_trials(verb, num_episodes),
            on_episode=lambda number, trial, _: progress.bar(
                trial.task.verb, number + 1, num_episodes)))
        progress.line(f'{verb}: {figures[verb]["successes"]} of {num_episodes} episodes done')
    loop.close()
    table.close()
    return figures


def parse(argv: list[str]) -> argparse.Namespace:
    """Return the options."""
    parser = argparse.ArgumentParser(
        prog='oxygen train', description='Train the model of the table-top robot from nothing. '
        'Can be stopped at any time and goes on where it was.',
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog='example:\n  oxygen train tabletop --folder tabletop --json tabletop.json')
    parser.add_argument('what', choices=('tabletop',), help='the model to train')
    parser.add_argument('--folder', type=Path, default=Path('tabletop'),
                        help='where everything is kept (default: tabletop)')
    parser.add_argument('--processes', type=int, default=0, metavar='N',
                        help='that learn together; another number gives another model '
                        f'(default: {Recipe().num_processes})')
    parser.add_argument('--seed', type=int, default=0, help='of everything that is drawn')
    parser.add_argument('--episodes', type=int, default=EXAMINED_EPISODES, metavar='N',
                        help='of the examination, per kind of task; 0: none')
    parser.add_argument('--smoke', action='store_true',
                        help='try the whole way in minutes; the model is of no use')
    parser.add_argument('--json', metavar='FILE', default='', help='write the figures at the end')
    return parser.parse_args(argv)


if __name__ == '__main__':
    sys.exit(main())
