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
An independent listener: shows what the node says and measures what it really sends.

    oxygen watch [--seconds N] [--json FILE] [--quiet] [--check] [--ros-args -r __ns:=/robot]

Prints words as they stream, facts as they appear and, once something moves, one summary line a
second. The command rate is measured here, from the messages that arrive, not taken from the node's
own figures; so is whether every text arrives whole (--check: exit code 1 if one does not).
"""

import argparse
from collections.abc import Sequence
import sys
import threading
import time

from geometry_msgs.msg import PoseStamped
from geometry_msgs.msg import TwistStamped
import numpy as np
import rclpy
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.qos import ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory

from oxygen_ros.figures import why_unwritable
from oxygen_ros.figures import write_figures
from oxygen_ros.msg import ActionChunk
from oxygen_ros.msg import Deadline
from oxygen_ros.msg import EngineStatus
from oxygen_ros.msg import MemoryFact
from oxygen_ros.msg import TokenDelta
from oxygen_ros.ros import qos
from oxygen_ros.ros.absence import absence
from oxygen_ros.ros.command import complain
from oxygen_ros.ros.command import EXIT_FAILED
from oxygen_ros.ros.command import EXIT_OK
from oxygen_ros.ros.command import EXIT_USAGE
from oxygen_ros.ros.command import first_line
from oxygen_ros.ros.command import parse_before_ros
from oxygen_ros.ros.command import start_ros
from oxygen_ros.ros.command import stop_on_signals
from oxygen_ros.ros.executor import make_executor
from oxygen_ros.ros.stream_check import StreamCheck
from oxygen_ros.ros.transcript import Transcript

COMMAND_TYPES = {
    'trajectory_msgs/msg/JointTrajectory': JointTrajectory,
    'std_msgs/msg/Float64MultiArray': Float64MultiArray,
    'sensor_msgs/msg/JointState': JointState,
    'geometry_msgs/msg/PoseStamped': PoseStamped,
    'geometry_msgs/msg/TwistStamped': TwistStamped,
}
SPIN_S = 0.05
STATUS_S = 2.0             # the node's figures follow its first command within this
ABSENT_S = 5.0             # discovery takes a second or two, on a busy machine more


class Monitor(Node):
    """Counts and shows; everything runs in the one executor thread."""

    def __init__(self, *, node_name: str, command_topic: str, quiet: bool):
        super().__init__('oxygen_monitor')
        self._quiet = quiet
        self._node_name = node_name
        self._told = ''                         # what there is to wait for, as last said
        self._command_topic = self.resolve_topic_name(command_topic)
        self._command_subscription = None
        self._transcript = Transcript()
        self.arrivals_s: list[float] = []       # steady time of every command
        self.num_chunks = self.num_tokens = self.num_texts = self.num_facts = 0
        self.check = StreamCheck()
        self.deadline: Deadline | None = None
        self.engine: EngineStatus | None = None
        self.start_s = time.monotonic()
        for kind, name, callback, profile in (
                (TokenDelta, 'language', self._on_delta, qos.stream()),
                (MemoryFact, 'memory', self._on_fact, qos.facts()),
                (ActionChunk, 'action_chunk', self._on_chunk, qos.stream(depth=10)),
                (Deadline, 'deadline', self._on_deadline, qos.status()),
                (EngineStatus, 'engine', self._on_engine, qos.status())):
            self.create_subscription(kind, f'{node_name}/{name}', callback, profile)

    def look_for_command(self) -> None:
        """Subscribe to the command topic once it exists; its type is the robot's choice."""
        if self._command_subscription is not None:
            return
        for name, kinds in self.get_topic_names_and_types():
            kind = COMMAND_TYPES.get(kinds[0])
            if name == self._command_topic and kind is not None:
                self._command_subscription = self.create_subscription(
                    kind, name, lambda _: self.arrivals_s.append(time.monotonic()),
                    QoSProfile(depth=100, reliability=ReliabilityPolicy.RELIABLE), raw=True)

    def report(self) -> None:
        """Say how things stand; until something moves only what is waited for, once."""
        waiting = self._waiting_for()
        if not waiting:
            self.say(self.summary_line())
        elif waiting != self._told:
            self.say(f'waiting   {waiting}')
        self._told = waiting

    def _waiting_for(self) -> str:
        deadline, now_s = self.deadline, time.monotonic()
        is_heard = self.arrivals_s and now_s - self.arrivals_s[0] > STATUS_S
        if is_heard or deadline is not None and any((
                deadline.fresh, deadline.carried, deadline.fallback, deadline.stopped)):
            return ''
        if self.engine is not None:
            return 'nothing moves yet'
        is_late = now_s - self.start_s > ABSENT_S
        return (absence(self, self._node_name) if is_late else '') or 'the node does not speak yet'

    def summary_line(self) -> str:
        """Return the state of things in one line."""
        now_s = time.monotonic()
        recent = [arrival for arrival in self.arrivals_s[-600:] if arrival > now_s - 1.0]
        parts = [f'{now_s - self.start_s:5.0f} s', f'{len(recent)} commands/s']
        deadline, engine = self.deadline, self.engine
        if deadline is not None:
            parts.append(' '.join(f'{name} {getattr(deadline, name)}' for name in (
                'fresh', 'carried', 'fallback', 'stopped', 'missed')))
            parts.append(f'late p50 {deadline.lateness_p50 * 1e3:.2f} p99 '
                         f'{deadline.lateness_p99 * 1e3:.2f} max '
                         f'{deadline.lateness_max * 1e3:.2f} ms')
            if deadline.cause:
                parts.append(f'cause {deadline.cause}')
        if engine is not None:
            parts.append(f'{engine.replan_rate:.1f} replans/s')
            parts.append(f'{engine.token_rate:.0f} tokens/s')
            parts.append(f'{encodes_per_frame(engine):.2f} encodes/frame')
            parts.append(f'{engine.facts} facts')
            if engine.restarts or engine.state != EngineStatus.READY:
                parts.append(f'engine {engine_state(engine)}, {engine.restarts} restarts')
        else:
            parts.append('the node does not speak yet')
        return ' | '.join(parts)

    def figures(self) -> dict:
        """Return what was seen and measured, for JSON."""
        gaps_ms = np.diff(self.arrivals_s) * 1e3 if len(self.arrivals_s) > 1 else np.zeros(1)
        span_s = self.arrivals_s[-1] - self.arrivals_s[0] if len(self.arrivals_s) > 1 else 0.0
        p50, p99 = np.quantile(gaps_ms, (0.5, 0.99))
        figures = {
            'seconds': round(time.monotonic() - self.start_s, 3),
            'commands_received': len(self.arrivals_s),
            'command_rate_hz': round((len(self.arrivals_s) - 1) / span_s, 3) if span_s else 0.0,
            'command_gap_ms': {'p50': round(float(p50), 3), 'p99': round(float(p99), 3),
                               'max': round(float(gaps_ms.max()), 3)},
            'chunks_received': self.num_chunks, 'tokens_received': self.num_tokens,
            'texts_received': self.num_texts, 'text_gaps': self.check.num_missing,
            'streams': self.check.figures(), 'facts_received': self.num_facts,
        }
        if self.engine is not None:
            figures['encodes_per_frame'] = round(encodes_per_frame(self.engine), 4)
            figures['engine_restarts'] = self.engine.restarts
            figures['trained'] = self.engine.trained
        return figures

    def say(self, text: str) -> None:
        """Write a line of its own, below a text that is still being written."""
        sys.stdout.write(self._transcript.interrupt() + text + '\n')
        sys.stdout.flush()

    def _on_delta(self, message: TokenDelta) -> None:
        self.check.add(message, time.monotonic())
        self.num_tokens += message.num_tokens
        self.num_texts += message.final
        if not self._quiet:
            sys.stdout.write(self._transcript.add(
                message.request_id, message.task, message.text, final=message.final))
            sys.stdout.flush()

    def _on_fact(self, message: MemoryFact) -> None:
        self.num_facts += 1
        if not self._quiet:
            self.say(f'fact      {message.subject} | {message.relation} | {message.object}')

    def _on_chunk(self, message: ActionChunk) -> None:
        self.num_chunks += 1

    def _on_deadline(self, message: Deadline) -> None:
        self.deadline = message

    def _on_engine(self, message: EngineStatus) -> None:
        changed = self.engine is None or (self.engine.state, self.engine.pid) != (
            message.state, message.pid)
        self.engine = message
        if changed:
            self.say(f'engine    {engine_state(message)}, process {message.pid}'
                     f'{": " + message.detail if message.detail else ""}')


