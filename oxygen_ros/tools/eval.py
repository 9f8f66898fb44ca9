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

"""`oxygen eval`: what a model would have done on a recording, and whether two runs differ."""

import argparse
from collections.abc import Sequence
from dataclasses import fields
import os
from pathlib import Path
import sys
import time

from oxygen_ros.bags.files import BagError
from oxygen_ros.bags.topics import parse_remaps
from oxygen_ros.bags.topics import REMAP_HELP
from oxygen_ros.config import choose_tasks
from oxygen_ros.config import ConfigError
from oxygen_ros.config import ControlConfig
from oxygen_ros.config import EngineConfig
from oxygen_ros.config import list_robots
from oxygen_ros.config import load_robot
from oxygen_ros.config import SchedulerConfig
from oxygen_ros.config.control import TRANSITIONS
from oxygen_ros.config.engine import WEIGHTS
from oxygen_ros.evaluation import words
from oxygen_ros.evaluation.compare import compare
from oxygen_ros.evaluation.compare import KINDS
from oxygen_ros.evaluation.compare import load_report
from oxygen_ros.evaluation.compare import REPORT_FILE
from oxygen_ros.evaluation.compare import Tolerances
from oxygen_ros.evaluation.costs import MachineCosts
from oxygen_ros.evaluation.errors import action_errors
from oxygen_ros.evaluation.errors import choose_reference
from oxygen_ros.evaluation.page import write_page
from oxygen_ros.evaluation.replay import replay
from oxygen_ros.evaluation.replay import ReplaySetting
from oxygen_ros.evaluation.replay import STAMPS
from oxygen_ros.evaluation.replay import TIMINGS
from oxygen_ros.evaluation.report import document
from oxygen_ros.evaluation.report import write_json
from oxygen_ros.evaluation.report import write_ticks
from oxygen_ros.figures import write_figures
from oxygen_ros.runtime.session import SessionError
from oxygen_ros.tools.bench_machine import processor_name

EXIT_CHANGED, EXIT_FAILED, EXIT_USAGE, EXIT_INTERRUPTED = 1, 1, 2, 130
BAR_WIDTH = 30

EPILOG = """
Replays a rosbag2 recording (mcap or sqlite3, split or compressed; no ROS needed) through the
same inputs and session as the node, and writes report.json, ticks.csv and report.html.

  --timing offline     the engine is taken to need no time: the same report in every run
  --timing realtime    at the speed of the recording, with the engine process of the node
  --timing simulated   the engine takes what it takes on another machine (--costs FILE, written
                       there by `oxygen bench costs FILE`): what would my robot do?

Actions are compared with the recorded commands, without them with the joint states.
--compare ends with code 0 if nothing changed beyond the tolerances, 1 if something did, 2 if the
reports cannot be compared.

examples:
  oxygen eval my_bag --robot my_robot.yaml --checkpoint /path/to/checkpoint
  oxygen eval my_bag --robot so101 --remap front/image:=/camera/color/image_raw
  oxygen eval --compare before after --timing-tolerance 0.2
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Evaluate or compare; return the exit code."""
    parser = _parser()
    options = parser.parse_args(argv)
    if options.compare:
        return _compare(options)
    if not options.bag:
        return _complain('give a recording and its robot, `oxygen eval BAG --robot PROFILE`, or '
                         '`--compare A B`; `--help` tells more', EXIT_USAGE)
    if not options.robot:
        return _complain(f'whose recording is it? Give --robot PROFILE: one of '
                         f'{", ".join(list_robots())}, or a .yaml file', EXIT_USAGE)
    try:
        setting = _setting(options)
    except ConfigError as error:
        return _complain(str(error), EXIT_USAGE)
    try:
        return _evaluate(options, setting)
    except (BagError, SessionError, ConfigError) as error:
        return _complain(str(error), EXIT_FAILED)
    except KeyboardInterrupt:
        return _complain('stopped, nothing was written', EXIT_INTERRUPTED)


def summary(report: dict) -> str:
    """Return a report in a few lines."""
    actions, deadline = report['actions'], report['deadline']
    engine, language = report['engine'], report['language']
    lines = [f'{report["recording"]["seconds"]:.1f} s, {engine["chunks"]} chunks from '
             f'{report["recording"]["observations"]} observations; ticks '
             + ', '.join(f'{name} {count}' for name, count in deadline['verdicts'].items())]
    instructions = report['instructions']
    source = words.origin(instructions)
    lines.append(f'told {words.told(instructions)}' + (f' ({source})' if source else ''))
    if actions:
        lines += [words.verdict(actions),
                  f'against {actions["reference"]}, {words.delay(actions)}:']
        width = max(map(len, actions['joints']))
        for name, joint in actions['joints'].items():
            agreement = joint['direction_agreement']
            same = '' if agreement is None else f', same direction {100 * agreement:.0f} %'
            mean, highest, still = (words.number(joint[key]) for key in
                                    ('mae', 'max', 'mae_standing_still'))
            lines.append(f'  {name:<{width}}  mean error {mean}, max {highest}, standing still '
                         f'{still}{same}')
    lines.append(f'{language["tokens"]} tokens in {language["texts"]} texts, '
                 f'{language["facts"]} facts')
    if not report['setting']['trained']:
        lines.append('the weights are random: actions and words mean nothing; give --checkpoint')
    return '\n'.join(lines)


