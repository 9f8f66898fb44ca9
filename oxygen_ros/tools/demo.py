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
The demo: a simulated arm, the node and an independent listener, as real processes over DDS.

    oxygen demo [--seconds N] [--checkpoint NAME] [--json FILE] [--normal-priority] [--no-view]
"""

import argparse
from collections.abc import Sequence
import json
import os
from pathlib import Path
import selectors
import shlex
import shutil
import signal
import sys
import tempfile
import time

from oxygen_ros.config import find_share_file
from oxygen_ros.figures import machine_load
from oxygen_ros.figures import write_figures
from oxygen_ros.tools.demo_processes import Child
from oxygen_ros.tools.demo_processes import child_environment
from oxygen_ros.tools.demo_processes import find_descendant
from oxygen_ros.tools.demo_processes import find_free_domain
from oxygen_ros.tools.demo_processes import is_in_use
from oxygen_ros.tools.demo_processes import MAX_DOMAIN_ID
from oxygen_ros.tools.demo_processes import wait_for_end

CHECKPOINT, ROBOT, TASKS = 'builtin:tabletop', 'table_top', 'config/tasks_table_top.yaml'
REPLAN_HZ = 5.0              # leaves texts their time on two cores
START_LIMIT_S = 180.0        # loading torch on a busy machine
END_LIMIT_S = 15.0
POLL_S = 0.1
ACTIVE_WORDS = 'active: '    # the node's log line once it may move the robot
WORKER_MODULE = 'oxygen_ros.runtime.worker'

LABEL_WIDTH = 10             # of a line of words, with the space behind it
CONTINUED = '…'.encode()

EXIT_OK, EXIT_FAILED = 0, 1

ABOUT = ('It picks up cubes and puts them in the tray, one after another. Tell it what to do, and '
         'it has a\nminute for that before it goes on; or ask:\n'
         '    {oxygen} say "put the red cube in the tray"\n'
         '    {oxygen} ask "where is the red cube?"\n'
         '    {oxygen} ask "what do you see?"\n'
         '    {oxygen} memory list')


class DemoError(RuntimeError):
    """The demo cannot go on; the message is one line with the remedy."""


class Terminal:
    """Writes whole lines between the words that another process streams."""

    def __init__(self):
        self.is_gone = False         # nobody reads any more, as after: oxygen demo | head
        self._open = b''             # line of words that has not ended
        self._is_cut = False         # a line of another kind stands below it

    def stream(self, data: bytes) -> None:
        """Pass words on; below a line of another kind they begin with the label they had."""
        if not data:
            return
        cut, self._is_cut = self._is_cut, False
        shown = data
        if cut and data.startswith(b'\n'):
            shown = data[1:]
        elif cut:
            shown = self._open[:LABEL_WIDTH] + CONTINUED + data
        self._open = (self._open + data).rpartition(b'\n')[2]
        self._write(shown)

    def line(self, text: str) -> None:
        """Write a line of its own."""
        is_below = bool(self._open) and not self._is_cut
        self._is_cut = bool(self._open)
        self._write((b'\n' if is_below else b'') + text.encode() + b'\n')

    def _write(self, data: bytes) -> None:
        try:
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()
        except BrokenPipeError:
            self.is_gone = True
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class Demo:
    """Three or four children, watched by one loop in the main thread."""

    def __init__(self, options: argparse.Namespace, folder: Path, domain_id: int,
                 terminal: Terminal):
        self._options = options
        self._folder = folder
        self._terminal = terminal
        self._environment = child_environment(domain_id)
        self._selector = selectors.DefaultSelector()
        self._children: dict[str, Child] = {}
        self._stopping = False
        self._active_s: float | None = None

    def request_stop(self, *_) -> None:
        """End soon; called by signals, any number of times."""
        self._stopping = True

    def run(self) -> dict | None:
        """
        Run until asked to stop, then end every child; returns the merged figures.

        None if it was asked to stop before the arm was allowed to move.
        """
        try:
            priority = ['-p', 'realtime_priority:=0'] if self._options.normal_priority else []
            self._start('sim', ['--robot', ROBOT, '--tour'])
            self._start('node', ['--ros-args', '-p', f'robot:={ROBOT}', '-p', 'autostart:=true',
                                 '-p', f'tasks_file:={find_share_file(TASKS)}',
                                 '-p', f'replan_hz:={REPLAN_HZ}',
                                 '-p', f'checkpoint:={self._options.checkpoint}', *priority])
            self._start('watch', [])
            start_s = time.monotonic()
            while not self._stopping:
                self._read(POLL_S)
                self._check(start_s)
        finally:
            late = self._end()
        if late:
            raise DemoError(f'{", ".join(late)} did not end within {END_LIMIT_S:g} s '
                            f'and was killed')
        return None if self._active_s is None else self._figures()

    def _start(self, name: str, arguments: list[str]) -> None:
        child = Child(name, ['--json', self._path(name), *arguments],
                      environment=self._environment)
        self._children[name] = child
        self._selector.register(child, selectors.EVENT_READ)

    def _path(self, name: str) -> str:
        return str(self._folder / f'{name}.json')

    def _read(self, timeout_s: float = 0.0) -> None:
        """Show what the children wrote: the listener's words as they are, the others' logs."""
        if not self._selector.get_map():
            time.sleep(timeout_s)
            return
        for key, _ in self._selector.select(timeout_s):
            child = key.fileobj
            output = child.raw() if child.name == 'watch' else child.lines()
            if output is None:
                self._selector.unregister(child)
            elif self._stopping and self._active_s is None:
                continue             # interrupted while importing; what it says helps nobody
            elif child.name == 'watch':
                self._terminal.stream(output)
            else:
                for line in output:
                    self._terminal.line(f'{child.name:<10}{line}')
                    if child.name == 'node' and line.startswith(ACTIVE_WORDS):
                        self._note_active()
        self._stopping = self._stopping or self._terminal.is_gone

    def _note_active(self) -> None:
        if self._active_s is None:
            self._active_s = time.monotonic()
            pid = find_descendant(self._children['node'].process.pid, WORKER_MODULE)
            self._terminal.line(f'demo      the model runs in process {pid}; to see the robot '
                                f'survive its death: kill -9 {pid}')
            if not self._options.no_view:       # last, so that it slows down no start
                self._start('view', [])

    def _check(self, start_s: float) -> None:
        """End in time; raise DemoError if a child died or never came up."""
        now_s = time.monotonic()
        for child in self._children.values():
            if child.ended() and not self._stopping and child.name != 'view':
                self._read(POLL_S)
                reason = child.complaint or child.last_line or 'it gave no reason'
                raise DemoError(f'{child.name} ended with code {child.process.returncode}: '
                                f'{reason}')
        if self._active_s is None:
            if now_s - start_s > START_LIMIT_S:
                word = self._children['node'].last_word
                raise DemoError(f'the node is not active after {START_LIMIT_S:g} s, '
                                f'{machine_load()}; '
                                f'{f"its last word: {word}" if word else "it said nothing"}; '
                                f'run {oxygen_command()} doctor to see what is slow here')
        elif self._options.seconds and now_s - self._active_s >= self._options.seconds:
            self._stopping = True

    def _end(self) -> list[str]:
        """End the node first, so that its last command is still heard; returns who was killed."""
        late = []
        for names in (('node',), ('sim', 'watch', 'view')):
            children = [self._children[name] for name in names if name in self._children]
            for child in children:
                child.interrupt()
            for child in wait_for_end(children, END_LIMIT_S, lambda: self._read(POLL_S)):
                late.append(child.name)
            for child in children:
                child.kill()  # also what a child that ended by itself may have left
        return late

    def _figures(self) -> dict:
        """Return the node's figures of the run, with those of the others beside."""
        parts = {}
        for name in ('sim', 'node', 'watch'):
            try:
                parts[name] = json.loads(Path(self._path(name)).read_text(encoding='utf-8'))
            except (OSError, ValueError) as error:
                raise DemoError(f'{name} left no figures ({error})') from error
        return {**parts['node'], 'checkpoint': self._options.checkpoint,
                'trained': parts['watch'].get('trained', False),
                'tasks_done': parts['sim']['tasks_done'],
                'tasks_given_up': parts['sim']['tasks_given_up'],
                'watch': parts['watch'], 'sim': parts['sim']}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the demo; return the exit code."""
    options = parse(list(sys.argv[1:] if argv is None else argv))
    try:
        if options.json:
            Path(options.json).touch()  # better to fail now than after the run
        domain_id = choose_domain()
        terminal = Terminal()
        terminal.line(
            f'Simulated SO-101 arm, node and an independent listener in ROS domain {domain_id}.\n'
            + ABOUT.format(oxygen=f'ROS_DOMAIN_ID={domain_id} '
                                  f'ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST {oxygen_command()}')
            + ('' if options.seconds else '\nCtrl-C ends it.'))
        with tempfile.TemporaryDirectory(prefix='oxygen_demo_') as folder:
            demo = Demo(options, Path(folder), domain_id, terminal)
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                signal.signal(number, demo.request_stop)
            figures = demo.run()
        if figures is None:
            raise_if_promised(options.json)
            terminal.line('ended before the arm was allowed to move')
            return EXIT_OK
        terminal.line(summary(figures))
        if options.json and (failure := write_figures(options.json, figures)):
            raise DemoError(failure)
    except DemoError as error:
        return complain(str(error))
    except OSError as error:
        return complain(f'{error.filename or "a system call"}: {error.strerror}; '
                        f'choose another path or free the resource')
    return EXIT_OK


def raise_if_promised(json_file: str) -> None:
    """Raise DemoError if figures were asked for and there are none."""
    if json_file:
        raise DemoError(f'ended before the arm was allowed to move, so {json_file} is empty')


def parse(argv: list[str]) -> argparse.Namespace:
    """Return the options."""
    parser = argparse.ArgumentParser(
        prog='oxygen demo', description='Watch a simulated arm act, speak and remember.',
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog='example:\n  oxygen demo --seconds 30 --json run.json')
    parser.add_argument('--seconds', type=duration, default=0.0, metavar='N',
                        help='end N seconds after the arm may move (default: at Ctrl-C)')
    parser.add_argument('--checkpoint', default=CHECKPOINT, metavar='NAME',
                        help='model of the table-top robot (default: %(default)s)')
    parser.add_argument('--json', metavar='FILE', default='', help='write the figures at the end')
    parser.add_argument('--normal-priority', action='store_true',
                        help='do not ask for real-time priority, to compare')
    parser.add_argument('--no-view', action='store_true', help='serve no page to watch it in')
    return parser.parse_args(argv)


def duration(text: str) -> float:
    """Read a time that is not negative."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < 1e6:
        raise argparse.ArgumentTypeError(f'{text!r} is no number of seconds')
    return value


