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
Two robots side by side, each with a node of its own in a namespace of its own.

    ros2 launch oxygen_ros two_robots.launch.py
    ros2 launch oxygen_ros two_robots.launch.py left_robot:=/path/a.yaml right_robot:=/path/b.yaml

Topics are <namespace>/joint_states, <namespace>/command and so on. Two engines need the cores or
the GPU memory of two: see doc/howto/several_robots.md.
"""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue


def generate_launch_description():
    """Declare the arguments and start both nodes."""
    return LaunchDescription([
        DeclareLaunchArgument(
            'left', default_value='left', description='Namespace of the first robot.'),
        DeclareLaunchArgument(
            'right', default_value='right', description='Namespace of the second robot.'),
        DeclareLaunchArgument(
            'left_robot', default_value='so101',
            description='Profile of the first robot: a shipped name or a .yaml file.'),
        DeclareLaunchArgument(
            'right_robot', default_value='so101',
            description='Profile of the second robot: a shipped name or a .yaml file.'),
        DeclareLaunchArgument(
            'checkpoint', default_value='builtin:tiny',
            description="Model of both: a directory, or 'builtin:tiny' for random weights."),
        DeclareLaunchArgument(
            'autostart', default_value='true',
            description='Configure and activate at start; false: a lifecycle manager does it.'),
        DeclareLaunchArgument(
            'log_level', default_value='info', description='debug, info, warn, error or fatal.'),
        Node(
            package='oxygen_ros', executable='oxygen_node', output='screen', emulate_tty=True,
            namespace=LaunchConfiguration('left'),
            parameters=[
                {'robot': ParameterValue(LaunchConfiguration('left_robot'), value_type=str),
                 'checkpoint': ParameterValue(LaunchConfiguration('checkpoint'), value_type=str),
                 'autostart': ParameterValue(LaunchConfiguration('autostart'), value_type=bool)}],
            ros_arguments=['--log-level', LaunchConfiguration('log_level')]),
        Node(
            package='oxygen_ros', executable='oxygen_node', output='screen', emulate_tty=True,
            namespace=LaunchConfiguration('right'),
            parameters=[
                {'robot': ParameterValue(LaunchConfiguration('right_robot'), value_type=str),
                 'checkpoint': ParameterValue(LaunchConfiguration('checkpoint'), value_type=str),
                 'autostart': ParameterValue(LaunchConfiguration('autostart'), value_type=bool)}],
            ros_arguments=['--log-level', LaunchConfiguration('log_level')]),
    ])