def _setting(options: argparse.Namespace) -> ReplaySetting:
    tasks = choose_tasks(options.tasks, options.checkpoint)
    robot = load_robot(options.robot, urdf=options.urdf)
    return ReplaySetting(
        robot, EngineConfig(
            checkpoint=options.checkpoint, seed=options.seed, device=options.device,
            num_denoise_steps=options.denoise_steps, num_threads=options.threads,
            weights=options.weights, scheduler=SchedulerConfig(replan_hz=options.replan_hz)),
        ControlConfig(transition=options.transition), tasks, timing=options.timing,
        costs=MachineCosts.load(options.costs) if options.costs else None,
        instruction=options.instruction, stamps=options.stamps, namespace=options.namespace,
        remap=parse_remaps(options.remap, robot))


def _evaluate(options: argparse.Namespace, setting: ReplaySetting) -> int:
    bag = Path(options.bag)
    name = bag.resolve().name
    folder = Path(options.output or f'{name}-evaluation')
    if not os.access(next(parent for parent in (folder, *folder.absolute().parents)
                          if parent.exists()), os.W_OK):
        return _complain(f'{folder} cannot be written; give another --output', EXIT_FAILED)
    bar = ProgressBar(quiet=options.quiet)
    try:
        replayed = replay(bag, setting, on_progress=bar.show)
    finally:
        bar.clear()
    reference = choose_reference(replayed.notes, options.reference)
    if reference is None and options.reference != 'auto':
        return _complain(f'the recording has no {options.reference} to compare with; try '
                         f'--reference auto', EXIT_FAILED)
    errors = None if reference is None else action_errors(
        replayed.notes, reference, delay_s=options.delay)
    report = document(replayed, errors, bag=name, machine={'processor': processor_name()})
    try:
        folder.mkdir(parents=True, exist_ok=True)
        json_file = Path(options.json) if options.json else folder / REPORT_FILE
        is_older_there = json_file.exists()
        write_json(json_file, report)
        write_ticks(folder / 'ticks.csv', replayed, reference, errors)
        write_page(folder / 'report.html', report, replayed, reference, errors)
    except OSError as error:
        return _complain(f'the report cannot be written: {error}', EXIT_FAILED)
    for fault in replayed.faults:
        print(f'oxygen eval: {fault}', file=sys.stderr)
    print(summary(report))
    if is_older_there:
        print('an older report was replaced; --output DIR keeps both')
    print(f'{json_file}\n{folder / "ticks.csv"}\n{folder / "report.html"}')
    return 0


def _compare(options: argparse.Namespace) -> int:
    tolerances = Tolerances(**{field.name: getattr(options, f'{field.name}_tolerance')
                               for field in fields(Tolerances)})
    if len(options.compare) != 2:
        return _complain(f'--compare takes two reports, before and after; {len(options.compare)} '
                         f'given', EXIT_USAGE)
    try:
        outcome = compare(*map(load_report, options.compare), tolerances)
    except ConfigError as error:
        return _complain(str(error), EXIT_USAGE)
    changes = outcome.changes(options.ignore)
    for text in outcome.setting:
        print(f'set     {text}')
    for finding in outcome.findings:
        mark = ('CHANGED' if finding in changes else 'ignored' if finding.is_change else 'ok')
        print(f'{mark:<7} {finding.text}')
    if options.json and (failure := write_figures(options.json, {
            'changed': sorted({finding.kind for finding in changes}),
            'setting': list(outcome.setting), **outcome.figures,
            'findings': [{'kind': finding.kind, 'text': finding.text,
                          'is_change': finding.is_change} for finding in outcome.findings]})):
        return _complain(failure, EXIT_USAGE)
    return EXIT_CHANGED if changes else 0


