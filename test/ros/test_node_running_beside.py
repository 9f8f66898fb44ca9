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

"""What two_robots.launch.py starts: nodes in namespaces that share nothing (LCH-02)."""

import numpy as np
import pytest
from ros_helpers import FakeRobot
from ros_helpers import Listener
from ros_helpers import NodeProcess
from ros_helpers import wait_until
from trajectory_msgs.msg import JointTrajectory

from oxygen_ros.msg import TokenDelta
from oxygen_ros.ros import qos

ARM = -0.9       # where the other robot holds it; that of the running node is at 0.1


@pytest.mark.timeout(400)
def test_two_robots_act_and_speak_side_by_side(running_node, robot, heard, make_node, tmp_path):
    other_robot = FakeRobot(make_node('fake_robot', namespace='right'))
    other_robot.positions['arm'] = ARM
    other = Listener(make_node('listener', namespace='right'))
    other.listen(JointTrajectory, 'command', qos.stream(10))
    other.listen(TokenDelta, 'oxygen/language', qos.stream())
    node = NodeProcess(tmp_path, parameters={'autostart': 'true', 'replan_hz': 4.0},
                       ros_arguments=['-r', '__ns:=/right'])
    try:
        wait_until(lambda: len(other.messages['command']) > 50
                   and other.messages['oxygen/language'], timeout_s=300)
        num_texts, num_commands = (len(heard.messages[topic])
                                   for topic in ('oxygen/language', 'command'))
        wait_until(lambda: len(heard.messages['command']) > num_commands + 50
                   and len(heard.messages['oxygen/language']) > num_texts)
        for messages, arm in ((other.messages['command'][:20], ARM),
                              (heard.messages['command'][num_commands:], robot.positions['arm'])):
            told = np.array([message.points[0].positions[0] for message in messages])
            assert np.abs(told - arm).max() < 0.6, 'each moves about its own joints'
        assert '[right.oxygen]' in node.log and '[right.oxygen]' not in running_node.log
        assert node.stop() == 0
    finally:
        node.kill()
        other_robot.stop()
