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
Examines a checkpoint on the simulated table in closed loop.

    oxygen sim-eval --checkpoint NAME [--episodes N] [--texts N] [--json FILE] [--sheet PNG]

The session is the node's; time stands still while the model thinks, so that every run with the
same seeds gives the same figures on any machine.
"""

import argparse
from collections.abc import Sequence
import sys

import cv2
import numpy as np
from numpy.typing import NDArray

from oxygen_ros.config import ConfigError
from oxygen_ros.figures import write_figures
from oxygen_ros.runtime.session import SessionError
from oxygen_ros.sim import RenderingError
from oxygen_ros.sim import TableTop
from oxygen_ros.sim.trials import FIRST_SEED
from oxygen_ros.sim.trials import make_trials
from oxygen_ros.sim.trials import Trial
from oxygen_ros.training.closed_loop import ClosedLoop
from oxygen_ros.training.closed_loop import Episode
from oxygen_ros.training.closed_loop import Pictures
from oxygen_ros.training.closed_loop import REPLAN_HZ
from oxygen_ros.training.examination import CONTROLS
from oxygen_ros.training.examination import run_expert
from oxygen_ros.training.examination import run_trials
from oxygen_ros.training.examination import standing_tasks
from oxygen_ros.training.examination import summarise

VERBS = ('pick', 'put')
SHEET_COLUMNS, SHEET_ROWS, SHEET_SIZE = 8, 12, 160
VIDEO_SIZE = 256


class Film:
    """Pictures of the front camera, for people: a sheet of stills and a video."""

    def __init__(self, table: TableTop, sheet: str, video: str):
        self._table, self._sheet = table, sheet
        self._rows: list[list[NDArray[np.uint8]]] = [[]]
        self._writer = None
        if video:
            self._writer = cv2.VideoWriter(video, cv2.VideoWriter_fourcc(*'mp4v'), REPLAN_HZ,
                                           (VIDEO_SIZE, VIDEO_SIZE))
            if not self._writer.isOpened():
                raise OSError(f'cannot write a video to {video}; give the path of an .mp4 file')

    def look(self, _: Pictures) -> None:
        """Take a picture, as often as the model looks."""
        if self._writer is not None:
            self._writer.write(cv2.cvtColor(self._table.render('front', size=VIDEO_SIZE),
                                            cv2.COLOR_RGB2BGR))
        if self._sheet and len(self._rows) <= SHEET_ROWS:
            self._rows[-1].append(self._table.render('front', size=SHEET_SIZE))

    def end_episode(self) -> None:
        """Begin a new row of the sheet, with the last moment at the end of this one."""
        if self._rows[-1]:
            self._rows[-1].append(self._table.render('front', size=SHEET_SIZE))
            self._rows.append([])

    def write(self) -> None:
        """Write what was asked for."""
        if self._writer is not None:
            self._writer.release()
        rows = [row for row in self._rows if row][:SHEET_ROWS]
        if self._sheet and rows:
            stills = [np.hstack([row[i] for i in np.linspace(0, len(row) - 1, SHEET_COLUMNS)
                                 .round().astype(int)]) for row in rows]
            if not cv2.imwrite(self._sheet, cv2.cvtColor(np.vstack(stills), cv2.COLOR_RGB2BGR)):
                raise OSError(f'cannot write {self._sheet}; give the path of a .png file')


def main(argv: Sequence[str] | None = None) -> int:
    """Examine; return the exit code."""
    options = parse(list(sys.argv[1:] if argv is None else argv))
    try:
        table = TableTop()
        film = Film(table, options.sheet, options.video)
        figures = examine(table, film, options)
        film.write()
        table.close()
    except (ConfigError, SessionError, RenderingError, OSError) as error:
        sys.stderr.write(f'oxygen sim-eval: {error}\n')
        return 1
    failure = write_figures(options.json, figures) if options.json else ''
    if failure:
        sys.stderr.write(f'oxygen sim-eval: {failure}\n')
    return 1 if failure else 0


def examine(table: TableTop, film: Film, options: argparse.Namespace) -> dict:
    """Run everything that was asked for; return the figures."""
    figures = {'checkpoint': options.checkpoint, 'policy': options.policy,
               'control': options.control, 'texts_per_look': options.texts,
               'held_out': options.held_out, 'first_seed': options.first_seed, 'tasks': {}}
    loop = None
    if options.checkpoint != 'expert':
        loop = ClosedLoop(options.checkpoint, table, policy=options.policy,
                          tasks=standing_tasks(options.texts),
                          num_denoise_steps=options.denoise_steps)

    def told(number: int, trial: Trial, episode: Episode) -> None:
        film.end_episode()
        if options.verbose:
            say(f'{number + 1:4} {trial.instruction}: '
                f'{"done" if episode.success else "not done"} after {episode.seconds:.1f} s')

    for verb in options.tasks:
        trials = make_trials(verb, options.episodes, first_seed=options.first_seed,
                             held_out=options.held_out)
        if loop is None:
            episodes = run_expert(table, trials)
        else:
            episodes = run_trials(loop, trials, control=options.control, on_episode=told,
                                  on_look=film.look)
        figures['tasks'][verb] = summarise(episodes)
        say(line(verb, figures['tasks'][verb]))
    if loop is not None:
        loop.close()
    return figures


def line(verb: str, figures: dict) -> str:
    """Return the figures of one kind of task in words."""
    low, high = figures['interval_95']
    parts = [f'{verb}: {figures["successes"]} of {figures["episodes"]} done '
             f'({100 * figures["success"]:.1f} %, 95 % interval {100 * low:.1f} to '
             f'{100 * high:.1f} %)']
    if figures['seconds_to_success'] is not None:
        parts.append(f'{figures["seconds_to_success"]:.2f} s on average')
    parts.append(f'jerk {figures["jerk_rms"]:.0f} rad/s^3')
    for name, score in figures.get('texts', {}).items():
        parts.append(f'{name.replace("_", " ")} {100 * score["right"]:.1f} %')
    return ', '.join(parts)


def say(text: str) -> None:
    """Write a line."""
    sys.stdout.write(text + '\n')
    sys.stdout.flush()


def parse(argv: list[str]) -> argparse.Namespace:
    """Return the options."""
    parser = argparse.ArgumentParser(
        prog='oxygen sim-eval', description='Examine a checkpoint on the simulated table.',
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog='example:\n  oxygen sim-eval --checkpoint tabletop/checkpoint --episodes 20 '
               '--sheet episodes.png')
    parser.add_argument('--checkpoint', required=True, metavar='NAME',
                        help="name or directory, or 'expert': the teacher")
    parser.add_argument('--tasks', nargs='+', choices=VERBS, default=VERBS, metavar='TASK',
                        help='pick, put or both (default)')
    parser.add_argument('--episodes', type=positive, default=20, metavar='N',
                        help='per kind of task (default: 20)')
    parser.add_argument('--first-seed', type=int, default=FIRST_SEED,
                        help='of the episodes, then counted up (default: never trained with)')
    parser.add_argument('--held-out', action='store_true',
                        help='words and places that were kept out of the training')
    parser.add_argument('--control', choices=CONTROLS, default='none',
                        help='name another colour, or show the pictures of another table: what '
                        'a model does that reads and looks')
    parser.add_argument('--policy', default='oxygen', help='of the engine (default: oxygen)')
    parser.add_argument('--texts', type=int, default=3, metavar='N',
                        help='written about every look (default: 3)')
    parser.add_argument('--denoise-steps', type=positive, default=10, metavar='N')
    parser.add_argument('--sheet', metavar='PNG', default='', help='stills of the episodes')
    parser.add_argument('--video', metavar='MP4', default='', help='film of the episodes')
    parser.add_argument('--json', metavar='FILE', default='', help='write the figures')
    parser.add_argument('--verbose', action='store_true', help='a line per episode')
    return parser.parse_args(argv)


def positive(text: str) -> int:
    """Read a number of at least one."""
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f'{text!r} is no number above 0')
    return int(text)


if __name__ == '__main__':
    sys.exit(main())
