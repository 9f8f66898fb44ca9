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
What texts cost actions: the simulated robot under different policies of the engine, same episodes.

    oxygen sim-compare [--checkpoint NAME] [--episodes N] [--texts N ...] [--realtime]

In lock-step time stands still while the model thinks, so no text can come in the way, and the
actions must not differ in a bit. In real time simulator and node are two processes, and a policy
that lets texts go before actions does the task late or not at all.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
import hashlib
import json
from pathlib import Path
import sys
import tempfile
import time

from oxygen_ros.config import ConfigError
from oxygen_ros.config.tasks import tasks_to_yaml
from oxygen_ros.figures import write_figures
from oxygen_ros.runtime.session import SessionError
from oxygen_ros.sim import RenderingError
from oxygen_ros.sim import TableTop
from oxygen_ros.sim.tasks import PHRASINGS
from oxygen_ros.sim.trials import make_trials
from oxygen_ros.sim.trials import MAX_SECONDS
from oxygen_ros.tools.demo_processes import Child
from oxygen_ros.tools.demo_processes import child_environment
from oxygen_ros.tools.demo_processes import find_free_domain
from oxygen_ros.tools.demo_processes import wait_for_end
from oxygen_ros.tools.tables import aligned
from oxygen_ros.training.closed_loop import ClosedLoop
from oxygen_ros.training.closed_loop import REPLAN_HZ
from oxygen_ros.training.examination import run_trials
from oxygen_ros.training.examination import standing_tasks
from oxygen_ros.training.moments import ROBOT

POLICIES = ('isolated', 'parallel', 'shared', 'oxygen')
START_LIMIT_S, END_LIMIT_S, POLL_S = 240.0, 30.0, 0.2
NO_TASKS = 'none'


@dataclass(frozen=True)
class Setting:
    """What is compared."""

    policy: str
    num_texts: int             # about every look


class CompareError(RuntimeError):
    """A process of a real-time run failed; the message says which and why."""


def main(argv: Sequence[str] | None = None) -> int:
    """Compare; return the exit code."""
    options = parse(list(sys.argv[1:] if argv is None else argv))
    settings = [Setting(policy, num_texts) for num_texts in options.texts
                for policy in options.policies]
    try:
        run = real_time if options.realtime else LockStep(options)
        rows = []
        for setting in settings:
            rows.append({**vars(setting), **run(setting, options)})
            sys.stdout.write(table(rows[-1:]) + '\n')
            sys.stdout.flush()
        sys.stdout.write('\n' + table(rows) + '\n')
        if options.json and (failure := write_figures(options.json, {
                'checkpoint': options.checkpoint, 'realtime': options.realtime, 'rows': rows})):
            raise CompareError(failure)
    except (ConfigError, CompareError, SessionError, RenderingError, OSError) as error:
        sys.stderr.write(f'oxygen sim-compare: {error}\n')
        return 1
    except KeyboardInterrupt:
        sys.stderr.write('oxygen sim-compare: stopped, nothing was written\n')
        return 130
    return 0


class LockStep:
    """Runs the same episodes under one setting after another, time stepped by hand."""

    def __init__(self, options: argparse.Namespace):
        self._table = TableTop()
        self._first: str | None = None     # digest of the actions of the first setting

    def __call__(self, setting: Setting, options: argparse.Namespace) -> dict:
        """Return the figures of a setting."""
        loop = ClosedLoop(options.checkpoint, self._table, policy=setting.policy,
                          tasks=standing_tasks(setting.num_texts))
        digest, seconds, num_done = hashlib.sha256(), [], 0
        for verb in PHRASINGS:
            for episode in run_trials(loop, make_trials(verb, options.episodes)):
                for actions in episode.actions:
                    digest.update(actions.tobytes())
                num_done += episode.success
                seconds.append(episode.seconds)
        loop.close()
        self._first = self._first or digest.hexdigest()
        return {'episodes': len(seconds), 'successes': num_done,
                'mean_seconds': round(sum(seconds) / len(seconds), 3),
                'actions': digest.hexdigest(), 'same_actions': digest.hexdigest() == self._first}