def encodes_per_frame(engine: EngineStatus) -> float:
    """Return how often a frame was encoded: 1 if the prefix is really shared."""
    return engine.encodes / engine.frames if engine.frames else 0.0


def engine_state(engine: EngineStatus) -> str:
    """Return the state as a word."""
    for name in ('STARTING', 'READY', 'HUNG', 'RESTARTING', 'STOPPED', 'FAILED'):
        if engine.state == getattr(EngineStatus, name):
            return name.lower()
    return str(engine.state)


def main(argv: Sequence[str] | None = None) -> int:
    """Watch until SIGINT, SIGTERM or the given time; return the exit code."""
    stopping = stop_on_signals()
    options, ros_arguments = parse(list(sys.argv[1:] if argv is None else argv))
    failure = (why_unwritable(options.json) if options.json else '') or start_ros(ros_arguments)
    if failure:
        return complain('watch', failure, EXIT_USAGE)
    try:
        try:
            monitor = Monitor(node_name=options.node, command_topic=options.command,
                              quiet=options.quiet)
        except Exception as error:
            return complain('watch', f'cannot join the ROS domain: {first_line(error)}; choose a '
                            'free ROS_DOMAIN_ID from 0 to 101', EXIT_FAILED)
        watch(monitor, stopping, options.seconds)
        figures, check = monitor.figures(), monitor.check
        monitor.destroy_node()
    finally:
        rclpy.try_shutdown()
    failure = write_figures(options.json, figures) if options.json else ''
    if failure:
        return complain('watch', failure, EXIT_FAILED)
    return EXIT_OK if not options.check else report(check)


