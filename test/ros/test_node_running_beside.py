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
What two_robots.launch.py starts: nodes in namespaces that share nothing (LCH-02).

Beside the node of test_node_running_acts.py runs one as on Humble, whose rclpy has no events
executor. The tests run in file order.
"""

import threading

from lifecycle_msgs.msg import Transition
import numpy as np
import pytest
from ros_helpers import call
from ros_helpers import change_state
from ros_helpers import FakeRobot
from ros_helpers import Listener
from ros_helpers import NodeProcess
from ros_helpers import state_of
from ros_helpers import wait_until
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory

from oxygen_ros.msg import TokenDelta
from oxygen_ros.ros import qos

ARM = -0.9       # where the other robot holds it; that of the running node is at 0.1
NAME = '/right/oxygen'


@pytest.fixture(scope='module')
def other_heard(make_node):
    """Publish as the other robot; listen to its node."""
    robot = FakeRobot(make_node('fake_robot', namespace='right'))
    robot.positions['arm'] = ARM
    listener = Listener(make_node('listener', namespace='right'))
    listener.listen(JointTrajectory, 'command', qos.stream(10))
    listener.listen(TokenDelta, 'oxygen/language', qos.stream())
    yield listener
    robot.stop()


@pytest.fixture(scope='module')
def other_node(tmp_path_factory, other_heard):
    """Start the other node; it waits to be configured."""
    folder = tmp_path_factory.mktemp('right')
    (folder / 'sitecustomize.py').write_text(
        "import sys\nsys.modules['rclpy.experimental'] = None\n")
    node = NodeProcess(folder, parameters={'replan_hz': 4.0}, env={'PYTHONPATH': str(folder)},
                       ros_arguments=['-r', '__ns:=/right'])
    yield node
    node.kill()


@pytest.mark.timeout(300)
def test_a_node_without_an_events_executor_answers_while_it_loads(other_node, caller):
    assert state_of(caller, name=NAME) == 'unconfigured'
    loading = threading.Thread(target=change_state, daemon=True,
                               args=(caller, Transition.TRANSITION_CONFIGURE),
                               kwargs={'name': NAME})
    loading.start()
    states = []
    wait_until(lambda: states.append(state_of(caller, name=NAME)) or 'inactive' in states)
    assert 'configuring' in states, 'nobody could ask while it loaded'
    for name in ('stop', 'resume'):
        assert call(caller, Trigger, f'{NAME}/{name}', Trigger.Request()).success
    loading.join()


@pytest.mark.timeout(300)
def test_two_robots_act_and_speak_side_by_side(running_node, robot, heard, other_node,
                                               other_heard, caller):
    assert change_state(caller, Transition.TRANSITION_ACTIVATE, name=NAME)
    wait_until(lambda: len(other_heard.messages['command']) > 50
               and other_heard.messages['oxygen/language'])
    num_texts, num_commands = (len(heard.messages[topic])
                               for topic in ('oxygen/language', 'command'))
    wait_until(lambda: len(heard.messages['command']) > num_commands + 50
               and len(heard.messages['oxygen/language']) > num_texts)
    for messages, arm in ((other_heard.messages['command'][:20], ARM),
                          (heard.messages['command'][num_commands:], robot.positions['arm'])):
        told = np.array([message.points[0].positions[0] for message in messages])
        assert np.abs(told - arm).max() < 0.6, 'each moves about its own joints'
    assert '[right.oxygen]' in other_node.log and '[right.oxygen]' not in running_node.log
    assert other_node.stop() == 0
    assert 'Traceback' not in other_node.log
