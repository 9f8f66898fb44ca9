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
The demo as a user runs it: real processes, a clean end, plain words when something is missing.

Whatever a demo started carries a mark in its environment, so a process left behind is found.
"""

from contextlib import ExitStack
import json
import os
from pathlib import Path
import re
import signal
import socket
import subprocess
import sys
import time
import uuid

from page_client import Stream
import pytest
from ros_domain import draw_domain

from oxygen_ros.tools import demo

START_S, END_S = 150, 60     # generous: other tests may run beside
NUM_TRIES, TRY_S = 4, 18     # at a task; one takes about four seconds
KEYS_OF_A_RUN = {
    'ticks', 'commands_published', 'verdicts', 'lateness_ms', 'realtime_priority', 'frames',
    'encodes', 'chunks', 'replans_per_s', 'tokens', 'tokens_per_s', 'texts_finished', 'facts',
    'engine_restarts', 'seconds', 'causes', 'tasks_done', 'tasks_given_up'}


class RunningDemo:
    """`oxygen demo` as a process, its output in a file that is read while it runs."""

    def __init__(self, folder: Path, *arguments, **environment):
        self.folder = folder
        self.mark = uuid.uuid4().hex
        self.domain_id = draw_domain()
        self._files_before = set(self._port_files())   # of a robot that was killed here earlier
        self._output, self._errors = folder / 'stdout', folder / 'stderr'
        with self._output.open('wb') as output, self._errors.open('wb') as errors:
            self.process = subprocess.Popen(
                [sys.executable, '-m', 'oxygen_ros.tools.demo', *arguments],
                stdout=output, stderr=errors,
                env={**os.environ, 'ROS_DOMAIN_ID': str(self.domain_id),
                     'OXYGEN_DEMO_TEST': self.mark, **environment})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        """Kill what is left."""
        for pid in self.marked_pids():
            os.kill(pid, signal.SIGKILL)
        self.process.wait()

    @property
    def output(self) -> str:
        """What it printed so far."""
        return self._output.read_text(encoding='utf-8', errors='replace')

    @property
    def errors(self) -> str:
        """What it complained about so far."""
        return self._errors.read_text(encoding='utf-8', errors='replace')

    def wait_for(self, pattern: str) -> re.Match:
        """Wait until a pattern is in the output."""
        deadline_s = time.monotonic() + START_S
        while not (found := re.search(pattern, self.output)):
            assert self.process.poll() is None, f'ended early: {self.errors}\n{self.output}'
            assert time.monotonic() < deadline_s, f'no {pattern!r} in:\n{self.output}'
            time.sleep(0.1)
        return found

    def shows_within(self, seconds: float, text: str) -> bool:
        """Wait for a text to be in the output; return whether it came."""
        deadline_s = time.monotonic() + seconds
        while text not in self.output and time.monotonic() < deadline_s:
            time.sleep(0.1)
        return text in self.output

    def oxygen(self, *arguments) -> subprocess.CompletedProcess:
        """Run a command in the domain of the demo."""
        return subprocess.run(
            [sys.executable, '-m', 'oxygen_ros', *arguments], capture_output=True, text=True,
            env={**os.environ, 'ROS_DOMAIN_ID': str(self.domain_id)}, timeout=START_S, check=False)

    def marked_pids(self) -> list[int]:
        """Return the live processes that this demo started, itself included."""
        pids = []
        for folder in Path('/proc').iterdir():
            try:
                if (self.mark.encode() in (folder / 'environ').read_bytes()
                        and 'State:\tZ' not in (folder / 'status').read_text()):
                    pids.append(int(folder.name))
            except (OSError, ValueError):
                continue
        return pids

    def wait_until_nothing_is_left(self, timeout_s: float) -> None:
        """Fail if a process of the demo lives on."""
        deadline_s = time.monotonic() + timeout_s
        while pids := self.marked_pids():
            assert time.monotonic() < deadline_s, f'left behind: {pids}'
            time.sleep(0.1)

    def shared_memory_files(self) -> list[str]:
        """Return the files in /dev/shm that this demo made for ports of its domain."""
        return sorted(set(self._port_files()) - self._files_before)

    def _port_files(self) -> list[str]:
        first_port = 7400 + 250 * self.domain_id
        return [path.name for path in Path('/dev/shm').glob('*fastdds_port*')
                if 0 <= int(re.search(r'port(\d+)', path.name)[1]) - first_port < 250]


@pytest.fixture
def run_demo(tmp_path):
    """Start a demo; whatever is left of it at the end is killed."""
    with ExitStack() as demos:
        yield lambda *arguments, **environment: demos.enter_context(
            RunningDemo(tmp_path, *arguments, **environment))


@pytest.fixture(scope='module')
def long_demo(tmp_path_factory):
    """Return a demo that runs until somebody ends it; its figures go to figures.json."""
    folder = tmp_path_factory.mktemp('long_demo')
    with RunningDemo(folder, '--json', str(folder / 'figures.json'),
                     '--normal-priority') as running:
        yield running


def test_timed_run_ends_by_itself_with_all_figures(run_demo, tmp_path):
    json_file = tmp_path / 'run.json'
    running = run_demo('--seconds', '8', '--json', str(json_file))
    assert running.process.wait(timeout=START_S + END_S) == 0, running.errors + running.output
    assert running.errors == ''
    running.wait_until_nothing_is_left(timeout_s=5)
    assert running.shared_memory_files() == []
    assert 'oxygen say "put the red cube in the tray"' in running.output
    assert 'fresh 0 carried 0 fallback 0' not in running.output, 'figures of nothing'
    assert re.search(r'kill -9 [1-9]\d*', running.output)

    figures = json.loads(json_file.read_text(encoding='utf-8'))
    assert figures.keys() >= KEYS_OF_A_RUN
    assert figures['trained'] is True
    assert figures['encodes'] == figures['frames'] > 0
    assert figures['chunks'] > 0
    assert (f'tasks {figures["tasks_done"]} done, {figures["tasks_given_up"]} given up'
            in running.output)
    assert figures['causes']['starting'] > 0
    assert f'in ticks: starting {figures["causes"]["starting"]}' in running.output
    assert figures['tokens'] > 0
    assert 7 < figures['seconds'] < 22
    # Heard by an independent subscriber, which came to the network at about the same time.
    heard = figures['watch']['commands_received']
    assert 0.5 * figures['commands_published'] < heard <= figures['commands_published'] + 1
    assert figures['sim']['commands_received'] > 0
    assert figures['sim']['pictures'] > 0


@pytest.mark.timeout(400)
def test_arm_does_a_task_and_then_what_it_is_told(long_demo):
    running = long_demo
    running.wait_for(r'done: (pick up|put) the')
    asked, done = 'put the blue cube in the tray', 'done: put the blue cube in the tray'
    for _ in range(NUM_TRIES):       # not every one succeeds; the tour goes on in between
        assert running.oxygen('say', asked).returncode == 0
        if running.shows_within(TRY_S, done):
            break
    assert done in running.output and f'sim       told: {asked}' in running.output


def test_engine_killed_during_the_demo_comes_back_and_ctrl_c_twice_ends_it(long_demo):
    running = long_demo
    first_pid = int(running.wait_for(r'kill -9 (\d+)')[1])
    port = int(running.wait_for(r'view +open http://127\.0\.0\.1:(\d+)/ in a browser')[1])
    with Stream(port) as stream:
        stream.until(lambda update: 'camera front' in update.get('values', {}))
    os.kill(first_pid, signal.SIGKILL)
    running.wait_for(rf'engine    ready, process (?!{first_pid}\b)[1-9]\d*')
    running.process.send_signal(signal.SIGINT)
    time.sleep(0.2)
    running.process.send_signal(signal.SIGINT)
    assert running.process.wait(timeout=END_S) == 0, running.errors + running.output
    assert 'Traceback' not in running.output + running.errors
    running.wait_until_nothing_is_left(timeout_s=5)

    figures = json.loads((running.folder / 'figures.json').read_text(encoding='utf-8'))
    assert figures['engine_restarts'] >= 1
    assert figures['realtime_priority'] is False
    assert figures['verdicts']['fallback'] > 0
    assert re.search(r'[1-9]\d* engine restarts', running.output), 'the summary says so'


def test_killed_demo_takes_its_children_along(run_demo):
    running = run_demo()
    running.wait_for(r'sim +table_top on a table')
    assert len(running.marked_pids()) >= 4
    running.process.kill()
    running.process.wait()
    running.wait_until_nothing_is_left(timeout_s=30)


def test_ctrl_c_while_starting_ends_cleanly(run_demo):
    running = run_demo()
    running.wait_for('Ctrl-C ends it')
    running.process.send_signal(signal.SIGINT)
    assert running.process.wait(timeout=END_S) == 0, running.errors + running.output
    assert 'Traceback' not in running.output + running.errors
    running.wait_until_nothing_is_left(timeout_s=5)


def test_simulator_that_cannot_render_ends_the_demo_with_the_remedy(run_demo):
    running = run_demo('--seconds', '5', MUJOCO_GL='egl',
                       __EGL_VENDOR_LIBRARY_FILENAMES='/does/not/exist')
    assert running.process.wait(timeout=END_S) == 1
    assert running.errors.startswith('oxygen demo: sim ended with code 1: ')
    assert 'sudo apt-get install libegl1' in running.errors
    assert len(running.errors.strip().splitlines()) == 1
    running.wait_until_nothing_is_left(timeout_s=5)


def test_node_that_is_not_active_in_time_is_told_with_load_and_last_word(tmp_path):
    code = ('import sys; from oxygen_ros.tools import demo; demo.START_LIMIT_S = 1.0; '
            'sys.exit(demo.main(["--no-view"]))')
    done = subprocess.run(
        [sys.executable, '-c', code], capture_output=True, text=True, check=False,
        env={**os.environ, 'ROS_DOMAIN_ID': str(draw_domain())}, timeout=START_S)
    assert done.returncode == 1
    assert re.search(r'not active after 1 s, load \d+\.\d on \d+ cores; (it said nothing|its last '
                     r'word: .+); run .*oxygen.* doctor to see', done.stderr), done.stderr


def test_words_go_on_with_their_label_below_the_line_of_another_process(capfdbinary):
    terminal = demo.Terminal()
    terminal.stream(b'narrate    the red')
    terminal.line('sim       told: wave')
    terminal.line('sim       done: wave')
    terminal.stream(b' cube')
    terminal.stream(b' is up\nsubtask    lift')
    terminal.line('node      engine ready')
    terminal.stream(b'\n   12 s | 50 commands/s\n')
    terminal.line('sim       told: stop')
    assert capfdbinary.readouterr().out.decode().splitlines() == [
        'narrate    the red', 'sim       told: wave', 'sim       done: wave',
        'narrate   … cube is up', 'subtask    lift', 'node      engine ready',
        '   12 s | 50 commands/s', 'sim       told: stop']


def test_the_command_can_be_typed_as_it_is_printed(monkeypatch, tmp_path):
    tool = tmp_path / '.venv' / 'bin' / 'oxygen'
    tool.parent.mkdir(parents=True)
    tool.write_text('#!/bin/sh')
    tool.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, 'executable', str(tool.parent / 'python'))
    monkeypatch.setattr(sys, 'argv', ['/somewhere/oxygen_ros/__main__.py'])
    assert demo.oxygen_command() == '.venv/bin/oxygen'
    monkeypatch.setattr(sys, 'argv', [str(tool)])
    monkeypatch.chdir('/')
    assert demo.oxygen_command() == str(tool)[1:]
    monkeypatch.setenv('PATH', str(tool.parent))
    assert demo.oxygen_command() == 'oxygen'
    tool.unlink()
    assert demo.oxygen_command().endswith('-m oxygen_ros')


def test_reader_that_goes_away_ends_the_demo(tmp_path):
    command = f'{sys.executable} -m oxygen_ros.tools.demo | head -n 1'
    # Without a domain it chooses a free one; with ours it would warn that it is in use, first.
    environment = {key: value for key, value in os.environ.items() if key != 'ROS_DOMAIN_ID'}
    result = subprocess.run(['bash', '-c', f'set -o pipefail; {command}'], text=True,
                            env=environment, capture_output=True, timeout=START_S, check=False)
    assert result.returncode == 0
    assert 'Simulated SO-101 arm' in result.stdout
    assert result.stderr == ''


@pytest.mark.parametrize(('arguments', 'environment', 'code', 'words'), [
    (['--seconds', 'soon'], {}, 2, "'soon' is no number of seconds"),
    (['--seconds', '-3'], {}, 2, "'-3' is no number of seconds"),
    ([], {'ROS_DOMAIN_ID': '300'}, 1, "ROS_DOMAIN_ID is '300'; set it to a number from 0 to 101"),
    (['--json', '/does/not/exist/run.json'], {}, 1, '/does/not/exist/run.json: No such file')])
def test_what_cannot_start_is_said_at_once(run_demo, arguments, environment, code, words):
    running = run_demo(*arguments, **environment)
    assert running.process.wait(timeout=END_S) == code
    assert words in running.errors
    assert 'Traceback' not in running.errors


def test_domain_in_use_is_noticed_and_a_free_one_taken_without_asking(monkeypatch, capsys):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other_robot:
        port = 0
        while not port:  # any domain whose first port is free now
            domain_id = draw_domain()
            try:
                other_robot.bind(('', 7400 + 250 * domain_id + 10))
                port = other_robot.getsockname()[1]
            except OSError:
                continue
        monkeypatch.setenv('ROS_DOMAIN_ID', str(domain_id))
        assert demo.choose_domain() == domain_id
        assert f'ROS domain {domain_id} is in use' in capsys.readouterr().out
        monkeypatch.delenv('ROS_DOMAIN_ID')
        assert all(demo.choose_domain() != domain_id for _ in range(50))
