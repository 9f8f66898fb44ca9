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
A recording into a running node: player with /clock, node on simulated time, and a listener.

    ros2 launch oxygen_ros eval.launch.py bag:=/path/to/bag robot:=/path/to/my_robot.yaml
    ros2 launch oxygen_ros eval.launch.py bag:=my_bag robot:=so101 rate:=0.5 record_to:=again

What the node takes in and gives out is recorded to record_to. Everything ends with the recording.
`oxygen eval BAG` evaluates faster and the same way every time, without ROS; this shows the node.
"""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument
from launch.actions import Shutdown
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue


def generate_launch_description():
    """Declare the arguments and start player, node, recorder and listener."""
    return LaunchDescription([
        DeclareLaunchArgument(
            'bag', default_value='', description='Recording: rosbag2 folder or storage file.'),
        DeclareLaunchArgument(
            'robot', default_value='so101',
            description='Robot profile: a shipped name (so101, widowx) or a .yaml file.'),
        DeclareLaunchArgument(
            'checkpoint', default_value='builtin:tiny',
            description="Model: a directory, or 'builtin:tiny' for random weights."),
        DeclareLaunchArgument(
            'namespace', default_value='', description='Namespace of all nodes.'),
        DeclareLaunchArgument(
            'rate', default_value='1.0', description='Speed of the player; 1 is as recorded.'),
        DeclareLaunchArgument(
            'record_to', default_value='',
            description='Folder to record to; empty: oxygen-<date>-<time>.'),
        Node(
            package='oxygen_ros', executable='oxygen', output='screen', emulate_tty=True,
            namespace=LaunchConfiguration('namespace'),
            arguments=['play', LaunchConfiguration('bag'), '--robot', LaunchConfiguration('robot'),
                       '--rate', LaunchConfiguration('rate'), '--wait', '120'],
            on_exit=Shutdown(reason='the recording is over')),
        Node(
            package='oxygen_ros', executable='oxygen_node', output='screen', emulate_tty=True,
            namespace=LaunchConfiguration('namespace'),
            parameters=[
                {'robot': ParameterValue(LaunchConfiguration('robot'), value_type=str),
                 'checkpoint': ParameterValue(LaunchConfiguration('checkpoint'), value_type=str),
                 'autostart': True, 'use_sim_time': True}],
            on_exit=Shutdown(reason='the node ended')),
        Node(
            package='oxygen_ros', executable='oxygen', output='screen', emulate_tty=True,
            namespace=LaunchConfiguration('namespace'),
            arguments=['record', '--output', LaunchConfiguration('record_to')],
            parameters=[{'use_sim_time': True}]),
        Node(
            package='oxygen_ros', executable='oxygen', output='screen', emulate_tty=True,
            namespace=LaunchConfiguration('namespace'), arguments=['watch']),
    ])
