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
Ctrl-C, also twice, and SIGTERM before the robot ever moved (LCH-06).

Exit code 0 within 5 s, no orphan, no traceback, and not one command on the wire. The active
phase is in test_faults_running.py; all nodes start at once, most of their time is imports.
"""

import os
import signal
import time

from fault_helpers import children
from fault_helpers import namespaced
from fault_helpers import Switch
from fault_helpers import Wire
from lifecycle_msgs.msg import Transition
import pytest
from ros_helpers import change_state
from ros_helpers import NodeProcess
from ros_helpers import wait_until

# name -> (text in the log that shows the phase, signals)
PHASES = {
    'starting': ('', (signal.SIGINT, signal.SIGINT)),
    'loading': ('engine starting, process', (signal.SIGINT, signal.SIGINT)),
    'warm-up, Ctrl-C twice': ('warming up slowly', (signal.SIGINT, signal.SIGINT)),
    'warm-up, SIGTERM': ('warming up slowly', (signal.SIGTERM,)),
    'inactive': ('', (signal.SIGINT, signal.SIGINT)),
}


@pytest.fixture(scope='module')
def ended(tmp_path_factory, ros_env, make_node):
    """Start a node per phase and send its signals there; returns name -> what was seen."""
    folder = tmp_path_factory.mktemp('signals')
    wire = Wire(folder, ros_env)
    seen, nodes = {}, {}
    try:
        for number, name in enumerate(PHASES):
            switch = Switch(folder / f'fault{number}')
            switch.wants('' if name == 'inactive' else 'warm_up 60')
            nodes[name] = NodeProcess(folder / str(number), env={**ros_env, **switch.env},
                                      parameters={'autostart': name != 'inactive',
                                                  'tasks_file': 'none'},
                                      ros_arguments=namespaced(
                                          ros_env, '-r', f'__node:=node{number}'))
        for name, (text, signals) in PHASES.items():
            node = nodes[name]
            if text:
                node.wait_for_log(text, timeout_s=60)
            elif name == 'inactive':
                assert change_state(make_node('operator'), Transition.TRANSITION_CONFIGURE,
                                    name=f'node{list(PHASES).index(name)}', timeout_s=60)
            else:
                time.sleep(1.5)        # somewhere in its imports, or just after them
            engines = children(node.process.pid)
            start_s = time.monotonic()
            for number in signals:
                node.signal(number)
                time.sleep(0.05)
            code = node.wait(timeout_s=15)
            seen[name] = (code, time.monotonic() - start_s, engines, node.log)
        time.sleep(0.3)
        yield seen, wire.commands()
    finally:
        for node in nodes.values():
            node.kill()
        wire.close()


@pytest.mark.parametrize('phase', PHASES)
def test_a_signal_before_it_moves_ends_the_node_cleanly(ended, phase):
    code, seconds, engines, log = ended[0][phase]
    # Python itself answers a signal in its first tenths of a second.
    assert code in ((0,) if phase != 'starting' else (0, 130, -signal.SIGINT))
    assert seconds < 5.0
    if phase != 'starting':
        assert 'Traceback' not in log
        assert engines
    wait_until(lambda: not any(os.path.exists(f'/proc/{pid}') for pid in engines), timeout_s=2)


def test_nothing_was_sent(ended):
    assert not len(ended[1])
