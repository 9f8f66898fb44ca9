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
The demo through launch: simulated SO-101 arm, node and a listener. Ctrl-C ends all three.

    ros2 launch oxygen_ros demo.launch.py
    ros2 launch oxygen_ros demo.launch.py seed:=3 instruction:="put the blue cube in the tray"

`oxygen demo` shows the same without launch, with a summary at the end.
"""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument
from launch.actions import Shutdown
from launch.substitutions import LaunchConfiguration
from launch.substitutions import PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue
from launch_ros.substitutions import FindPackageShare


def generate_launch_description():
    """Declare the arguments and start simulator, node and listener."""
    return LaunchDescription([
        DeclareLaunchArgument(
            'namespace', default_value='', description='Namespace of all three nodes.'),
        DeclareLaunchArgument(
            'seed', default_value='0', description='Where the cubes lie and the arm starts.'),
        DeclareLaunchArgument(
            'instruction', default_value='', description='The first. Empty: of the profile.'),
        DeclareLaunchArgument(
            'checkpoint', default_value='builtin:tabletop',
            description='Model of the table-top robot: a name or a directory.'),
        Node(
            package='oxygen_ros', executable='oxygen', output='screen', emulate_tty=True,
            namespace=LaunchConfiguration('namespace'),
            arguments=['sim', '--robot', 'table_top', '--tour',
                       '--seed', LaunchConfiguration('seed'),
                       '--instruction', LaunchConfiguration('instruction')]),
        Node(
            package='oxygen_ros', executable='oxygen_node', output='screen', emulate_tty=True,
            namespace=LaunchConfiguration('namespace'),
            parameters=[
                {'robot': 'table_top', 'autostart': True, 'replan_hz': 5.0,
                 'tasks_file': PathJoinSubstitution([
                     FindPackageShare('oxygen_ros'), 'config', 'tasks_table_top.yaml']),
                 'checkpoint': ParameterValue(LaunchConfiguration('checkpoint'),
                                              value_type=str)}],
            on_exit=Shutdown(reason='the node ended')),
        Node(
            package='oxygen_ros', executable='oxygen', output='screen', emulate_tty=True,
            namespace=LaunchConfiguration('namespace'), arguments=['watch']),
    ])
