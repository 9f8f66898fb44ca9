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
One way to run the control tick, measured: `python -m oxygen_ros.tools.bench_tick_run WAY ...`.

Prints one line of JSON; `oxygen bench tick` runs the ways one after another, each in a process
of its own.
"""

import argparse
import json
import time
from typing import Sequence

from oxygen_ros.policy import Ticker
from oxygen_ros.policy.priority import favour_threads
from oxygen_ros.runtime.rehearsal import Rehearsal

PRIORITY = 50
# way -> (where the engine runs, priority of the tick)
WAYS = {'fifo': ('process', PRIORITY), 'normal': ('process', 0), 'thread': ('inline', 0)}


def main(argv: Sequence[str] | None = None) -> int:
    """Measure one way; return the exit code."""
    parser = argparse.ArgumentParser(prog='bench_tick_run')
    parser.add_argument('way', choices=WAYS)
    parser.add_argument('--seconds', type=float, required=True)
    parser.add_argument('--rate', type=float, required=True)
    parser.add_argument('--model', required=True)
    arguments = parser.parse_args(argv)
    host, priority = WAYS[arguments.way]
    rehearsal = Rehearsal(checkpoint=f'builtin:{arguments.model}', host=host,
                          rate_hz=arguments.rate)
    rehearsal.start()
    lateness_ns: list[int] = []
    indices: list[int] = []

    def tick(index: int, late_ns: int) -> None:
        rehearsal.session.tick(index, late_ns)
        lateness_ns.append(late_ns)
        indices.append(index)

    ticker = Ticker(arguments.rate, tick, realtime_priority=priority)
    ticker.start()
    if ticker.is_realtime:
        favour_threads()
    time.sleep(arguments.seconds)
    ticker.stop()
    summary = rehearsal.stop()
    print(json.dumps({
        'start_ns': ticker.start_ns, 'indices': indices,
        'lateness_us': [round(value / 1e3, 1) for value in lateness_ns],
        'missed': ticker.num_missed, 'realtime_priority': ticker.is_realtime,
        'chunks': summary['chunks'], 'verdicts': summary['verdicts']}))
    return 0


if __name__ == '__main__':
    raise SystemExit(main())
