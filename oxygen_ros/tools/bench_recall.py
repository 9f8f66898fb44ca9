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
Remember and recall, closed loop with the simulated table: seen, taken away, asked for.

    oxygen bench recall --episodes 50 --json recall.json
    oxygen bench recall --oracle            facts from the simulator's truth instead of the model

In each episode the arm acts on what it sees while the task `memory` writes facts; then one cube
that was seen is taken from the table, the robot goes on, and is asked where that cube is, with
`use_memory`. Reported: how often the right fact was remembered, was in the prompt of the question,
and was what the answer said. --oracle checks everything but the model: the first two must be all.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import replace
from pathlib import Path
import sys

import numpy as np

from oxygen_ros.clock import SteppedClock
from oxygen_ros.config import ConfigError
from oxygen_ros.config import ControlConfig
from oxygen_ros.config import EngineConfig
from oxygen_ros.config import find_share_file
from oxygen_ros.config import load_robot
from oxygen_ros.config import load_tasks
from oxygen_ros.config import SchedulerConfig
from oxygen_ros.figures import write_figures
from oxygen_ros.runtime.outputs import Listener
from oxygen_ros.runtime.session import Session
from oxygen_ros.runtime.session import SessionError
from oxygen_ros.sim.table_top import TableTop
from oxygen_ros.sim.texts import describe
from oxygen_ros.sim.texts import parse_location
from oxygen_ros.sim.texts import seen_cubes
from oxygen_ros.types import EndReason
from oxygen_ros.types import TokenDelta

START_NS = 1_700_000_000_000_000_000
TICK_S, LOOK_TICKS = 0.02, 10          # 50 commands and 5 looks per second
NEAR_M = 0.03                          # a location this close is right
ANSWER_S = 20.0                        # simulated


@dataclass(frozen=True)
class Episode:
    """What became of one cube."""

    color: str
    truth: str             # where it was last seen
    remembered: str        # what the memory says; '': nothing
    facts: tuple[str, ...]     # in the prompt of the question
    answer: str
    is_remembered: bool
    is_in_prompt: bool
    is_answered: bool


class Ended(Listener):
    """Keeps the last piece of every text."""

    def __init__(self):
        self.texts: dict[str, TokenDelta] = {}

    def on_delta(self, delta: TokenDelta) -> None:
        """Keep the end of a text."""
        if delta.final:
            self.texts[delta.request_id] = delta


class Recall:
    """A session on simulated time that acts on the table."""

    def __init__(self, *, checkpoint: str, robot: str, oracle: bool):
        tasks = [replace(task, trigger='every_frame') for task in load_tasks(
            find_share_file('config/tasks_table_top.yaml')) if task.name == 'memory']
        self._oracle = oracle
        self._clock = SteppedClock(START_NS)
        self._ended = Ended()
        self._table = TableTop()
        self._session = Session(
            load_robot(robot), ControlConfig(), EngineConfig(
                checkpoint=checkpoint, scheduler=SchedulerConfig(replan_hz=1 / TICK_S)),
            () if oracle else tasks, listener=self._ended, clock=self._clock,
            node_clock_ns=self._clock.now_ns, host='lockstep')
        self._tasks = tasks
        self._ticks = self._looks = 0
        self._truth: dict[str, str] = {}     # colour -> where it was last seen

    def __enter__(self):
        """Load the model."""
        self._session.configure()
        self._session.activate()
        if self._oracle:      # the model writes nothing, but what is pushed goes to the memory
            self._session.destinations.set_tasks(self._tasks)
        return self

    def __exit__(self, *exception) -> None:
        """Free everything."""
        self._session.close()
        self._table.close()

    def run(self, seed: int, *, seconds: float) -> Episode:
        """Run one episode; raises SessionError if it cannot be run."""
        rng = np.random.default_rng(seed)
        self._table.reset(seed=seed)
        self._truth.clear()
        self._session.reset('next episode')
        self._session.set_instruction(self._table.task.instruction)
        self._act(seconds)
        if not self._truth:
            raise SessionError('no cube was ever in the picture; run for longer')
        color = sorted(self._truth)[rng.integers(len(self._truth))]
        truth = self._truth[color]
        self._table.remove_cube(color)
        self._act(seconds)
        remembered = self._remembered(f'{color} cube')
        request_id = self._session.ask(f'where is the {color} cube?', use_memory=True)
        for _ in range(round(ANSWER_S / TICK_S)):
            if request_id in self._ended.texts:
                break
            self._act(TICK_S)
        end = self._ended.texts.pop(request_id, None)
        facts, answer = (end.facts, end.full_text.strip()) if end else ((), '')
        return Episode(
            color, truth, remembered, facts, answer, is_remembered=agree(remembered, truth),
            is_in_prompt=any(agree(fact.removeprefix(f'{color} cube is '), truth)
                             for fact in facts if fact.startswith(f'{color} cube is ')),
            is_answered=agree(answer, truth))

    def _act(self, seconds: float) -> None:
        for _ in range(round(seconds / TICK_S)):
            now_ns, joints = self._clock.now_ns(), self._table.joint_positions
            self._session.measured(joints, now_ns)
            if self._ticks % LOOK_TICKS == 0:
                self._look(now_ns, joints)
            self._session.run_until(now_ns)
            command = self._session.tick(self._ticks, 0).command
            if command is not None:
                self._table.command(command)
            self._table.step(TICK_S)
            self._session.run_until(now_ns + round(TICK_S * 1e9))
            self._ticks += 1

    def _look(self, now_ns: int, joints) -> None:
        pictures = {slot: self._table.render(slot) for slot in self._session.robot.camera_slots}
        for slot in pictures:
            self._session.seen(slot, now_ns)
        frame_id = self._session.observe(pictures, joints, now_ns)
        lines = describe(self._table, 'reach', seen_cubes(pictures.values())).memory
        for line in lines.splitlines():
            subject, _, place = line.split(' | ')
            self._truth[subject.split()[0]] = place
        if self._oracle and lines:
            self._looks += 1
            self._session.destinations.push(TokenDelta(
                f'oracle-{self._looks}', 'memory', frame_id, now_ns, 0, lines, 1, final=True,
                reason=EndReason.EOS, full_text=lines))

    def _remembered(self, subject: str) -> str:
        """Return the place that holds, '' if none."""
        facts = self._session.recall(subject=subject, limit=1)
        return facts[0].object if facts else ''


