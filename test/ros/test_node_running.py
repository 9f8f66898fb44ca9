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
One active node with three language tasks, watched by an independent subscriber.

The tests share one node process and run in file order: later ones hurt it more, and the last
ones end it. Pinned: malformed frames (IMG-05), frozen sensors (IMG-06), trajectory stamps a
controller refuses (JS-05), Ctrl-C that comes twice (LCH-06).
"""

from array import array
import json
import os
import signal
import subprocess
import sys
import time

from action_msgs.msg import GoalStatus
from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticArray
from lifecycle_msgs.msg import Transition
import numpy as np
import pytest
from rclpy.action import ActionClient
from rclpy.qos import QoSProfile
from ros_helpers import call
from ros_helpers import change_state
from ros_helpers import FakeRobot
from ros_helpers import JOINTS
from ros_helpers import Listener
from ros_helpers import NodeProcess
from ros_helpers import ROOT
from ros_helpers import state_of
from ros_helpers import wait_until
from sensor_msgs.msg import Image
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory

from oxygen_ros.action import Ask
from oxygen_ros.msg import ActionChunk
from oxygen_ros.msg import Deadline
from oxygen_ros.msg import EngineStatus
from oxygen_ros.msg import MemoryFact
from oxygen_ros.msg import TokenDelta
from oxygen_ros.ros import qos
from oxygen_ros.srv import Recall


@pytest.fixture(scope='module')
def robot(make_node):
    """Publish cameras and joints."""
    robot = FakeRobot(make_node('fake_robot'))
    yield robot
    robot.stop()


@pytest.fixture(scope='module')
def heard(make_node):
    """Listen to everything the node says."""
    listener = Listener(make_node('listener'))
    for kind, topic, profile in (
            (JointTrajectory, 'command', QoSProfile(depth=100)),
            (TokenDelta, 'oxygen/language', qos.stream()),
            (ActionChunk, 'oxygen/action_chunk', qos.stream(10)),
            (MemoryFact, 'oxygen/memory', qos.facts()),
            (Deadline, 'oxygen/deadline', qos.status()),
            (EngineStatus, 'oxygen/engine', qos.status()),
            (DiagnosticArray, '/diagnostics', qos.stream(10))):
        listener.listen(kind, topic, profile)
    return listener


@pytest.fixture(scope='module')
def caller(make_node):
    """Return a node to call services with."""
    return make_node('caller')


@pytest.fixture(scope='module')
def node(tmp_path_factory, robot, heard):
    """Start the node and wait until it acts."""
    node = NodeProcess(tmp_path_factory.mktemp('node'), parameters={
        'autostart': True, 'replan_hz': 5.0})
    node.wait_for_log('active: 50 commands per second', timeout_s=90)
    wait_until(lambda: heard.last('oxygen/deadline')
               and heard.last('oxygen/deadline').verdict == 'fresh', timeout_s=20)
    yield node
    node.kill()


def verdict(heard, wanted: str, cause: str = '', *, timeout_s: float = 10.0) -> Deadline:
    """Wait until the newest tick was of this kind."""
    def newest():
        message = heard.last('oxygen/deadline')
        return message if (message.verdict, message.cause) == (wanted, cause) else None
    return wait_until(newest, timeout_s=timeout_s)


def ask(caller, heard, question: str, **fields):
    """Start a question; returns (goal handle, feedback messages)."""
    client = ActionClient(caller, Ask, 'oxygen/ask')
    assert client.wait_for_server(10.0)
    feedback = []
    future = client.send_goal_async(Ask.Goal(question=question, **fields),
                                    feedback_callback=lambda message: feedback.append(
                                        message.feedback))
    wait_until(future.done)
    return future.result(), feedback


def result_of(goal_handle):
    """Wait for the end of a question."""
    future = goal_handle.get_result_async()
    wait_until(future.done, timeout_s=20)
    return future.result()


def test_commands_come_at_the_control_rate_on_the_wire(node, heard):
    start = len(heard.arrivals_s['command'])
    time.sleep(4.0)
    arrivals = np.array(heard.arrivals_s['command'][start:])
    rate = (len(arrivals) - 1) / (arrivals[-1] - arrivals[0])
    assert rate == pytest.approx(50.0, rel=0.04)


def test_a_trajectory_is_one_that_a_controller_takes(node, heard):
    message = heard.next('command')
    assert list(message.joint_names) == list(JOINTS)
    assert (message.header.stamp.sec, message.header.stamp.nanosec) == (0, 0)
    assert len(message.points) == 1
    point = message.points[0]
    assert len(point.positions) == len(JOINTS)
    assert np.isfinite(point.positions).all()
    assert point.time_from_start.sec == 0 and point.time_from_start.nanosec == 20_000_000


def test_chunks_say_what_they_were_computed_from(node, heard):
    first, second = heard.next('oxygen/action_chunk'), heard.next('oxygen/action_chunk')
    assert second.frame_id > first.frame_id > 0
    assert len(first.positions) == first.horizon * len(JOINTS)
    assert list(first.joint_names) == list(JOINTS)
    assert first.dt == pytest.approx(0.05)
    age_s = _seconds(first.header.stamp) - _seconds(first.observation_stamp)
    assert 0 < age_s < 2.0
    assert first.encode_time > 0 and first.denoise_time > 0


def test_every_frame_is_encoded_once_while_three_tasks_write(node, heard):
    wait_until(lambda: {message.task for message in heard.messages['oxygen/language']}
               >= {'narrate', 'subtask', 'memory'}, timeout_s=20)
    status = wait_until(lambda: heard.last('oxygen/engine')
                        if heard.last('oxygen/engine').frames > 10 else None)
    assert status.state == EngineStatus.READY
    assert status.encodes == status.frames
    assert status.kv_bytes_copied == 0
    assert status.tokens > 0
    assert status.pid > 0 and not status.trained


def test_pieces_of_a_text_have_no_gap_and_exactly_one_end(node, heard):
    def finished():
        by_request = {}
        for message in heard.messages['oxygen/language']:
            by_request.setdefault(message.request_id, []).append(message)
        whole = {key: pieces for key, pieces in by_request.items()
                 if pieces[0].index == 0 and pieces[-1].final}
        return whole if len(whole) >= 4 else None
    for request_id, pieces in wait_until(finished, timeout_s=20).items():
        assert [piece.index for piece in pieces] == list(range(len(pieces))), request_id
        assert [piece.final for piece in pieces].count(True) == 1
        assert len({piece.frame_id for piece in pieces}) == 1
        last = pieces[-1]
        assert last.reason in ('eos', 'length', 'stop')
        assert last.duration >= last.time_to_first_token > 0


def test_a_question_is_answered_token_by_token(node, caller, heard):
    goal, feedback = ask(caller, heard, 'what do you see?', max_tokens=6)
    assert goal.accepted
    response = result_of(goal)
    assert response.status == GoalStatus.STATUS_SUCCEEDED
    result = response.result
    assert result.reason in ('eos', 'length')
    assert ''.join(message.text for message in feedback) == result.text
    assert [message.index for message in feedback] == list(range(len(feedback)))
    assert result.frame_id > 0
    assert result.time_to_first_token > 0
    streamed = [message for message in heard.messages['oxygen/language'] if message.task == 'ask']
    assert ''.join(message.text for message in streamed) == result.text


def test_a_question_can_be_cancelled(node, caller, heard):
    goal, feedback = ask(caller, heard, 'tell me everything', max_tokens=64)
    cancelled = goal.cancel_goal_async()
    wait_until(cancelled.done)
    assert len(cancelled.result().goals_canceling) == 1
    response = result_of(goal)
    assert response.status == GoalStatus.STATUS_CANCELED
    assert response.result.reason == 'cancelled'
    assert ''.join(message.text for message in feedback) == response.result.text


def test_an_empty_question_is_rejected(node, caller, heard):
    goal, _ = ask(caller, heard, '  ')
    assert not goal.accepted


def test_facts_are_published_kept_and_recalled(node, caller, heard):
    fact = wait_until(lambda: heard.last('oxygen/memory'), timeout_s=20)
    assert fact.subject and fact.relation and fact.object and fact.fact_id > 0
    answer = call(caller, Recall, 'oxygen/recall',
                  Recall.Request(subject=fact.subject.upper(), history=True))
    assert answer.success
    assert fact.fact_id in [found.fact_id for found in answer.facts]
    assert {found.subject for found in answer.facts} == {fact.subject}
    future = call(caller, Recall, 'oxygen/recall',
                  Recall.Request(after=Time(sec=2 ** 31 - 1)))
    assert future.success and not future.facts


def test_a_late_subscriber_gets_the_newest_facts(node, heard, make_node):
    late = Listener(make_node('late'))
    late.listen(MemoryFact, 'oxygen/memory', qos.facts())
    known = {message.fact_id for message in heard.messages['oxygen/memory']}
    wait_until(lambda: known & {message.fact_id for message in late.messages['oxygen/memory']})


def test_stop_is_latched_until_resume(node, caller, heard):
    assert call(caller, Trigger, 'oxygen/stop', Trigger.Request()).success
    verdict(heard, 'stopped', 'stop_requested')
    held = heard.next('command').points[0].positions
    time.sleep(0.5)
    np.testing.assert_allclose(heard.next('command').points[0].positions, held)
    assert call(caller, Trigger, 'oxygen/resume', Trigger.Request()).success
    verdict(heard, 'fresh')


def test_reset_goes_on_with_a_new_frame(node, caller, heard):
    before = heard.next('oxygen/action_chunk').frame_id
    assert call(caller, Trigger, 'oxygen/reset', Trigger.Request()).success
    assert heard.next('oxygen/action_chunk').frame_id > before
    verdict(heard, 'fresh')


def test_a_new_instruction_is_taken_while_it_runs(node, robot, heard):
    robot.instruct('put the block into the tray')
    chunk = heard.next('oxygen/action_chunk')
    assert heard.next('oxygen/action_chunk').frame_id > chunk.frame_id
    verdict(heard, 'fresh')


def test_diagnostics_name_every_part(node, heard):
    names = {status.name.split(': ')[1] for status in heard.next('/diagnostics').status}
    assert names == {'node', 'control', 'engine', 'inputs'}


def test_an_independent_watcher_sees_the_same_and_a_frozen_one_slows_nobody(
        node, heard, tmp_path):
    watcher = subprocess.Popen(
        [sys.executable, '-m', 'oxygen_ros.ros.monitor', '--json', str(tmp_path / 'watch.json')],
        cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        time.sleep(4.0)
        os.kill(watcher.pid, signal.SIGSTOP)
        late_before_s = heard.next('oxygen/deadline').missed
        start = len(heard.arrivals_s['command'])
        time.sleep(2.0)
        assert len(heard.arrivals_s['command']) - start == pytest.approx(100, abs=8)
        assert heard.last('oxygen/deadline').missed - late_before_s <= 2
        os.kill(watcher.pid, signal.SIGCONT)
        time.sleep(1.0)
        watcher.send_signal(signal.SIGINT)
        output, _ = watcher.communicate(timeout=10)
    finally:
        watcher.kill()
    assert watcher.returncode == 0
    assert 'narrate' in output and 'fact ' in output
    assert 'commands/s' in output and 'late p50' in output and '1.00 encodes/frame' in output
    figures = json.loads((tmp_path / 'watch.json').read_text())
    assert figures['command_gap_ms']['p50'] == pytest.approx(20.0, abs=2.0)
    assert figures['encodes_per_frame'] == 1.0
    assert figures['tokens_received'] > 0


def test_a_stalled_process_sends_no_burst_afterwards(node, heard):
    before = heard.next('oxygen/deadline')
    os.kill(node.process.pid, signal.SIGSTOP)
    time.sleep(1.5)
    start = len(heard.arrivals_s['command'])
    os.kill(node.process.pid, signal.SIGCONT)
    time.sleep(1.0)
    gaps_s = np.diff(heard.arrivals_s['command'][start:])
    assert len(gaps_s) < 60
    assert np.sort(gaps_s)[1] > 0.002
    after = heard.next('oxygen/deadline')
    assert after.missed - before.missed >= 60
    verdict(heard, 'fresh', timeout_s=20)


def test_malformed_frames_are_counted_and_do_no_harm(node, robot, heard):
    good = array('B', bytes(64 * 64 * 3))
    pid, fallbacks = node.process.pid, heard.next('oxygen/deadline').fallback
    broken = [
        Image(encoding='rgb8', width=64, height=64, step=0, data=good),
        Image(encoding='rgb8', width=64, height=64, step=191, data=good),
        Image(encoding='rgb8', width=64, height=64, step=192, data=good[:-1]),
        Image(encoding='rgb8', width=0, height=0, step=0),
        Image(encoding='rgb8', width=500, height=1, step=1500, data=array('B', bytes(1500))),
        Image(encoding='rgb8', width=64, height=2 ** 31, step=192, data=good),
        Image(encoding='nonsense', width=64, height=64, step=192, data=good)]
    for message in broken:
        robot.cameras['front'].publish(message)
        time.sleep(0.06)
    inputs = _diagnostics(heard, 'inputs')
    refused = {value.key: value.value for value in inputs.values}['front']
    assert refused.endswith(' refused') and int(refused.split()[2]) >= 4
    assert 'message not used' in node.log
    assert node.log.count('message not used') <= 3       # rate-limited
    assert node.process.pid == pid and node.process.poll() is None
    assert heard.next('oxygen/deadline').fallback == fallbacks


def test_joints_in_another_order_are_the_same_joints(node, robot, heard):
    robot.joint_order.reverse()
    time.sleep(0.3)
    chunk = heard.next('oxygen/action_chunk')
    first = np.array(chunk.positions).reshape(chunk.horizon, -1)[0]
    state = [robot.positions[name] for name in JOINTS]
    # Actions are deltas of at most a few hundredths: a swapped joint would be far off.
    np.testing.assert_allclose(first, state, atol=0.25)
    robot.joint_order.reverse()


@pytest.mark.parametrize('source, cause', [
    ('wrist', 'camera_stale'), ('joint_states', 'joints_stale')])
def test_a_silent_source_leads_to_the_fallback_with_its_name(node, robot, heard, source, cause):
    robot.silent.add(source)
    verdict(heard, 'fallback', cause)
    held = heard.next('command').points[0].positions
    np.testing.assert_allclose(heard.next('command').points[0].positions, held)
    control = _diagnostics(heard, 'control')
    assert cause in control.message
    assert source.split('_')[0] in control.message
    robot.silent.clear()
    verdict(heard, 'fresh', timeout_s=4)


def test_a_camera_that_repeats_one_picture_is_frozen(node, robot, heard):
    robot.freeze('front')
    verdict(heard, 'fallback', 'camera_frozen')
    robot.frozen.clear()
    verdict(heard, 'fresh', timeout_s=4)


def test_killing_the_engine_holds_the_robot_and_brings_the_engine_back(node, caller, heard):
    goal, _ = ask(caller, heard, 'will you survive?', max_tokens=64)
    pid = heard.last('oxygen/engine').pid
    start = len(heard.arrivals_s['command'])
    os.kill(pid, signal.SIGKILL)
    verdict(heard, 'fallback', 'engine_dead')
    response = result_of(goal)                   # ends with a reason, whichever was first
    assert response.result.reason in ('error', 'length', 'eos')
    verdict(heard, 'fresh', timeout_s=60)
    arrivals = np.array(heard.arrivals_s['command'][start:])
    rate = (len(arrivals) - 1) / (arrivals[-1] - arrivals[0])
    assert rate == pytest.approx(50.0, rel=0.06)
    status = wait_until(lambda: heard.last('oxygen/engine')
                        if heard.last('oxygen/engine').restarts == 1 else None)
    assert status.pid != pid
    texts = len(heard.messages['oxygen/language'])
    wait_until(lambda: len(heard.messages['oxygen/language']) > texts, timeout_s=20)


def test_deactivate_sends_the_fallback_last_and_activate_goes_on(node, caller, heard, make_node):
    assert change_state(caller, Transition.TRANSITION_DEACTIVATE)
    time.sleep(0.3)
    count = len(heard.messages['command'])
    time.sleep(0.5)
    assert len(heard.messages['command']) == count
    _assert_holds(heard.messages['command'], robot_state=(0.1, -0.2, 0.5))
    assert state_of(caller) == 'inactive'
    goal, _ = ask(caller, heard, 'are you there?')
    assert not goal.accepted
    make_node('rival').create_publisher(JointTrajectory, 'command', 1)
    wait_until(lambda: caller.count_publishers('command') == 2)
    assert change_state(caller, Transition.TRANSITION_ACTIVATE)
    verdict(heard, 'fresh')
    node.wait_for_log('command has another publisher: two nodes command one robot')


def test_ctrl_c_twice_ends_cleanly_with_the_fallback_last(node, heard):
    engine_pid = heard.last('oxygen/engine').pid
    node.signal(signal.SIGINT)
    time.sleep(0.05)
    node.signal(signal.SIGINT)
    start_s = time.monotonic()
    assert node.wait(timeout_s=10) == 0
    assert time.monotonic() - start_s < 6.0
    time.sleep(0.3)
    _assert_holds(heard.messages['command'], robot_state=(0.1, -0.2, 0.5))
    assert not os.path.exists(f'/proc/{engine_pid}')
    assert 'Traceback' not in node.log


def test_the_figures_of_the_run_are_in_the_json(node):
    figures = json.loads(node.json_file.read_text())
    assert set(figures) >= {
        'ticks', 'commands_published', 'verdicts', 'lateness_ms', 'realtime_priority', 'frames',
        'encodes', 'chunks', 'replans_per_s', 'tokens', 'tokens_per_s', 'texts_finished',
        'facts', 'engine_restarts', 'seconds'}
    assert figures['encodes'] == figures['frames'] > 0
    assert figures['engine_restarts'] == 1
    assert set(figures['lateness_ms']) == {'p50', 'p99', 'max'}


def _assert_holds(commands, *, robot_state) -> None:
    """Check that the last command is where the robot is, reached without a jump."""
    last = np.array(commands[-1].points[0].positions)
    np.testing.assert_allclose(last, robot_state, atol=0.1)


def _diagnostics(heard, part: str):
    """Return the part of the next diagnostics."""
    return next(status for status in heard.next('/diagnostics').status
                if status.name.endswith(f': {part}'))


def _seconds(stamp) -> float:
    return stamp.sec + stamp.nanosec * 1e-9
