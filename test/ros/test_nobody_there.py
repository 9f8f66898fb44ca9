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
Commands that look for a node where there is none; each says so and what to check.

Each looks for as long as discovery may take, so all of them look at the same time.
"""

import json
import os
import subprocess
import sys

import pytest
from ros_domain import draw_domain
from ros_helpers import die_with_parent
from ros_helpers import ROOT


@pytest.fixture(scope='module')
def folder(tmp_path_factory):
    """Return where the recorder writes."""
    return tmp_path_factory.mktemp('record')


@pytest.fixture(scope='module')
def ended(make_node, folder):
    """Run every command beside a node that none of them looks for; return name -> its end."""
    make_node('driver', namespace='/left')
    # It tells of other nodes as they come and go, so these are not among them.
    env_of_watch = {**os.environ, 'ROS_DOMAIN_ID': str(draw_domain())}
    processes = {}
    try:
        for name, *words in (
                ('ask', 'what?', '--node', 'nobody'), ('memory', 'list'), ('say', 'hello'),
                ('watch', '--seconds', '8', '--check'),
                ('record', '--node', 'nobody', '--seconds', '7', '--output',
                 str(folder / 'bag'), '--json', str(folder / 'figures.json'))):
            processes[name] = subprocess.Popen(
                [sys.executable, '-m', 'oxygen_ros', name, *words, '--ros-args', '-r',
                 '__ns:=/left'], cwd=ROOT, text=True, stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, preexec_fn=die_with_parent,
                env=env_of_watch if name == 'watch' else None)
        return {name: (*process.communicate(timeout=90), process.returncode)
                for name, process in processes.items()}
    finally:
        for process in processes.values():
            process.kill()


@pytest.mark.parametrize('command', ['ask', 'memory', 'say'])
def test_one_line_says_that_nobody_is_there(ended, command):
    out, err, code = ended[command]
    assert (code, out) == (1, '') and len(err.splitlines()) == 1


def test_ask_names_the_node_it_missed_and_those_that_are_there(ended):
    err = ended['ask'][1]
    assert 'no node nobody in namespace /left on ROS domain' in err and '/left/driver' in err


def test_memory_says_which_node_it_is_kept_by(ended):
    assert ended['memory'][1].startswith(
        'oxygen memory: no node oxygen in namespace /left on ROS domain')


def test_say_says_that_nobody_listens(ended):
    assert 'nobody listens to /left/instruction' in ended['say'][1]


def test_watch_says_so_at_once_and_checks_nothing(ended):
    out, err, code = ended['watch']
    first, second, *others = out.splitlines()
    assert first == 'waiting   the node does not speak yet'
    assert second.startswith('waiting   no node oxygen in namespace /left on ROS domain ')
    assert code == 1 and 'commands/s' not in out and len(others) == 1
    assert 'no text was heard' in err


def test_record_says_so_once_and_fails(ended, folder):
    out, err, code = ended['record']
    said = out + err
    assert said.count('nothing is recorded yet: no node nobody in namespace /left') == 1
    assert code == 1 and 'no node nobody was seen' in said
    assert json.loads((folder / 'figures.json').read_text())['messages'] == {}
