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

"""What two_robots.launch.py starts: two nodes in namespaces that share nothing (LCH-02)."""

import numpy as np
import pytest
from ros_helpers import FakeRobot
from ros_helpers import Listener
from ros_helpers import NodeProcess
from ros_helpers import wait_until
from trajectory_msgs.msg import JointTrajectory

from oxygen_ros.msg import TokenDelta
from oxygen_ros.ros import qos

SIDES = {'left': 0.9, 'right': -0.9}     # where each robot holds its arm


@pytest.mark.timeout(600)
def test_two_robots_act_and_speak_side_by_side(make_node, tmp_path):
    robots, heard, nodes = {}, {}, {}
    try:
        for side, arm in SIDES.items():
            robots[side] = FakeRobot(make_node('fake_robot', namespace=side))
            robots[side].positions['arm'] = arm
            heard[side] = Listener(make_node('listener', namespace=side))
            heard[side].listen(JointTrajectory, 'command', qos.stream(10))
            heard[side].listen(TokenDelta, 'oxygen/language', qos.stream())
            nodes[side] = NodeProcess(
                tmp_path / side, parameters={'autostart': 'true', 'replan_hz': 4.0},
                ros_arguments=['-r', f'__ns:=/{side}'])
        for side in SIDES:
            wait_until(lambda side=side: len(heard[side].messages['command']) > 50
                       and heard[side].messages['oxygen/language'], timeout_s=300)
        for side, arm in SIDES.items():
            told = np.array([message.points[0].positions
                             for message in heard[side].messages['command']])
            assert np.abs(told[:20, 0] - arm).max() < 0.6, 'commands start at its own joints'
            assert f'[{side}.oxygen]' in nodes[side].log
        assert [node.stop() for node in nodes.values()] == [0, 0]
    finally:
        for node in nodes.values():
            node.kill()
        for robot in robots.values():
            robot.stop()
