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

"""An instruction from the command line reaches whoever listens, and a silent domain is told."""

import json
import os
import subprocess
import sys

from ros_helpers import ROOT
from ros_helpers import wait_until
from std_msgs.msg import String

from oxygen_ros.ros import qos


def say(*arguments):
    return subprocess.run([sys.executable, '-m', 'oxygen_ros', 'say', *arguments], cwd=ROOT,
                          capture_output=True, text=True, timeout=90, env=dict(os.environ))


def test_the_words_arrive(make_node, tmp_path):
    heard = []
    make_node('obedient', namespace='/quiet').create_subscription(
        String, 'instruction', lambda message: heard.append(message.data), qos.status())
    said = say('put the red', 'cube in the tray', '--json', str(tmp_path / 'said.json'),
               '--ros-args', '-r', '__ns:=/quiet')
    assert (said.returncode, said.stderr) == (0, '')
    wait_until(lambda: heard)
    assert heard == ['put the red cube in the tray']
    assert json.loads((tmp_path / 'said.json').read_text()) == {
        'instruction': 'put the red cube in the tray', 'listeners': 1}
    assert 'said to 1 listeners: put the red cube in the tray' in said.stdout
