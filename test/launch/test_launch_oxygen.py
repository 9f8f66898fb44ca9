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

"""oxygen.launch.py with the real launch: params file, namespace, remap, orderly end."""

import os
from pathlib import Path
import time
import unittest

import pytest
from ros_domain import draw_domain

launch = pytest.importorskip('launch')
pytest.importorskip('launch_ros', reason='launch_ros comes with a ROS 2 installation')
launch_testing = pytest.importorskip(
    'launch_testing', reason='launch_testing comes with a ROS 2 installation')

os.environ['ROS_DOMAIN_ID'] = str(draw_domain())
os.environ['ROS_AUTOMATIC_DISCOVERY_RANGE'] = 'LOCALHOST'

from launch.actions import IncludeLaunchDescription  # noqa: E402
from launch.launch_description_sources import PythonLaunchDescriptionSource  # noqa: E402
from launch_testing.actions import ReadyToTest  # noqa: E402
from launch_testing.asserts import assertExitCodes  # noqa: E402
from lifecycle_msgs.msg import State  # noqa: E402
from lifecycle_msgs.srv import GetState  # noqa: E402
from rcl_interfaces.srv import GetParameters  # noqa: E402
import rclpy  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
START_LIMIT_S = 90.0


@pytest.mark.launch_test
def generate_test_description():
    """Start the launch file as a user would, under a namespace with a remapped command."""
    source = PythonLaunchDescriptionSource(str(ROOT / 'launch' / 'oxygen.launch.py'))
    arguments = {'namespace': 'left', 'robot': 'so101', 'command': 'arm/joint_trajectory'}
    return launch.LaunchDescription([
        IncludeLaunchDescription(source, launch_arguments=arguments.items()),
        ReadyToTest()])


class TestRunningNode(unittest.TestCase):
    """The node that launch started, seen from another node."""

    @classmethod
    def setUpClass(cls):
        rclpy.init()
        cls.node = rclpy.create_node('launch_test')

    @classmethod
    def tearDownClass(cls):
        cls.node.destroy_node()
        rclpy.shutdown()

    def call(self, kind, name, request):
        client = self.node.create_client(kind, name)
        self.assertTrue(client.wait_for_service(timeout_sec=START_LIMIT_S), f'no service {name}')
        future = client.call_async(request)
        rclpy.spin_until_future_complete(self.node, future, timeout_sec=START_LIMIT_S)
        return future.result()

    def test_it_becomes_active_in_its_namespace(self):
        deadline_s = time.monotonic() + START_LIMIT_S
        state = None
        while state != State.PRIMARY_STATE_ACTIVE and time.monotonic() < deadline_s:
            answer = self.call(GetState, '/left/oxygen/get_state', GetState.Request())
            state = answer.current_state.id
            time.sleep(0.2)
        self.assertEqual(state, State.PRIMARY_STATE_ACTIVE)

    def test_the_params_file_reached_it(self):
        request = GetParameters.Request(names=['robot', 'fallback', 'autostart'])
        robot, fallback, autostart = self.call(
            GetParameters, '/left/oxygen/get_parameters', request).values
        self.assertEqual(robot.string_value, 'so101')
        self.assertEqual(fallback.string_value, 'hold')
        self.assertTrue(autostart.bool_value)

    def test_the_command_topic_is_remapped(self):
        deadline_s = time.monotonic() + START_LIMIT_S
        while time.monotonic() < deadline_s:
            infos = self.node.get_publishers_info_by_topic('/left/arm/joint_trajectory')
            if infos:
                break
            rclpy.spin_once(self.node, timeout_sec=0.1)
        self.assertEqual([info.node_name for info in infos], ['oxygen'])
        self.assertEqual(infos[0].topic_type, 'trajectory_msgs/msg/JointTrajectory')


@launch_testing.post_shutdown_test()
class TestEnd(unittest.TestCase):
    """After Ctrl-C."""

    def test_it_ended_with_code_0(self, proc_info):
        assertExitCodes(proc_info, allowable_exit_codes=[0])