def report(check: StreamCheck) -> int:
    """Say whether every text arrived whole; return the exit code."""
    sys.stdout.write(f'{check.summary()}\n')
    if check.is_clean and check.num_checked:
        return EXIT_OK
    return complain('watch', '; '.join(check.problems) or 'no text was heard from its beginning '
                    'to its end; watch for longer', EXIT_FAILED)


def parse(argv: list[str]) -> tuple[argparse.Namespace, list[str]]:
    """Return our options and the arguments for ROS."""
    parser = argparse.ArgumentParser(
        prog='oxygen watch', description='Show what the node says and measure what it sends.',
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog='example:\n  oxygen watch --seconds 30 --json watch.json')
    parser.add_argument('--seconds', type=float, default=0.0, help='end after this time; 0: never')
    parser.add_argument('--json', metavar='FILE', default='', help='write the figures at the end')
    parser.add_argument('--quiet', action='store_true', help='only the summary line')
    parser.add_argument('--check', action='store_true',
                        help='end with exit code 1 unless every text arrived whole')
    parser.add_argument('--node', default='oxygen', help='name of the node (default: oxygen)')
    parser.add_argument('--command', default='command', help='command topic (default: command)')
    return parse_before_ros(parser, argv)


def watch(monitor: Monitor, stopping: threading.Event, seconds: float) -> None:
    """Spin, with one summary line a second."""
    executor = make_executor()
    executor.add_node(monitor)
    next_line_s = monitor.start_s + 1.0
    while not stopping.is_set():
        executor.spin_once(timeout_sec=SPIN_S)
        now_s = time.monotonic()
        if now_s >= next_line_s:
            next_line_s = max(next_line_s + 1.0, now_s)
            monitor.look_for_command()
            monitor.report()
        if seconds and now_s - monitor.start_s >= seconds:
            break
    executor.shutdown()


if __name__ == '__main__':
    sys.exit(main())