def oxygen_command() -> str:
    """Return what to type in this folder for the `oxygen` that is running."""
    running = Path(sys.argv[0]).absolute()
    if running.name != 'oxygen':         # python -m oxygen_ros, as make does
        running = Path(sys.executable).parent / 'oxygen'
    if not running.is_file():
        return shlex.join([sys.executable, '-m', 'oxygen_ros'])
    on_path = shutil.which('oxygen')
    if on_path and running.samefile(on_path):
        return 'oxygen'
    here = Path.cwd()
    return shlex.quote(str(running.relative_to(here) if running.is_relative_to(here)
                           else running))


def choose_domain() -> int:
    """Return ROS_DOMAIN_ID if it is set, else a domain that nobody uses on this machine."""
    wanted = os.environ.get('ROS_DOMAIN_ID', '')
    if not wanted:
        return find_free_domain()
    if not wanted.isdecimal() or int(wanted) > MAX_DOMAIN_ID:
        raise DemoError(f'ROS_DOMAIN_ID is {wanted!r}; set it to a number from 0 to '
                        f'{MAX_DOMAIN_ID}, or unset it and the demo takes a free one')
    if is_in_use(int(wanted)):
        sys.stdout.write(f'warning: ROS domain {wanted} is in use on this machine. If that is '
                         f'another demo or a robot, they will hear each other:\n'
                         f'unset ROS_DOMAIN_ID, and the demo takes a free domain.\n')
    return int(wanted)


