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
What language costs the control tick, and how steady its rhythm is: one run, side by side.

    oxygen bench words --seconds 60 --checkpoint builtin:tabletop --robot table_top

The same session runs by turns with the standing tasks and two open questions, and without any
text. Shown for both: lateness of the tick, replans, time from a look to its chunk, encodes per
frame; and for every stream the gaps between its tokens as a listener sees them. The goal is a p99
of at most twice the median.
"""

import argparse
from collections import defaultdict
from collections.abc import Sequence
import os
from pathlib import Path
import platform
import sys
import time

import numpy as np

from oxygen_ros.config import choose_tasks
from oxygen_ros.config import ConfigError
from oxygen_ros.figures import write_figures
from oxygen_ros.policy import Ticker
from oxygen_ros.policy.priority import favour_threads
from oxygen_ros.runtime.outputs import Listener
from oxygen_ros.runtime.rehearsal import Rehearsal
from oxygen_ros.runtime.session import SessionError
from oxygen_ros.tools.tables import aligned
from oxygen_ros.types import ActionChunk
from oxygen_ros.types import TokenDelta

PRIORITY = 50
NUM_QUESTIONS = 2            # kept open while language is on
QUESTION_TOKENS = 32
SETTLE_S = 1.0               # after each turn, not counted
WITH, WITHOUT = 'with language', 'without'
TABLE_ROBOT = 'table_top'
MIN_GAPS = 20                # of a stream, to say anything about its rhythm


class Recorder(Listener):
    """Keeps what comes while a turn counts; the ticks' lateness too."""

    def __init__(self):
        self.turn = ''               # '' between turns
        self.ended: set[str] = set()    # request ids
        self.lateness_ms: dict[str, list[float]] = defaultdict(list)
        self.latency_ms: dict[str, list[float]] = defaultdict(list)
        self.gaps_ms: dict[str, list[float]] = defaultdict(list)
        self.tokens: dict[str, int] = defaultdict(int)
        self._last_s: dict[str, float] = {}

    def tick(self, lateness_ns: int) -> None:
        """Note one tick; called by its thread."""
        self.lateness_ms[self.turn].append(lateness_ns / 1e6)

    def on_chunk(self, chunk: ActionChunk) -> None:
        """Note how long a look took to become a chunk."""
        self.latency_ms[self.turn].append((time.monotonic_ns() - chunk.stamp_ns) / 1e6)

    def on_delta(self, delta: TokenDelta) -> None:
        """Note the time since the token before."""
        now_s, last_s = time.monotonic(), self._last_s.pop(delta.request_id, None)
        self.tokens[self.turn] += delta.num_tokens
        if self.turn and last_s is not None and delta.num_tokens:
            self.gaps_ms[delta.task] += [(now_s - last_s) * 1e3 / delta.num_tokens] * \
                delta.num_tokens
        if delta.final:
            self.ended.add(delta.request_id)
        else:
            self._last_s[delta.request_id] = now_s


