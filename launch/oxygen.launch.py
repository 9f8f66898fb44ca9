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
The node, ready to move a robot.

    ros2 launch oxygen_ros oxygen.launch.py
    ros2 launch oxygen_ros oxygen.launch.py robot:=/path/to/my_robot.yaml
    ros2 launch oxygen_ros oxygen.launch.py command:=/arm_controller/joint_trajectory
    ros2 launch oxygen_ros oxygen.launch.py namespace:=left autostart:=false
    ros2 launch oxygen_ros oxygen.launch.py --show-args

What params_file sets wins over the arguments robot, checkpoint, autostart and use_sim_time, so
that a file written for one robot cannot be sent to another by a forgotten argument.
"""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument
from launch.substitutions import LaunchConfiguration
from launch.substitutions import PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue
from launch_ros.substitutions import FindPackageShare


def generate_launch_description():
    """Declare the arguments and start the node."""
    return LaunchDescription([
        DeclareLaunchArgument(
            'namespace', default_value='',
            description='Namespace of the node and of all its relative topics.'),
        DeclareLaunchArgument(
            'robot', default_value='so101',
            description='Robot profile: a shipped name (so101, widowx) or a .yaml file.'),
        DeclareLaunchArgument(
            'checkpoint', default_value='builtin:tiny',
            description="Model: a directory, or 'builtin:tiny' for random weights."),
        DeclareLaunchArgument(
            'params_file',
            default_value=PathJoinSubstitution(
                [FindPackageShare('oxygen_ros'), 'config', 'oxygen.yaml']),
            description='Parameters of the node; see config/oxygen.yaml.'),
        DeclareLaunchArgument(
            'autostart', default_value='true',
            description='Configure and activate at start; false: a lifecycle manager does it.'),
        DeclareLaunchArgument(
            'command', default_value='command',
            description='Topic of the controller that shall get the commands.'),
        DeclareLaunchArgument(
            'joint_states', default_value='joint_states',
            description='Topic of the measured joint states.'),
        DeclareLaunchArgument(
            'use_sim_time', default_value='false',
            description='Take the time from /clock, as for simulators and bags.'),
        DeclareLaunchArgument(
            'log_level', default_value='info',
            description='debug, info, warn, error or fatal.'),
        Node(
            package='oxygen_ros', executable='oxygen_node', output='screen', emulate_tty=True,
            namespace=LaunchConfiguration('namespace'),
            parameters=[
                {'robot': ParameterValue(LaunchConfiguration('robot'), value_type=str),
                 'checkpoint': ParameterValue(LaunchConfiguration('checkpoint'), value_type=str),
                 'autostart': ParameterValue(LaunchConfiguration('autostart'), value_type=bool),
                 'use_sim_time': ParameterValue(
                     LaunchConfiguration('use_sim_time'), value_type=bool)},
                LaunchConfiguration('params_file')],
            remappings=[('command', LaunchConfiguration('command')),
                        ('joint_states', LaunchConfiguration('joint_states'))],
            ros_arguments=['--log-level', LaunchConfiguration('log_level')]),
    ])