def summary(figures: dict) -> str:
    """Return the run in a few lines."""
    late, seconds = figures['lateness_ms'], figures['seconds']
    verdicts = ', '.join(f'{name} {count}' for name, count in figures['verdicts'].items())
    priority = 'real-time' if figures['realtime_priority'] else 'normal'
    measured_hz = figures['watch'].get('command_rate_hz', 0.0)
    causes = ', '.join(f'{name} {count}' for name, count in figures['causes'].items())
    lines = [
        f'tasks {figures["tasks_done"]} done, {figures["tasks_given_up"]} given up',
        f'{seconds:.1f} s: {figures["ticks"]} ticks, {figures["commands_published"]} commands '
        f'({verdicts}); heard by the listener at {measured_hz:.1f} per second',
        f'causes of fallback and stop, in ticks: {causes or "none"}',
        f'tick lateness p50 {late["p50"]:.3f}, p99 {late["p99"]:.3f}, max {late["max"]:.3f} ms '
        f'({priority} priority)',
        f'{figures["frames"]} frames, {figures["encodes"]} encodes, {figures["chunks"]} chunks '
        f'({figures["replans_per_s"]:.1f} replans/s)',
        f'{figures["tokens"]} tokens ({figures["tokens_per_s"]:.1f} per second), '
        f'{figures["texts_finished"]} texts, {figures["facts"]} facts, '
        f'{figures["engine_restarts"]} engine restarts',
    ]
    return '\n'.join(lines)


def complain(text: str) -> int:
    """Say on stderr why the demo ends; return its exit code."""
    sys.stderr.write(f'oxygen demo: {text}\n')
    return EXIT_FAILED


if __name__ == '__main__':
    sys.exit(main())