class Turns:
    """Runs the session by turns and adds up what each kind of turn did."""

    def __init__(self, rehearsal: Rehearsal, recorder: Recorder, ticker: Ticker, tasks: Sequence):
        self._session, self._recorder = rehearsal.session, recorder
        self._ticker, self._tasks = ticker, tasks
        self._asked: set[str] = set()    # questions that may be open
        self.sums: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))

    def run(self, turn: str, seconds: float) -> None:
        """Run one turn; the time to settle is not counted."""
        self._session.set_tasks(self._tasks if turn == WITH else ())
        if turn == WITHOUT:
            for request_id in self._asked:
                self._session.cancel(request_id)
        self._keep_asking(turn, SETTLE_S)
        before, start_s = self._counts(), time.monotonic()
        self._recorder.turn = turn
        self._keep_asking(turn, seconds)
        self._recorder.turn = ''
        sums = self.sums[turn]
        sums['seconds'] += time.monotonic() - start_s
        for name, count in self._counts().items():
            sums[name] += count - before[name]

    def _keep_asking(self, turn: str, seconds: float) -> None:
        end_s = time.monotonic() + seconds
        while time.monotonic() < end_s:
            self._asked -= self._recorder.ended
            if turn == WITH and len(self._asked) < NUM_QUESTIONS:
                self._asked.add(self._session.ask('what do you see?',
                                                  max_tokens=QUESTION_TOKENS))
            time.sleep(0.02)

    def _counts(self) -> dict[str, int]:
        figures = self._session.snapshot().figures
        return {'frames': figures.frames, 'encodes': figures.encodes, 'chunks': figures.chunks,
                'missed': self._ticker.num_missed}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the benchmark; return the exit code."""
    arguments = parser().parse_args(list(sys.argv[1:] if argv is None else argv))
    try:
        figures = measure(arguments)
    except (ConfigError, SessionError) as error:
        print(f'oxygen bench words: {error}', file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print('oxygen bench words: stopped, nothing was written', file=sys.stderr)
        return 130
    print(table(figures))
    if arguments.json and (failure := write_figures(arguments.json, figures)):
        print(f'oxygen bench words: {failure}', file=sys.stderr)
        return 1
    return 0


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    result = argparse.ArgumentParser(
        prog='oxygen bench words', formatter_class=argparse.RawDescriptionHelpFormatter,
        description='Measure what language costs the control tick, and its rhythm.',
        epilog='example:\n  oxygen bench words --seconds 60 --json words.json')
    result.add_argument('--seconds', type=float, default=60.0, help='in all (default 60)')
    result.add_argument('--turn', type=float, default=5.0, help='seconds per turn (default 5)')
    result.add_argument('--rate', type=float, default=50.0, help='ticks per second (default 50)')
    result.add_argument('--replan-hz', type=float, default=10.0, help='looks per second')
    result.add_argument('--checkpoint', default='builtin:tiny', help='model (default tiny)')
    result.add_argument('--robot', default='so101', metavar='PROFILE',
                        help='profile (default so101); with table_top the pictures are of the '
                        'simulated table, else noise')
    result.add_argument('--tasks', default='', metavar='FILE',
                        help='default: those that are shipped for the checkpoint')
    result.add_argument('--json', type=Path, metavar='FILE', help='write the figures to FILE')
    return result


def measure(arguments: argparse.Namespace) -> dict:
    """Run both kinds of turn, one after the other, until the time is over."""
    tasks = choose_tasks(arguments.tasks, arguments.checkpoint)
    recorder = Recorder()
    rehearsal = Rehearsal(checkpoint=arguments.checkpoint, host='process', rate_hz=arguments.rate,
                          replan_hz=arguments.replan_hz, tasks=tasks, listener=recorder,
                          robot=arguments.robot,
                          **(table_pictures() if arguments.robot == TABLE_ROBOT else {}))
    rehearsal.start()

    def tick(index: int, late_ns: int) -> None:
        rehearsal.session.tick(index, late_ns)
        recorder.tick(late_ns)

    ticker = Ticker(arguments.rate, tick, realtime_priority=PRIORITY)
    ticker.start()
    try:
        if ticker.is_realtime:
            favour_threads()
        turns = Turns(rehearsal, recorder, ticker, tasks)
        for number in range(2 * max(1, round(arguments.seconds / arguments.turn / 2))):
            turns.run((WITH, WITHOUT)[number % 2], arguments.turn)
    finally:
        ticker.stop()
        rehearsal.stop()
    return {
        'checkpoint': arguments.checkpoint, 'robot': arguments.robot, 'rate_hz': arguments.rate,
        'replan_hz': arguments.replan_hz, 'cpus': os.cpu_count(), 'machine': platform.platform(),
        'realtime_priority': ticker.is_realtime,
        'turns': {turn: _turn(recorder, turn, turns.sums[turn]) for turn in (WITH, WITHOUT)},
        'streams': {task: _rhythm(gaps) for task, gaps in sorted(recorder.gaps_ms.items())}}


def table_pictures() -> dict:
    """Return what the simulated robot sees and measures at the start of four episodes."""
    from oxygen_ros.sim import CAMERAS  # MuJoCo is loaded only here
    from oxygen_ros.sim import TableTop
    table, pictures = TableTop(), []
    for seed in range(4):
        table.reset(seed=seed)
        pictures.append({camera.slot: table.render(camera.slot) for camera in CAMERAS})
    state = table.joint_positions.tolist()
    table.close()
    return {'pictures': pictures, 'state': state}


def table(figures: dict) -> str:
    """Return the figures as two tables."""
    turns = [('', 'ticks', 'missed', 'late ms p50', 'p99', 'max', 'replans/s', 'look-to-chunk p50',
              'p99', 'encodes/frame', 'tokens/s')]
    for turn, figure in figures['turns'].items():
        late, latency = figure['lateness_ms'], figure['look_to_chunk_ms']
        turns.append((turn, str(figure['ticks']), str(figure['missed']),
                      *(f'{late[key]:.3f}' for key in ('p50', 'p99', 'max')),
                      f'{figure["replans_per_s"]:.2f}',
                      *(f'{latency[key]:.1f}' for key in ('p50', 'p99')),
                      f'{figure["encodes_per_frame"]:.3f}', f'{figure["tokens_per_s"]:.1f}'))
    streams = [('stream', 'tokens', 'gap ms p50', 'p99', 'p99/p50')]
    for task, gap in figures['streams'].items():
        streams.append((task, str(gap['num']), *(f'{gap[key]:.1f}' for key in ('p50', 'p99')),
                        f'{gap["p99_over_p50"]:.2f}'))
    return f'{aligned(turns)}\n\n{aligned(streams)}'


def _turn(recorder: Recorder, turn: str, sums: dict) -> dict:
    return {
        'seconds': round(sums['seconds'], 2), 'ticks': len(recorder.lateness_ms[turn]),
        'missed': int(sums['missed']), 'lateness_ms': _spread(recorder.lateness_ms[turn]),
        'replans_per_s': round(sums['chunks'] / sums['seconds'], 3),
        'look_to_chunk_ms': _spread(recorder.latency_ms[turn]),
        'encodes_per_frame': round(sums['encodes'] / max(1, sums['frames']), 4),
        'tokens_per_s': round(recorder.tokens[turn] / sums['seconds'], 2)}


def _rhythm(gaps_ms: list[float]) -> dict:
    spread = _spread(gaps_ms)
    ratio = spread['p99'] / spread['p50'] if len(gaps_ms) >= MIN_GAPS and spread['p50'] else 0.0
    return {'num': len(gaps_ms), **spread, 'p99_over_p50': round(ratio, 3)}


def _spread(values: list[float]) -> dict:
    p50, p99 = np.quantile(np.array(values or [0.0]), (0.5, 0.99))
    return {'p50': round(float(p50), 4), 'p99': round(float(p99), 4),
            'max': round(float(max(values, default=0.0)), 4)}