def real_time(setting: Setting, options: argparse.Namespace) -> dict:
    """Run simulator and node as two processes; return their figures."""
    with tempfile.TemporaryDirectory(prefix='oxygen_compare_') as folder:
        tasks_file = NO_TASKS
        if setting.num_texts:
            tasks_file = f'{folder}/tasks.yaml'
            Path(tasks_file).write_text(tasks_to_yaml(standing_tasks(setting.num_texts)),
                                        encoding='utf-8')
        parameters = {'robot': ROBOT, 'checkpoint': options.checkpoint, 'autostart': 'true',
                      'policy': setting.policy, 'tasks_file': tasks_file,
                      'replan_hz': options.replan_hz}
        environment = child_environment(find_free_domain())
        node = Child('node', [
            '--json', f'{folder}/node.json', '--ros-args',
            *(word for name, value in parameters.items() for word in ('-p', f'{name}:={value}'))],
            environment=environment)
        sim = Child('sim', ['--robot', ROBOT, '--trials', str(options.episodes), '--json',
                            f'{folder}/sim.json'], environment=environment)
        try:
            _wait_for_trials(node, sim, 2 * options.episodes)
        finally:
            for child in (node, sim):
                child.interrupt()
            wait_for_end([node, sim], END_LIMIT_S, lambda: (node.lines(), sim.lines()))
            for child in (node, sim):
                child.kill()
        figures = {child.name: json.loads(Path(f'{folder}/{child.name}.json').read_text())
                   for child in (node, sim)}
    results = figures['sim']['trials']
    done = [result for result in results if result['success']]
    return {'episodes': len(results), 'successes': len(done),
            'mean_seconds': round(sum(r['seconds'] for r in results) / max(1, len(results)), 3),
            'replans_per_s': figures['node']['replans_per_s'],
            'tokens_per_s': figures['node']['tokens_per_s'],
            'world_skipped': figures['sim']['steps_skipped'],
            'verdicts': figures['node']['verdicts']}


def _wait_for_trials(node: Child, sim: Child, num_trials: int) -> None:
    """Read what both say until the simulator has run all its trials."""
    limit_s = time.monotonic() + START_LIMIT_S + num_trials * (MAX_SECONDS + 1)
    while not sim.ended():
        node.lines()
        sim.lines()
        if node.ended() or time.monotonic() > limit_s:
            raise CompareError(f'node: {node.complaint or node.last_line}; simulator: '
                               f'{sim.complaint or sim.last_line}')
        time.sleep(POLL_S)
    if sim.process.returncode:
        raise CompareError(f'simulator: {sim.complaint or sim.last_line}')


def table(rows: Sequence[dict]) -> str:
    """Return a line per setting."""
    lines = [['policy', 'texts', 'done', 'mean s', 'actions', 'replans/s', 'tokens/s', 'fallback']]
    for row in rows:
        same = {True: 'same', False: 'OTHER', None: '-'}[row.get('same_actions')]
        verdicts = row.get('verdicts')
        fallback = f'{verdicts["fallback"] / max(1, sum(verdicts.values())):.1%}' if verdicts \
            else '-'
        lines.append([row['policy'], str(row['num_texts']),
                      f'{row["successes"]} of {row["episodes"]}', f'{row["mean_seconds"]:.2f}',
                      same, f'{row.get("replans_per_s", REPLAN_HZ):.1f}',
                      f'{row["tokens_per_s"]:.0f}' if 'tokens_per_s' in row else '-', fallback])
    return aligned(lines)


def parse(argv: list[str]) -> argparse.Namespace:
    """Return the options."""
    parser = argparse.ArgumentParser(
        prog='oxygen sim-compare', formatter_class=argparse.RawDescriptionHelpFormatter,
        description='Run the same episodes with more and more texts under each policy.',
        epilog='example:\n  oxygen sim-compare --realtime --texts 0 8 --episodes 10')
    parser.add_argument('--checkpoint', default='builtin:tabletop', metavar='NAME',
                        help='name or directory (default: builtin:tabletop)')
    parser.add_argument('--episodes', type=int, default=10, metavar='N',
                        help='per kind of task (default: 10)')
    parser.add_argument('--policies', nargs='+', choices=POLICIES, metavar='POLICY',
                        default=('isolated', 'shared', 'oxygen'),
                        help='default: isolated shared oxygen')
    parser.add_argument('--texts', nargs='+', type=int, default=(0, 1, 8), metavar='N',
                        help='about every look (default: 0 1 8)')
    parser.add_argument('--realtime', action='store_true',
                        help='simulator and node as processes, by the clock on the wall')
    parser.add_argument('--replan-hz', type=float, default=REPLAN_HZ, metavar='HZ',
                        help='looks per second in real time (default: %(default)g)')
    parser.add_argument('--json', metavar='FILE', default='', help='write the figures at the end')
    return parser.parse_args(argv)


if __name__ == '__main__':
    sys.exit(main())
