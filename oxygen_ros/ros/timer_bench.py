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
The tick as an rclpy timer in the engine's process, to compare: what this package does not do.

`python -m oxygen_ros.ros.timer_bench --seconds N --rate HZ --model NAME` prints one line of JSON;
run by `oxygen bench tick`.
"""

import argparse
from collections.abc import Sequence
import json
import sys
import time

import rclpy
from rclpy.clock import Clock
from rclpy.clock import ClockType
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

from oxygen_ros.runtime.rehearsal import Rehearsal


def main(argv: Sequence[str] | None = None) -> int:
    """Measure; return the exit code."""
    parser = argparse.ArgumentParser(prog='timer_bench')
    parser.add_argument('--seconds', type=float, required=True)
    parser.add_argument('--rate', type=float, required=True)
    parser.add_argument('--model', required=True)
    arguments = parser.parse_args(argv)
    rehearsal = Rehearsal(checkpoint=f'builtin:{arguments.model}', host='inline',
                          rate_hz=arguments.rate)
    rehearsal.start()
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    node, executor = Node('oxygen_timer_bench'), SingleThreadedExecutor()
    period_ns = round(1e9 / arguments.rate)
    start_ns = time.monotonic_ns() + period_ns
    lateness_ns, indices = [], []

    def tick() -> None:
        now_ns = time.monotonic_ns()
        index = max(0, (now_ns - start_ns) // period_ns)
        late_ns = max(0, now_ns - start_ns - index * period_ns)
        rehearsal.session.tick(index, late_ns)
        lateness_ns.append(late_ns)
        indices.append(index)

    node.create_timer(1.0 / arguments.rate, tick, clock=Clock(clock_type=ClockType.STEADY_TIME))
    executor.add_node(node)
    while time.monotonic_ns() < start_ns + arguments.seconds * 1e9:
        executor.spin_once(timeout_sec=0.1)
    num_grid_points = round(arguments.seconds * arguments.rate)
    summary = rehearsal.stop()
    executor.shutdown()
    rclpy.try_shutdown()
    sys.stdout.write(json.dumps({
        'start_ns': start_ns, 'indices': indices,
        'lateness_us': [round(value / 1e3, 1) for value in lateness_ns],
        'missed': max(0, num_grid_points - len(set(indices))), 'realtime_priority': False,
        'chunks': summary['chunks'], 'verdicts': summary['verdicts']}) + '\n')
    return 0


if __name__ == '__main__':
    sys.exit(main())
