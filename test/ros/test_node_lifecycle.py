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
Legal transitions work, illegal ones are refused (LCH-04), signals end the node (LCH-06).

The first tests share one node and run in file order.
"""

import os
import signal
import time

from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from lifecycle_msgs.srv import GetAvailableTransitions
import pytest
from ros_helpers import call
from ros_helpers import change_state
from ros_helpers import LIMIT_S
from ros_helpers import Listener
from ros_helpers import NodeProcess
from ros_helpers import state_of
from ros_helpers import wait_until
from std_srvs.srv import Trigger

from oxygen_ros.msg import EngineStatus
from oxygen_ros.ros import qos
from oxygen_ros.srv import Recall

LEGAL = {
    'unconfigured': {Transition.TRANSITION_CONFIGURE, Transition.TRANSITION_UNCONFIGURED_SHUTDOWN},
    'inactive': {Transition.TRANSITION_CLEANUP, Transition.TRANSITION_ACTIVATE,
                 Transition.TRANSITION_INACTIVE_SHUTDOWN},
    'active': {Transition.TRANSITION_DEACTIVATE, Transition.TRANSITION_ACTIVE_SHUTDOWN},
    'finalized': set(),
}


@pytest.fixture(scope='module')
def caller(make_node):
    """Return a node to call services with."""
    return make_node('lifecycle_caller')


@pytest.fixture(scope='module')
def tasks(tmp_path_factory):
    """Return where a file of tasks will be."""
    return tmp_path_factory.mktemp('tasks') / 'tasks.yaml'


@pytest.fixture(scope='module')
def mended(tmp_path_factory, tasks):
    """Start a node whose tasks are not there yet."""
    node = NodeProcess(tmp_path_factory.mktemp('mended'), ros_arguments=('-r', '__node:=mended'),
                       parameters={'tasks_file': str(tasks), 'max_text_tokens': 8})
    yield node
    node.kill()


@pytest.fixture(scope='module')
def node(tmp_path_factory, mended):
    """Start a node that waits to be configured, at the same time as the other."""
    node = NodeProcess(tmp_path_factory.mktemp('lifecycle'), parameters={'tasks_file': 'none'})
    yield node
    node.kill()


def assert_only_legal_ones_are_accepted(node, caller, state: str) -> None:
    """Send every illegal transition."""
    for transition_id in set(range(10)) - LEGAL[state]:
        assert not change_state(caller, transition_id), transition_id
    assert not change_state(caller, 0, label='no_such_transition')
    assert state_of(caller) == state
    assert node.process.poll() is None


def test_illegal_transitions_are_refused_before_it_is_configured(node, caller):
    assert state_of(caller) == 'unconfigured'
    assert_only_legal_ones_are_accepted(node, caller, 'unconfigured')


def test_services_answer_before_it_is_configured(node, caller):
    for name in ('stop', 'resume', 'reset'):
        answer = call(caller, Trigger, f'oxygen/{name}', Trigger.Request())
        assert not answer.success and 'not configured' in answer.message
    assert not call(caller, Recall, 'oxygen/recall', Recall.Request()).success


def test_configure_twice_at_once_loads_once_and_queries_are_answered_meanwhile(
        node, caller, make_node):
    status = Listener(make_node('status_listener'))
    status.listen(EngineStatus, 'oxygen/engine', qos.status())
    client = caller.create_client(ChangeState, 'oxygen/change_state')
    assert client.wait_for_service(LIMIT_S)
    request = ChangeState.Request(transition=Transition(id=Transition.TRANSITION_CONFIGURE))
    futures = [client.call_async(request) for _ in range(2)]
    wait_until(lambda: state_of(caller) == 'configuring')
    start_s = time.monotonic()
    assert state_of(caller) == 'configuring'
    assert call(caller, GetAvailableTransitions, 'oxygen/get_available_transitions',
                GetAvailableTransitions.Request()) is not None
    assert time.monotonic() - start_s < 1.0
    wait_until(lambda: status.last('oxygen/engine'))
    assert status.last('oxygen/engine').state in (EngineStatus.STARTING, EngineStatus.READY)
    wait_until(lambda: all(future.done() for future in futures), timeout_s=90)
    assert sorted(future.result().success for future in futures) == [False, True]
    assert state_of(caller) == 'inactive'


def test_illegal_transitions_are_refused_while_inactive(node, caller):
    assert_only_legal_ones_are_accepted(node, caller, 'inactive')


def test_activate_and_illegal_transitions_while_active(node, caller):
    assert change_state(caller, Transition.TRANSITION_ACTIVATE)
    assert_only_legal_ones_are_accepted(node, caller, 'active')


def test_deactivate_and_cleanup_end_the_engine(node, caller):
    assert change_state(caller, Transition.TRANSITION_DEACTIVATE)
    assert change_state(caller, Transition.TRANSITION_CLEANUP)
    assert state_of(caller) == 'unconfigured'
    assert not _children(node.process.pid)


def test_shutdown_finalises_and_sigterm_ends_the_process(node, caller):
    assert change_state(caller, Transition.TRANSITION_UNCONFIGURED_SHUTDOWN)
    assert_only_legal_ones_are_accepted(node, caller, 'finalized')
    node.signal(signal.SIGTERM)
    assert node.wait(timeout_s=5) == 0
    assert 'Traceback' not in node.log


def test_a_failed_configure_says_why_and_works_after_the_remedy(mended, tasks, caller):
    assert not change_state(caller, Transition.TRANSITION_CONFIGURE, name='mended')
    mended.wait_for_log(f'{tasks} does not exist; check the path')
    assert state_of(caller, name='mended') == 'unconfigured'
    for text, told in (
            ('narrate: {prompt: "Say: ", triger: every_frame}\n', "unknown key 'triger'"),
            ('narrate: {prompt: "Say: ", trigger: every_frame}\n',
             'narrate: max_tokens 16 is more than max_text_tokens 8')):
        tasks.write_text(text)
        assert not change_state(caller, Transition.TRANSITION_CONFIGURE, name='mended')
        mended.wait_for_log(told)
    tasks.write_text('narrate: {prompt: "Say: ", max_tokens: 8}\n')
    client = caller.create_client(ChangeState, 'mended/change_state')
    client.call_async(ChangeState.Request(
        transition=Transition(id=Transition.TRANSITION_CONFIGURE)))
    # A signal in the middle of the load ends it at once.
    mended.wait_for_log('engine starting, process')
    children = _children(mended.process.pid)
    start_s = time.monotonic()
    mended.signal(signal.SIGTERM)
    assert mended.wait(timeout_s=8) == 0
    assert time.monotonic() - start_s < 5.0
    assert children and not any(os.path.exists(f'/proc/{pid}') for pid in children)
    assert 'Traceback' not in mended.log


def _children(pid: int) -> list[int]:
    """Return the processes started by any thread of pid."""
    found = []
    for task in os.listdir(f'/proc/{pid}/task'):
        with open(f'/proc/{pid}/task/{task}/children') as file:
            found += [int(child) for child in file.read().split()]
    return found
