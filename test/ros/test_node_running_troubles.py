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
The node of test_node_running_acts.py meets trouble after trouble and is ended at last.

The tests run in file order: later ones hurt it more. Pinned: malformed frames (IMG-05), frozen
sensors (IMG-06), bursts after a stall (TIM-01), Ctrl-C that comes twice (LCH-06).
"""

from array import array
import json
import os
import re
import signal
import time

from diagnostic_msgs.msg import DiagnosticStatus
from lifecycle_msgs.msg import Transition
import numpy as np
import pytest
from ros_helpers import ask
from ros_helpers import call
from ros_helpers import change_state
from ros_helpers import diagnostic
from ros_helpers import JOINTS
from ros_helpers import result_of
from ros_helpers import state_of
from ros_helpers import verdict
from ros_helpers import wait_until
from sensor_msgs.msg import Image
from trajectory_msgs.msg import JointTrajectory

from oxygen_ros.srv import Recall


def test_a_stalled_process_sends_no_burst_afterwards(running_node, heard):
    before = heard.next('oxygen/deadline')
    os.kill(running_node.process.pid, signal.SIGSTOP)
    time.sleep(1.5)
    start = len(heard.arrivals_s['command'])
    os.kill(running_node.process.pid, signal.SIGCONT)
    time.sleep(1.0)
    # 75 grid points passed: making up for them would come on top of the 50 of this second.
    assert len(heard.arrivals_s['command']) - start < 65
    after = heard.next('oxygen/deadline')
    assert after.missed - before.missed >= 60
    verdict(heard, 'fresh')


def test_malformed_frames_are_counted_and_do_no_harm(running_node, robot, heard):
    good = array('B', bytes(64 * 64 * 3))
    pid = running_node.process.pid
    verdict(heard, 'fresh')
    before = _num_stale(heard.next('oxygen/deadline'))
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
    def refused() -> dict[str, str]:
        return {value.key: value.value for value in diagnostic(heard, 'camera front').values
                if value.key.startswith('refused')}

    wait_until(lambda: int(refused()['refused']) >= 4)
    assert len(refused()) > 1, 'with the reasons'
    assert 'message not used' in running_node.log
    assert running_node.log.count('message not used') <= 3       # rate-limited
    assert running_node.process.pid == pid and running_node.process.poll() is None
    assert _num_stale(heard.next('oxygen/deadline')) == before


def test_joints_in_another_order_are_the_same_joints(running_node, robot, heard):
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
def test_a_silent_source_leads_to_the_fallback_with_its_name(
        running_node, robot, heard, source, cause):
    robot.silent.add(source)
    time.sleep(0.5)          # its age limit: before, a busy machine alone may have made it stale
    verdict(heard, 'fallback', cause)
    wait_until(lambda: _is_held(heard.messages['command']))
    tick = diagnostic(heard, 'tick')
    assert cause in tick.message
    assert source.split('_')[0] in tick.message
    part = diagnostic(heard, 'joint states' if source == 'joint_states' else f'camera {source}')
    assert part.level == DiagnosticStatus.ERROR
    assert re.match(r'nothing for \d+\.\d s, allowed 0\.5 s', part.message)
    robot.silent.clear()
    verdict(heard, 'fresh')


def test_a_camera_that_repeats_one_picture_is_frozen(running_node, robot, heard):
    robot.freeze('front')
    verdict(heard, 'fallback', 'camera_frozen')
    wait_until(lambda: 'frozen' in diagnostic(heard, 'camera front').message)
    robot.frozen.clear()
    verdict(heard, 'fresh')


def test_killing_the_engine_holds_the_robot_and_brings_the_engine_back(
        running_node, caller, heard):
    fact = wait_until(lambda: heard.last('oxygen/memory'))
    goal, _ = ask(caller, heard, 'will you survive?', max_tokens=64)
    pid = heard.last('oxygen/engine').pid
    start = len(heard.arrivals_s['command'])
    os.kill(pid, signal.SIGKILL)
    verdict(heard, 'fallback', 'engine_dead')
    response = result_of(goal)                   # ends with a reason, whichever was first
    assert response.result.reason in ('error', 'length', 'eos')
    verdict(heard, 'fresh')
    arrivals = np.array(heard.arrivals_s['command'][start:])
    rate = (len(arrivals) - 1) / (arrivals[-1] - arrivals[0])
    assert rate == pytest.approx(50.0, rel=0.06)
    status = wait_until(lambda: heard.last('oxygen/engine')
                        if heard.last('oxygen/engine').restarts == 1 else None)
    assert status.pid != pid
    texts = len(heard.messages['oxygen/language'])
    wait_until(lambda: len(heard.messages['oxygen/language']) > texts)
    known = call(caller, Recall, 'oxygen/recall',
                 Recall.Request(subject=fact.subject, history=True)).facts
    assert fact.fact_id in [found.fact_id for found in known]


def test_deactivate_sends_the_fallback_last_and_activate_goes_on(
        running_node, caller, heard, make_node):
    assert change_state(caller, Transition.TRANSITION_DEACTIVATE)
    time.sleep(0.3)
    count = len(heard.messages['command'])
    time.sleep(0.5)
    assert len(heard.messages['command']) == count
    _assert_holds(heard.messages['command'], robot_state=(0.1, -0.2, 0.5))
    assert state_of(caller) == 'inactive'
    goal, _ = ask(caller, heard, 'are you there?')
    answer = result_of(goal).result
    assert (answer.reason, answer.text) == ('refused', '')
    assert 'not active' in answer.detail
    make_node('rival').create_publisher(JointTrajectory, 'command', 1)
    wait_until(lambda: caller.count_publishers('command') == 2)
    assert change_state(caller, Transition.TRANSITION_ACTIVATE)
    verdict(heard, 'fresh')
    running_node.wait_for_log('command has another publisher: two nodes command one robot')


def test_ctrl_c_twice_ends_cleanly_with_the_fallback_last(running_node, heard):
    engine_pid = heard.last('oxygen/engine').pid
    running_node.signal(signal.SIGINT)
    time.sleep(0.05)
    running_node.signal(signal.SIGINT)
    start_s = time.monotonic()
    assert running_node.wait(timeout_s=10) == 0
    assert time.monotonic() - start_s < 6.0
    time.sleep(0.3)
    _assert_holds(heard.messages['command'], robot_state=(0.1, -0.2, 0.5))
    assert not os.path.exists(f'/proc/{engine_pid}')
    assert 'Traceback' not in running_node.log


def test_the_figures_of_the_run_are_in_the_json(running_node):
    figures = json.loads(running_node.json_file.read_text())
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


def _is_held(commands) -> bool:
    """Return whether the commands of the last half second were all the same."""
    positions = [message.points[0].positions for message in commands[-25:]]
    return np.ptp(positions, axis=0).max() < 1e-6


def _num_stale(message) -> int:
    """Return the ticks that fell back because of a camera."""
    counts = dict(zip(message.causes, message.cause_counts))
    return counts.get('camera_stale', 0) + counts.get('camera_frozen', 0)
