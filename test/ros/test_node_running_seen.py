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
`oxygen view` beside a real node: what its page gets over DDS, and that stop stops.

The node is that of test_node_running_acts.py.
"""

import json
import os
from pathlib import Path
import signal
import subprocess
import sys
import time

from page_client import post
from page_client import Stream
import pytest
from ros_helpers import call
from ros_helpers import ROOT
from ros_helpers import verdict
from ros_helpers import wait_until
from std_msgs.msg import String
from std_srvs.srv import Trigger

from oxygen_ros.ros import qos

START_S = 60.0


class ViewProcess:
    """`oxygen view` as a user starts it."""

    def __init__(self, folder: Path, *arguments: str):
        self.json_file, self._log = folder / 'view.json', folder / 'view.log'
        with self._log.open('w') as log:
            self.process = subprocess.Popen(
                [sys.executable, '-m', 'oxygen_ros', 'view', '--port', '0', '--json',
                 str(self.json_file), *arguments], stdout=log, stderr=subprocess.STDOUT, cwd=ROOT,
                env={**os.environ, 'PYTHONUNBUFFERED': '1'})

    @property
    def log(self) -> str:
        """What it said so far."""
        return self._log.read_text()

    def port(self) -> int:
        """Wait until it says where its page is."""
        wait_until(lambda: 'open http' in self.log or self.process.poll() is not None,
                   timeout_s=START_S)
        return int(self.log.split('http://127.0.0.1:')[1].split('/')[0])

    def end(self) -> int:
        """End it as Ctrl-C does; returns the exit code."""
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(15)


@pytest.fixture(scope='module')
def view(running_node, tmp_path_factory):
    """Start a view of the running node."""
    view = ViewProcess(tmp_path_factory.mktemp('view'))
    yield view
    if view.process.poll() is None:
        view.process.kill()
        view.process.wait()


@pytest.fixture(scope='module')
def port(view):
    """Return the port of its page."""
    return view.port()


def test_page_gets_everything_the_node_uses_and_says(port):
    wanted = {'camera front', 'camera wrist', 'engine', 'deadline', 'diagnostics', 'plan', 'rates'}
    logs = {'samples', 'cycles', 'pieces'}
    kinds, tasks = set(), set()
    with Stream(port) as stream:
        give_up_s = time.monotonic() + 40
        while wanted or logs or kinds < {'state', 'command'}:
            assert time.monotonic() < give_up_s, f'never came: {wanted | logs}, only {kinds}'
            update = stream.next()
            wanted -= set(update.get('values', {}))
            logs -= set(update)
            kinds |= {sample['kind'] for sample in update.get('samples', ())}
            tasks |= {piece['task'] for piece in update.get('pieces', ())}
    assert tasks


def test_instruction_that_was_given_before_is_shown(port, caller):
    latched = caller.create_publisher(String, 'instruction', qos.latched())
    latched.publish(String(data='pick up the green cube'))
    with Stream(port) as stream:
        stream.until(lambda update: update.get('values', {}).get('instruction', {}).get('value')
                     == 'pick up the green cube')
    caller.destroy_publisher(latched)


def test_timeline_of_a_cycle_is_in_order(port):
    with Stream(port) as stream:
        update = stream.until(lambda update: 'cycles' in update)
        for cycle in update['cycles']:
            begun = cycle['end'] - cycle['act'] - cycle['encode']
            assert cycle['observed'] <= begun + 0.005
            assert cycle['end'] <= update['now'] + 0.005


def test_robot_that_goes_blind_in_one_eye_shows_it(port, robot):
    with Stream(port) as stream:
        seen = stream.until(lambda update: 'camera wrist' in update.get('values', {}))
        robot.silent.add('wrist')
        try:
            start_s = stream.until(lambda update: update['now'] > seen['now'] + 0.5)['now']
            while (update := stream.next())['now'] < start_s + 1.5:
                assert 'camera wrist' not in update.get('values', {})
        finally:
            robot.silent.discard('wrist')
        stream.until(lambda update: 'camera wrist' in update.get('values', {}))


def test_stop_button_stops_the_robot(port, heard, caller):
    verdict(heard, 'fresh')
    status, answer = post(port, '/stop')
    assert status == 200, answer
    verdict(heard, 'stopped', 'stop_requested')
    assert call(caller, Trigger, 'oxygen/resume', Trigger.Request()).success
    verdict(heard, 'fresh')


def test_nobody_looking_costs_nobody_anything(port, caller):
    def listens() -> bool:
        topics = dict(caller.get_subscriber_names_and_types_by_node('oxygen_view', '/'))
        return '/front/image' in topics

    with Stream(port) as stream:
        stream.next()
        wait_until(listens)
    wait_until(lambda: not listens())


def test_view_ends_cleanly_and_says_what_it_took(view, port):
    assert view.end() == 0, view.log
    assert 'Traceback' not in view.log
    assert 0 < json.loads(view.json_file.read_text())['processor_share'] < 1


def test_stop_of_a_node_that_is_not_there_says_so(running_node, tmp_path):
    view = ViewProcess(tmp_path, '--node', 'nobody')
    status, answer = post(view.port(), '/stop')
    assert status == 503
    assert answer.startswith('/nobody is not there to be stopped; use the emergency stop')
    assert view.end() == 0
