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

The tests share one node process with test_node_running_troubles.py, which hurts and ends it.
Pinned: trajectory stamps a controller refuses (JS-05), a viewer that slows the robot (SCH-07).
"""

import json
import os
import signal
import subprocess
import sys
import time

from action_msgs.msg import GoalStatus
from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticStatus
import numpy as np
import pytest
from ros_helpers import ask
from ros_helpers import call
from ros_helpers import diagnostic
from ros_helpers import JOINTS
from ros_helpers import Listener
from ros_helpers import result_of
from ros_helpers import ROOT
from ros_helpers import set_parameter
from ros_helpers import verdict
from ros_helpers import wait_until
from std_srvs.srv import Trigger

from oxygen_ros.msg import EngineStatus
from oxygen_ros.msg import MemoryFact
from oxygen_ros.ros import qos
from oxygen_ros.srv import Recall


def test_commands_come_at_the_control_rate_on_the_wire(running_node, heard):
    start = len(heard.arrivals_s['command'])
    time.sleep(2.0)
    arrivals = np.array(heard.arrivals_s['command'][start:])
    rate = (len(arrivals) - 1) / (arrivals[-1] - arrivals[0])
    assert rate == pytest.approx(50.0, rel=0.04)


def test_a_trajectory_is_one_that_a_controller_takes(running_node, heard):
    message = heard.next('command')
    assert list(message.joint_names) == list(JOINTS)
    assert (message.header.stamp.sec, message.header.stamp.nanosec) == (0, 0)
    assert len(message.points) == 1
    point = message.points[0]
    assert len(point.positions) == len(JOINTS)
    assert np.isfinite(point.positions).all()
    assert point.time_from_start.sec == 0 and point.time_from_start.nanosec == 20_000_000


def test_chunks_say_what_they_were_computed_from(running_node, heard):
    first, second = heard.next('oxygen/action_chunk'), heard.next('oxygen/action_chunk')
    assert second.frame_id > first.frame_id > 0
    assert len(first.positions) == first.horizon * len(JOINTS)
    assert list(first.joint_names) == list(JOINTS)
    assert first.dt == pytest.approx(0.05)
    age_s = _seconds(first.header.stamp) - _seconds(first.observation_stamp)
    assert 0 < age_s < 2.0
    assert first.encode_time > 0 and first.denoise_time > 0


def test_every_frame_is_encoded_once_while_three_tasks_write(running_node, heard):
    wait_until(lambda: {message.task for message in heard.messages['oxygen/language']}
               >= {'narrate', 'subtask', 'memory'})
    status = wait_until(lambda: heard.last('oxygen/engine')
                        if heard.last('oxygen/engine').frames > 10 else None)
    assert status.state == EngineStatus.READY
    assert status.encodes == status.frames
    assert status.kv_bytes_copied == 0
    assert status.tokens > 0
    assert status.pid > 0 and not status.trained


def test_pieces_of_a_text_have_no_gap_and_exactly_one_end(running_node, heard):
    def finished():
        by_request = {}
        for message in heard.messages['oxygen/language']:
            by_request.setdefault(message.request_id, []).append(message)
        whole = {key: pieces for key, pieces in by_request.items()
                 if pieces[0].index == 0 and pieces[-1].final}
        return whole if len(whole) >= 4 else None
    for request_id, pieces in wait_until(finished).items():
        assert [piece.index for piece in pieces] == list(range(len(pieces))), request_id
        assert [piece.final for piece in pieces].count(True) == 1
        assert len({piece.frame_id for piece in pieces}) == 1
        last = pieces[-1]
        assert last.reason in ('eos', 'length', 'stop')
        assert last.duration >= last.time_to_first_token > 0


def test_a_question_is_answered_token_by_token(running_node, caller, heard):
    goal, feedback = ask(caller, heard, 'what do you see?', max_tokens=6)
    assert goal.accepted
    response = result_of(goal)
    assert response.status == GoalStatus.STATUS_SUCCEEDED
    result = response.result
    assert result.reason in ('eos', 'length')
    # The result may overtake pieces, and rclpy's client drops what comes after it.
    assert feedback and result.text.startswith(''.join(message.text for message in feedback))
    assert [message.index for message in feedback] == list(range(len(feedback)))
    assert result.frame_id > 0
    assert result.time_to_first_token > 0

    def streamed():
        return [message for message in heard.messages['oxygen/language'] if message.task == 'ask']
    wait_until(lambda: ''.join(message.text for message in streamed()) == result.text)


def test_a_question_can_be_cancelled(running_node, caller, heard):
    goal, feedback = ask(caller, heard, 'tell me everything', max_tokens=64)
    cancelled = goal.cancel_goal_async()
    wait_until(cancelled.done)
    assert len(cancelled.result().goals_canceling) == 1
    response = result_of(goal)
    assert response.status == GoalStatus.STATUS_CANCELED
    assert response.result.reason == 'cancelled'
    assert response.result.text.startswith(''.join(message.text for message in feedback))


def test_a_question_that_cannot_be_answered_ends_at_once_and_says_why(
        running_node, caller, heard):
    for question, fields, words in (('  ', {}, 'is empty'),
                                    ('what?', {'max_tokens': 9999}, 'max_text_tokens 64')):
        goal, feedback = ask(caller, heard, question, **fields)
        response = result_of(goal)
        assert response.status == GoalStatus.STATUS_ABORTED
        assert response.result.reason == 'refused' and words in response.result.detail
        assert response.result.frame_id == 0


def test_facts_are_published_kept_and_recalled(running_node, caller, heard):
    fact = wait_until(lambda: heard.last('oxygen/memory'))
    assert fact.subject and fact.relation and fact.object and fact.fact_id > 0
    answer = call(caller, Recall, 'oxygen/recall',
                  Recall.Request(subject=fact.subject.upper(), history=True))
    assert answer.success
    assert fact.fact_id in [found.fact_id for found in answer.facts]
    assert {found.subject for found in answer.facts} == {fact.subject}
    future = call(caller, Recall, 'oxygen/recall',
                  Recall.Request(after=Time(sec=2 ** 31 - 1)))
    assert future.success and not future.facts


def test_a_late_subscriber_gets_the_newest_facts(running_node, heard, make_node):
    late = Listener(make_node('late'))
    late.listen(MemoryFact, 'oxygen/memory', qos.facts())
    known = {message.fact_id for message in heard.messages['oxygen/memory']}
    wait_until(lambda: known & {message.fact_id for message in late.messages['oxygen/memory']})


def test_stop_is_latched_until_resume(running_node, caller, heard):
    assert call(caller, Trigger, 'oxygen/stop', Trigger.Request()).success
    verdict(heard, 'stopped', 'stop_requested')
    held = heard.next('command').points[0].positions
    time.sleep(0.5)
    np.testing.assert_allclose(heard.next('command').points[0].positions, held)
    assert call(caller, Trigger, 'oxygen/resume', Trigger.Request()).success
    verdict(heard, 'fresh')


def test_reset_goes_on_with_a_new_frame(running_node, caller, heard):
    before = heard.next('oxygen/action_chunk').frame_id
    assert call(caller, Trigger, 'oxygen/reset', Trigger.Request()).success
    assert heard.next('oxygen/action_chunk').frame_id > before
    verdict(heard, 'fresh')


def test_a_new_instruction_is_taken_while_it_runs(running_node, robot, heard):
    robot.instruct('put the block into the tray')
    chunk = heard.next('oxygen/action_chunk')
    assert heard.next('oxygen/action_chunk').frame_id > chunk.frame_id
    verdict(heard, 'fresh')


def test_diagnostics_name_every_part(running_node, heard):
    parts = {status.name: status for status in heard.next('/diagnostics').status}
    assert parts.keys() == {f'/oxygen: {name}' for name in (
        'node', 'camera front', 'camera wrist', 'joint states', 'tick', 'model', 'engine', 'kv',
        'memory')}
    assert {part.hardware_id for part in parts.values()} == {'bench'}
    model = parts['/oxygen: model']
    assert (model.level, 'random weights' in model.message) == (DiagnosticStatus.WARN, True)
    for name in ('camera front', 'camera wrist', 'joint states', 'kv'):
        part = parts[f'/oxygen: {name}']
        assert part.level == DiagnosticStatus.OK, part.message


def test_threshold_set_in_motion_makes_its_part_warn(running_node, heard, caller):
    set_parameter(caller, 'diagnostics.min_camera_hz', 500.0)
    try:
        wait_until(lambda: ' Hz, wanted 500 Hz' in diagnostic(heard, 'camera front').message)
        assert diagnostic(heard, 'joint states').level == DiagnosticStatus.OK
    finally:
        set_parameter(caller, 'diagnostics.min_camera_hz', 2.0)
    wait_until(lambda: diagnostic(heard, 'camera front').level == DiagnosticStatus.OK)


def test_an_independent_watcher_sees_the_same_and_a_frozen_one_slows_nobody(
        running_node, heard, tmp_path):
    watcher = subprocess.Popen(
        [sys.executable, '-m', 'oxygen_ros.ros.monitor', '--json', str(tmp_path / 'watch.json')],
        cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        time.sleep(3.0)
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


def _seconds(stamp) -> float:
    return stamp.sec + stamp.nanosec * 1e-9
