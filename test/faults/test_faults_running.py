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
One active node, hurt in every way, watched on the wire by a process of its own.

The tests share the node, run in file order, and the last ones end it. Pinned: IMG-06, JS-01,
TIM-01 b and c, TIM-05, SCH-01, LCH-06.
"""

import json
import os
import random
import signal
import time

from fault_helpers import children
from fault_helpers import namespaced
from fault_helpers import set_parameters
from fault_helpers import slow_robot
from fault_helpers import STEP
from fault_helpers import Switch
from fault_helpers import UPPER
from fault_helpers import verdict
from fault_helpers import Wire
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
import numpy as np
import pytest
from ros_helpers import FakeRobot
from ros_helpers import JOINTS
from ros_helpers import LIMIT_S
from ros_helpers import Listener
from ros_helpers import NodeProcess
from ros_helpers import wait_until

from oxygen_ros.msg import ActionChunk
from oxygen_ros.msg import Deadline
from oxygen_ros.msg import EngineStatus
from oxygen_ros.ros import qos

pytestmark = pytest.mark.timeout(300)     # engines load slowly on a busy machine
NUM_CYCLES = 50
RECONFIGURE_EVERY = 50      # an engine more; two are replaced by tests before


@pytest.fixture(scope='module')
def robot(make_node):
    """Publish cameras and joints."""
    robot = FakeRobot(make_node('fake_robot'))
    yield robot
    robot.stop()


@pytest.fixture(scope='module')
def heard(make_node):
    """Listen to the status of the node."""
    listener = Listener(make_node('listener'))
    listener.listen(Deadline, 'oxygen/deadline', qos.status())
    listener.listen(EngineStatus, 'oxygen/engine', qos.status())
    listener.listen(ActionChunk, 'oxygen/action_chunk', qos.stream(10))
    return listener


@pytest.fixture(scope='module')
def caller(make_node):
    """Return a node to call services with."""
    return make_node('caller')


@pytest.fixture(scope='module')
def wire(tmp_path_factory, ros_env):
    """Record the commands."""
    wire = Wire(tmp_path_factory.mktemp('wire'), ros_env)
    yield wire
    wire.close()


@pytest.fixture(scope='module')
def switch(tmp_path_factory):
    """Return what makes the engine fail."""
    return Switch(tmp_path_factory.mktemp('switch') / 'fault')


@pytest.fixture(scope='module')
def node(tmp_path_factory, ros_env, switch, robot, heard, wire):
    """Start the node and wait until it acts."""
    folder = tmp_path_factory.mktemp('node')
    node = NodeProcess(folder, env={**ros_env, **switch.env},
                       ros_arguments=namespaced(ros_env), parameters={
        'robot': slow_robot(folder),
        'autostart': True, 'replan_hz': 5.0, 'tasks_file': 'none', 'transition': 'rtc',
        'tick_trace_file': '/dev/full'})
    try:
        node.wait_for_log('active: 50 commands per second', timeout_s=90)
        verdict(heard, 'fresh')
        wait_until(lambda: len(wire.commands()))
        yield node
    finally:
        node.kill()


@pytest.fixture(scope='module')
def used_at_first(node):
    """Return what the node process holds before anything has happened to it."""
    return resources(node)


@pytest.fixture
def checked(node, wire, heard, switch, used_at_first):
    """Check the wire over the whole test, and that the node acts again after it."""
    verdict(heard, 'fresh')
    start_ns = time.monotonic_ns()
    yield start_ns
    switch.wants('')
    verdict(heard, 'fresh', timeout_s=100)
    wire.check(start_ns)
    assert node.process.poll() is None


def test_a_full_disk_ends_the_trace_and_nothing_else(checked, node):
    node.wait_for_log('the tick trace ends here: No space left on device; control goes on')
    time.sleep(1.0)
    assert node.log.count('the tick trace ends here') == 1


@pytest.mark.parametrize('fault, cause', [
    ('nan', 'not_finite'), ('inf', 'not_finite'), ('short', 'wrong_size'),
    ('sleep 3', 'engine_hung')])
def test_an_engine_that_sends_nonsense_or_nothing_leads_to_the_fallback(
        checked, switch, heard, wire, fault, cause):
    switch.wants(fault)
    verdict(heard, 'fallback', cause)
    held = wire.commands()[-1, 1:]
    time.sleep(0.3)
    # It may still be on its way to where the arm was measured, and nowhere else.
    assert (np.abs(wire.commands()[-1, 1:] - held) <= 15 * STEP).all()


def test_actions_beyond_every_limit_are_clamped_or_rejected_as_told(
        checked, switch, heard, wire, caller):
    before = heard.last('oxygen/deadline').clamped
    switch.wants('leap')
    wait_until(lambda: heard.last('oxygen/deadline').clamped > before + 30)
    wait_until(lambda: (np.abs(wire.commands()[-1, 1:] - UPPER) < 1e-9).all())
    assert set_parameters(caller, limit_mode='reject').successful
    verdict(heard, 'fallback', 'limit')
    switch.wants('')
    verdict(heard, 'fresh')
    assert set_parameters(caller, limit_mode='clamp').successful


def test_a_frozen_engine_is_held_against_and_goes_on_when_it_wakes(checked, heard):
    pid = heard.last('oxygen/engine').pid
    os.kill(pid, signal.SIGSTOP)
    verdict(heard, 'fallback', 'engine_hung')
    os.kill(pid, signal.SIGCONT)
    verdict(heard, 'fresh')
    assert heard.next('oxygen/engine').pid == pid


@pytest.mark.parametrize('how', ['killed', 'raises'])
def test_an_engine_that_ends_is_replaced_while_the_robot_holds(
        checked, node, switch, heard, how):
    pid = heard.last('oxygen/engine').pid
    if how == 'killed':
        os.kill(pid, signal.SIGKILL)
    else:
        switch.wants('error')
    verdict(heard, 'fallback', 'engine_dead')
    switch.wants('')
    verdict(heard, 'fresh', timeout_s=100)
    assert heard.next('oxygen/engine').pid != pid
    if how == 'raises':
        assert 'fault on demand' in node.log


def test_joints_in_a_new_order_every_message_make_no_difference(checked, robot, heard):
    def num_stale():
        status = heard.next('oxygen/deadline')
        return dict(zip(status.causes, status.cause_counts)).get('joints_stale', 0)

    def shuffle(message):
        order = random.sample(range(len(JOINTS)), len(JOINTS))
        message.name = [message.name[index] for index in order]
        message.position = [message.position[index] for index in order]

    def is_told_apart() -> bool:
        before = num_stale()
        robot.spoil_joints = shuffle
        time.sleep(1.0)
        robot.spoil_joints = lambda message: None
        return num_stale() == before
    # On a busy machine the robot of the test may be late itself, but not each time.
    assert any(is_told_apart() for _ in range(3))


def test_joint_states_that_cannot_be_used_are_stale_and_the_reason_is_told(
        checked, node, robot, heard):
    def shorten(message):
        message.position = message.position[:-1]
    robot.spoil_joints = shorten
    verdict(heard, 'fallback', 'joints_stale')
    node.wait_for_log('joint_states: message not used: ')
    def spoil(message):
        message.position[0] = float('nan')
    robot.spoil_joints = spoil
    time.sleep(1.2)
    verdict(heard, 'fallback', 'joints_stale')
    robot.spoil_joints = lambda message: None


def test_a_frozen_camera_is_named_and_forgiven(checked, robot, heard):
    robot.freeze('wrist')
    verdict(heard, 'fallback', 'camera_frozen')
    robot.frozen.clear()


def test_a_camera_driver_that_restarts_is_missed_and_heard_again(
        checked, robot, heard):
    robot.silent.add('front')
    time.sleep(0.1)
    robot.restart('front')
    verdict(heard, 'fallback', 'camera_stale')
    robot.silent.clear()
    verdict(heard, 'fresh')


def test_parameters_changed_in_motion_act_at_once_or_are_refused_with_the_reason(
        node, wire, heard, caller, robot):
    verdict(heard, 'fresh')
    start_ns = time.monotonic_ns()
    for values in ({'transition': 'blend'}, {'transition': 'switch', 'interpolation': 'hold'},
                   {'fallback': 'ramp_down', 'interpolation': 'linear'},
                   {'fallback': 'zero_velocity', 'instruction': 'open the drawer'},
                   {'transition': 'rtc', 'replan_hz': 1.0}, {'fallback': 'none'}):
        answer = set_parameters(caller, **values)
        assert answer.successful, answer.reason
        time.sleep(0.25)
    count = len(heard.messages['oxygen/action_chunk'])
    time.sleep(2.0)
    assert 1 <= len(heard.messages['oxygen/action_chunk']) - count <= 5      # 5 Hz gave 10
    assert set_parameters(caller, replan_hz=5.0, fallback='hold').successful
    verdict(heard, 'fresh')
    wire.check(start_ns, is_silent_allowed=True)         # one look a second: chunks run out
    start_ns = time.monotonic_ns()
    assert set_parameters(caller, fallback='none').successful
    robot.silent.add('joint_states')                     # the fallback is now silence
    verdict(heard, 'fallback', 'joints_stale')
    count = len(wire.commands())
    time.sleep(0.5)
    assert len(wire.commands()) == count
    assert set_parameters(caller, fallback='hold').successful
    robot.silent.clear()
    verdict(heard, 'fresh')
    wire.check(start_ns, is_silent_allowed=True)
    for name, value, reason in (
            ('num_threads', 2, 'read at configure and the node is configured; deactivate'),
            ('fallback', 'zero', 'choose one of: hold'),
            ('tasks_file', '/no/such.yaml', 'does not exist')):
        refused = set_parameters(caller, **{name: value})
        assert not refused.successful and reason in refused.reason


def test_faults_and_fifty_lifecycle_cycles_under_sensor_load_leak_nothing(
        node, wire, heard, caller, used_at_first):
    client = caller.create_client(ChangeState, 'oxygen/change_state')
    assert client.wait_for_service(LIMIT_S)

    def change(transition_id):
        future = client.call_async(
            ChangeState.Request(transition=Transition(id=transition_id)))
        wait_until(future.done)
        assert future.result().success, transition_id

    for cycle in range(NUM_CYCLES):
        change(Transition.TRANSITION_DEACTIVATE)
        count = len(wire.commands())
        if cycle % RECONFIGURE_EVERY == RECONFIGURE_EVERY - 1:
            change(Transition.TRANSITION_CLEANUP)
            assert not children(node.process.pid)
            change(Transition.TRANSITION_CONFIGURE)
        if cycle % 10 == 0:
            time.sleep(0.1)
            assert len(wire.commands()) <= count + 1     # one may be on its way to the file
        change(Transition.TRANSITION_ACTIVATE)
    verdict(heard, 'fresh')
    start_ns = time.monotonic_ns()
    time.sleep(1.0)
    now = resources(node)
    assert now['descriptors'] <= used_at_first['descriptors'] + 5
    assert now['threads'] <= used_at_first['threads'] + 3
    assert now['rss_mb'] <= used_at_first['rss_mb'] + 40
    wire.check(start_ns)


def test_sigterm_in_the_middle_of_an_inference_ends_with_the_hold_as_last_message(
        node, wire, heard, robot, switch):
    engine_pid = heard.next('oxygen/engine').pid
    switch.wants('sleep 30')
    time.sleep(0.5)
    start_ns = time.monotonic_ns()
    node.signal(signal.SIGTERM)
    assert node.wait(timeout_s=10) == 0
    assert (time.monotonic_ns() - start_ns) / 1e9 < 6.0
    wait_until(lambda: not os.path.exists(f'/proc/{engine_pid}'), timeout_s=2)
    time.sleep(0.3)
    commands = wire.commands()
    at_rest = np.array([robot.positions[name] for name in JOINTS])
    before, last = commands[-2:, 1:]
    # One message can only go one step, towards where the arm was measured.
    assert (np.abs(last - at_rest) <= np.abs(before - at_rest) + 1e-9).all()
    assert (np.abs(last - before) <= STEP * (1 + 1e-9)).all()
    assert 'Traceback (most recent call last)' not in node.log.split('shutting down')[-1]


def test_every_command_counted_was_on_the_wire_and_no_other(node, wire):
    figures = json.loads(node.json_file.read_text())
    num_finals = 1      # since the last configure: of the shutdown
    published = figures['commands_published'] + num_finals
    times_s = wire.commands()[:, 0] / 1e9
    gaps = np.flatnonzero(np.diff(times_s) > 1.5)       # the last configure took longer than that
    on_the_wire = len(times_s) - 1 - gaps[-1]
    assert on_the_wire == pytest.approx(published, abs=3)


def resources(node) -> dict[str, float]:
    """Return what the node process holds."""
    folder = f'/proc/{node.process.pid}'
    with open(f'{folder}/statm', encoding='utf-8') as file:
        rss_mb = int(file.read().split()[1]) * os.sysconf('SC_PAGE_SIZE') / 1e6
    return {'descriptors': len(os.listdir(f'{folder}/fd')),
            'threads': len(os.listdir(f'{folder}/task')), 'rss_mb': rss_mb}