class ProgressBar:
    """A bar on stderr where that is a terminal; elsewhere nothing."""

    def __init__(self, *, quiet: bool):
        self._is_shown = not quiet and sys.stderr.isatty()
        self._began_s = time.monotonic()
        self._shown_s = 0.0

    def show(self, share: float, text: str) -> None:
        """Show how much is done, at most ten times a second."""
        now_s = time.monotonic()
        if not self._is_shown or now_s - self._shown_s < 0.1:
            return
        self._shown_s = now_s
        share = min(1.0, share)
        left = f', {(now_s - self._began_s) * (1 / share - 1):.0f} s left' if share > 0.02 else ''
        full = round(BAR_WIDTH * share)
        sys.stderr.write(f'\r\033[K[{"#" * full}{"." * (BAR_WIDTH - full)}] {100 * share:3.0f} % '
                         f'{text}{left}')
        sys.stderr.flush()

    def clear(self) -> None:
        """Take the bar away."""
        if self._is_shown:
            sys.stderr.write('\r\033[K')
            sys.stderr.flush()


def _complain(text: str, code: int) -> int:
    print(f'oxygen eval: {text}', file=sys.stderr)
    return code


def _parser() -> argparse.ArgumentParser:
    engine, control, scheduler = EngineConfig(), ControlConfig(), SchedulerConfig()
    parser = argparse.ArgumentParser(
        prog='oxygen eval', formatter_class=argparse.RawDescriptionHelpFormatter, epilog=EPILOG,
        description='Evaluate a model on a recording, or compare two evaluations.')
    add = parser.add_argument
    add('bag', nargs='?', metavar='BAG', help='rosbag2 folder, or one .mcap or .db3 file of it')
    add('--robot', metavar='PROFILE', help='shipped name (so101, widowx) or .yaml file')
    add('--checkpoint', default=engine.checkpoint, metavar='DIR',
        help=f"a directory, or 'builtin:<size>' for random weights (default: {engine.checkpoint})")
    add('--output', metavar='DIR', default='', help='default: <bag>-evaluation, here')
    add('--json', metavar='FILE', default='', help='put the JSON here instead')
    replaying = parser.add_argument_group('replay')
    add = replaying.add_argument
    add('--timing', choices=TIMINGS, default='offline', help='see below (default: offline)')
    add('--costs', metavar='FILE', default='', help='cost model of --timing simulated')
    add('--instruction', default='', help='instead of the recorded one')
    add('--tasks', metavar='FILE', default='', help="standing tasks, 'none' for no text "
                                                    '(default: those that are shipped for the '
                                                    'checkpoint)')
    add('--namespace', default='', help='of the robot in the recording')
    add('--remap', action='append', default=[], metavar='NAME:=/topic', help=REMAP_HELP)
    add('--stamps', choices=STAMPS, default='header',
        help="'arrival' takes the time of recording instead of the sensors' stamps")
    add('--urdf', metavar='FILE', default='', help='joint limits that the profile leaves out')
    add('--quiet', action='store_true', help='no progress bar')
    model = parser.add_argument_group('model')
    add = model.add_argument
    add('--replan-hz', type=float, default=scheduler.replan_hz, metavar='HZ',
        help=f'chunks per second (default: {scheduler.replan_hz:g})')
    add('--transition', choices=TRANSITIONS, default=control.transition,
        help=f'between chunks (default: {control.transition})')
    add('--denoise-steps', type=int, default=engine.num_denoise_steps, metavar='N',
        help=f'per chunk (default: {engine.num_denoise_steps})')
    add('--device', default=engine.device, help=f'of torch (default: {engine.device})')
    add('--weights', choices=WEIGHTS, default=engine.weights,
        help=f'default: {engine.weights}')
    add('--threads', type=int, default=engine.num_threads, metavar='N',
        help=f'of torch (default: {engine.num_threads})')
    add('--seed', type=int, default=engine.seed, help=f'default: {engine.seed}')
    errors = parser.add_argument_group('action error')
    add = errors.add_argument
    add('--reference', choices=('auto', 'commands', 'joint_states'), default='auto',
        help='what to compare with (default: commands where there are any)')
    add('--delay', type=float, metavar='S', default=None,
        help='from a command to its effect in the recording (default: estimated)')
    comparing = parser.add_argument_group('comparison')
    add = comparing.add_argument
    add('--compare', nargs='+', metavar='REPORT',
        help='compare two reports, each a report.json or the folder it is in')
    for field in fields(Tolerances):
        add(f'--{field.name}-tolerance', type=float, default=field.default, metavar='X',
            help=f'{TOLERANCE_HELP[field.name]} (default: {field.default:g})')
    add('--ignore', action='append', default=[], choices=KINDS,
        help='do not fail for this kind of change; may be repeated')
    return parser


TOLERANCE_HELP = {
    'action': "largest change of an action, as a share of its joint's range",
    'error': 'growth of the mean action error, relative',
    'timing': 'growth of p50 or p99 of a time, relative',
    'ticks': 'share of ticks with an action that may be lost',
    'chunks': 'share of observations that only one report has a chunk of',
    'texts': 'share of texts that differ',
}
