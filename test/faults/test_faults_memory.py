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
Facts that were published survive every kill, of the engine and of the node, over real DDS.

OXYGEN_KILLS=50 makes a soak of it: that many kills, every second one of the engine alone.
"""

import os
import random
import signal
import sqlite3
import time

from fault_helpers import namespaced
from fault_helpers import slow_robot
import pytest
from ros_helpers import FakeRobot
from ros_helpers import Listener
from ros_helpers import NodeProcess
from ros_helpers import wait_until

from oxygen_ros.msg import EngineStatus
from oxygen_ros.msg import MemoryFact
from oxygen_ros.ros import qos

NUM_KILLS = int(os.environ.get('OXYGEN_KILLS', '2'))
NUM_FACTS = 1             # heard before each kill; a fact that stays as it is comes once
TASKS = """
memory:
  prompt: "\\nMemory: "
  priority: 5
  max_tokens: 8
  destination: memory
  choices: [[red cube, blue cube], [" | is | "], [on the left, on the right, in the tray]]
"""

pytestmark = pytest.mark.timeout(300 + 60 * NUM_KILLS)


@pytest.fixture
def heard(make_node):
    """Publish a robot; listen to facts and to the engine's process id."""
    robot = FakeRobot(make_node('fake_robot'))
    listener = Listener(make_node('listener'))
    listener.listen(MemoryFact, 'oxygen/memory', qos.facts())
    listener.listen(EngineStatus, 'oxygen/engine', qos.status())
    yield listener
    robot.stop()


@pytest.fixture
def start(tmp_path, ros_env):
    """Return a function that starts a node on the same memory file; the last one is ended."""
    (tmp_path / 'tasks.yaml').write_text(TASKS)
    nodes = []

    def start():
        nodes.append(NodeProcess(
            tmp_path / f'node{len(nodes)}', env=ros_env, ros_arguments=namespaced(ros_env),
            parameters={'robot': slow_robot(tmp_path), 'autostart': True, 'replan_hz': 3.0,
                        'tasks_file': str(tmp_path / 'tasks.yaml'),
                        'memory_file': str(tmp_path / 'facts.db')}))
        return nodes[-1]
    yield start
    for node in nodes:
        node.kill()


def check(path, published) -> None:
    """Assert that the file opens, is whole and holds every fact that was heard, by every word."""
    database = sqlite3.connect(path)
    assert database.execute('PRAGMA integrity_check').fetchone() == ('ok',)
    kept = {row[0]: row[1:] for row in database.execute(
        'SELECT fact_id, subject, relation, object, frame_id, request_id FROM facts')}
    database.close()
    for fact in published:
        assert kept[fact.fact_id] == (fact.subject, fact.relation, fact.object, fact.frame_id,
                                      fact.request_id)


def wait_for_facts(heard) -> None:
    """Hear a few more facts."""
    count = len(heard.messages['oxygen/memory'])
    wait_until(lambda: len(heard.messages['oxygen/memory']) >= count + NUM_FACTS, timeout_s=240)


def kill_engine(heard) -> None:
    """Kill the engine of the node and wait for the next one."""
    pid = wait_until(lambda: heard.last('oxygen/engine'), timeout_s=60).pid
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: heard.last('oxygen/engine').pid not in (0, pid), timeout_s=120)


def test_no_fact_that_was_heard_is_missing_after_any_kill(start, heard, tmp_path):
    rng, node = random.Random(7), start()
    for number in range(NUM_KILLS):
        wait_for_facts(heard)
        time.sleep(rng.uniform(0, 0.3))
        if number % 2:
            kill_engine(heard)
        else:
            node.kill()
            check(tmp_path / 'facts.db', heard.messages['oxygen/memory'])
            heard.messages['oxygen/engine'].clear()
            node = start()
    node.kill()
    check(tmp_path / 'facts.db', heard.messages['oxygen/memory'])
    ids = {fact.fact_id for fact in heard.messages['oxygen/memory']}
    assert len(ids) >= NUM_KILLS * NUM_FACTS