def agree(said: str, truth: str) -> bool:
    """Return whether words name the true place; locations may differ by NEAR_M."""
    words = said.split()
    places = [parse_location(' '.join(words[start:start + 4])) for start in range(len(words))]
    wanted = parse_location(truth)
    if wanted is None:
        return truth in said
    return any(place is not None and np.linalg.norm(place - wanted) <= NEAR_M for place in places)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the scenario; return the exit code."""
    arguments = parser().parse_args(list(sys.argv[1:] if argv is None else argv))
    try:
        with Recall(checkpoint=arguments.checkpoint, robot=arguments.robot,
                    oracle=arguments.oracle) as recall:
            episodes = [recall.run(arguments.seed + number, seconds=arguments.seconds)
                        for number in range(arguments.episodes)]
    except (ConfigError, SessionError) as error:
        print(f'oxygen bench recall: {error}', file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print('oxygen bench recall: stopped, nothing was written', file=sys.stderr)
        return 130
    figures = summary(episodes, arguments)
    print(' | '.join(f'{name} {figures[name]} of {len(episodes)}'
                     for name in ('remembered', 'in_prompt', 'answered')))
    if arguments.json and (failure := write_figures(arguments.json, figures)):
        print(f'oxygen bench recall: {failure}', file=sys.stderr)
        return 1
    return 0


def summary(episodes: Sequence[Episode], arguments: argparse.Namespace) -> dict:
    """Return the figures."""
    return {
        'checkpoint': arguments.checkpoint, 'robot': arguments.robot, 'oracle': arguments.oracle,
        'episodes': len(episodes),
        'remembered': sum(episode.is_remembered for episode in episodes),
        'in_prompt': sum(episode.is_in_prompt for episode in episodes),
        'answered': sum(episode.is_answered for episode in episodes),
        'cubes': [{'color': episode.color, 'truth': episode.truth,
                   'remembered': episode.remembered, 'answer': episode.answer}
                  for episode in episodes]}


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    result = argparse.ArgumentParser(
        prog='oxygen bench recall', formatter_class=argparse.RawDescriptionHelpFormatter,
        description='Cubes seen, taken away and asked for: how often is the answer right?',
        epilog='example:\n  oxygen bench recall --episodes 50 --json recall.json')
    result.add_argument('--checkpoint', default='builtin:tabletop',
                        help='model (default: builtin:tabletop)')
    result.add_argument('--robot', default='table_top', help='profile (default: table_top)')
    result.add_argument('--episodes', type=int, default=50, help='default 50')
    result.add_argument('--seconds', type=float, default=2.0,
                        help='simulated, before and after the cube is taken away (default 2)')
    result.add_argument('--seed', type=int, default=0, help='of the first episode')
    result.add_argument('--oracle', action='store_true',
                        help="remember the simulator's truth, not what the model writes")
    result.add_argument('--json', type=Path, metavar='FILE', help='write the figures to FILE')
    return result
