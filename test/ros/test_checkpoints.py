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
A real node on the wire runs checkpoint directories and exchanges them while it commands.

Pinned: no statistics, no motion (CKP-03); the status answers while a model loads (SCH-05).
"""

from pathlib import Path

from lifecycle_msgs.msg import Transition
import numpy as np
import pytest
from rcl_interfaces.srv import GetParameters
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter
from ros_helpers import call
from ros_helpers import change_state
from ros_helpers import FakeRobot
from ros_helpers import JOINTS
from ros_helpers import Listener
from ros_helpers import NodeProcess
from ros_helpers import state_of
from ros_helpers import wait_until
from trajectory_msgs.msg import JointTrajectory

from oxygen_ros.checkpoint.builtin import TOKENIZER_FILE
from oxygen_ros.checkpoint.save import save
from oxygen_ros.models.architecture import tiny
from oxygen_ros.models.pi05 import Pi05
from oxygen_ros.msg import Deadline
from oxygen_ros.msg import EngineStatus
from oxygen_ros.ros import qos
from oxygen_ros.srv import LoadCheckpoint

NAME = 'checkpoints'   # of the node here: another one runs in the same domain
PATH = f'/checkpoint_test/{NAME}'
# As heard by this process, which is late itself on a busy machine; loading takes longer than this.
LONGEST_GAP_S = 4.0
pytestmark = pytest.mark.timeout(400)


@pytest.fixture(scope='module')
def saved(tmp_path_factory):
    """Return a folder with three checkpoints of the bench robot: first, second, without_stats."""
    folder = tmp_path_factory.mktemp('checkpoints')
    statistics = {'state': {'q01': [-2.0] * 3, 'q99': [2.0] * 3},
                  'actions': {'q01': [-1.0] * 3, 'q99': [1.0] * 3}}
    for seed, (name, layout) in enumerate((('first', 'openpi'), ('second', 'lerobot'),
                                           ('without_stats', 'openpi'))):
        model = Pi05(tiny())
        model.random_weights(seed)
        save(model, folder / name, layout=layout, statistics=statistics, tokenizer=TOKENIZER_FILE,
             cameras=('front', 'wrist'))
    next((folder / 'without_stats').rglob('norm_stats.json')).unlink()
    return folder


@pytest.fixture(scope='module')
def listener(make_node):
    """Listen to the node of this module; a robot publishes what it needs."""
    robot = FakeRobot(make_node('robot_of_checkpoints', namespace='/checkpoint_test'))
    listener = Listener(make_node('listener_of_checkpoints', namespace='/checkpoint_test'))
    listener.listen(JointTrajectory, 'command', qos.stream(100))
    listener.listen(Deadline, f'{NAME}/deadline', qos.status())
    listener.listen(EngineStatus, f'{NAME}/engine', qos.status())
    yield listener
    robot.stop()


@pytest.fixture(scope='module')
def node(saved, listener, tmp_path_factory):
    """Start a node that runs the first checkpoint and wait until it acts."""
    process = NodeProcess(
        tmp_path_factory.mktemp('node'), parameters={
            'checkpoint': str(saved / 'first'), 'autostart': True, 'tasks_file': 'none',
            'replan_hz': 5.0},
        ros_arguments=('-r', f'__node:={NAME}', '-r', '__ns:=/checkpoint_test'))
    try:
        process.wait_for_log('active: 50 commands per second', timeout_s=180)
        wait_until(lambda: listener.last(f'{NAME}/deadline')
                   and listener.last(f'{NAME}/deadline').verdict == 'fresh', timeout_s=60)
        yield process
    finally:
        process.kill()


def load(caller, checkpoint: Path):
    """Ask for another checkpoint."""
    return call(caller, LoadCheckpoint, f'{PATH}/load_checkpoint',
                LoadCheckpoint.Request(checkpoint=str(checkpoint)), timeout_s=180)


def test_a_saved_checkpoint_commands_the_robot(node, listener, saved):
    status = listener.next(f'{NAME}/engine')
    assert status.checkpoint == str(saved / 'first') and status.trained
    point = listener.next('command').points[0]
    assert len(point.positions) == len(JOINTS) and np.isfinite(point.positions).all()
    assert 'loading weights [####################]' in node.log
    assert 'weights are random' not in node.log


def test_a_refused_checkpoint_leaves_the_old_one_running(node, listener, caller, saved):
    pid = listener.next(f'{NAME}/engine').pid
    start = len(listener.arrivals_s['command'])
    for checkpoint, reason in ((saved / 'without_stats', 'no normalisation statistics'),
                               (saved / 'nowhere', 'does not exist')):
        answer = load(caller, checkpoint)
        assert not answer.success and reason in answer.message, answer.message
    status = listener.next(f'{NAME}/engine')
    assert (status.pid, status.checkpoint) == (pid, str(saved / 'first'))
    assert np.diff(listener.arrivals_s['command'][start:]).max() < LONGEST_GAP_S


def test_another_checkpoint_takes_over_without_a_pause(node, listener, caller, saved):
    before = listener.next(f'{NAME}/engine')
    start, told = (len(listener.arrivals_s['command']),
                   len(listener.messages[f'{NAME}/deadline']))
    answer = load(caller, saved / 'second')
    assert answer.success, answer.message
    assert answer.message == f'{saved / "second"} is in charge, verified on a live observation'
    after = wait_until(lambda: listener.last(f'{NAME}/engine')
                       if listener.last(f'{NAME}/engine').pid != before.pid else None)
    assert after.checkpoint == str(saved / 'second') and after.state == EngineStatus.READY
    assert after.restarts == 0
    chunks = after.chunks
    wait_until(lambda: listener.last(f'{NAME}/engine').chunks > chunks + 3)
    causes = {message.cause for message in listener.messages[f'{NAME}/deadline'][told:]}
    assert 'engine_dead' not in causes and 'starting' not in causes
    assert np.diff(listener.arrivals_s['command'][start:]).max() < LONGEST_GAP_S
    values = call(caller, GetParameters, f'{PATH}/get_parameters',
                  GetParameters.Request(names=['checkpoint'])).values
    assert values[0].string_value == str(saved / 'second')


def test_without_statistics_nothing_moves(node, listener, caller, saved):
    for transition in (Transition.TRANSITION_DEACTIVATE, Transition.TRANSITION_CLEANUP):
        assert change_state(caller, transition, name=PATH)
    parameter = Parameter('checkpoint', value=str(saved / 'without_stats')).to_parameter_msg()
    result, = call(caller, SetParameters, f'{PATH}/set_parameters',
                   SetParameters.Request(parameters=[parameter])).results
    assert result.successful, result.reason
    count = len(listener.messages['command'])
    assert not change_state(caller, Transition.TRANSITION_CONFIGURE, name=PATH, timeout_s=180)
    node.wait_for_log('cannot configure: no normalisation statistics: ')
    assert 'norm_stats.json does not exist' in node.log
    assert state_of(caller, name=PATH) == 'unconfigured'
    answer = load(caller, saved / 'first')
    assert not answer.success and 'not configured' in answer.message
    assert len(listener.messages['command']) == count
