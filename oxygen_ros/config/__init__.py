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

"""Frozen, validated configuration. A wrong value raises ConfigError naming it and the remedy."""

from oxygen_ros.config.control import ControlConfig
from oxygen_ros.config.end_effector import EndEffector
from oxygen_ros.config.engine import EngineConfig
from oxygen_ros.config.engine import SchedulerConfig
from oxygen_ros.config.errors import ConfigError
from oxygen_ros.config.joint import Joint
from oxygen_ros.config.joint import Linkage
from oxygen_ros.config.resources import find_share_file
from oxygen_ros.config.robot import Camera
from oxygen_ros.config.robot import RobotProfile
from oxygen_ros.config.robot_file import list_robots
from oxygen_ros.config.robot_file import load_robot
from oxygen_ros.config.tasks import choose_tasks
from oxygen_ros.config.tasks import load_tasks
from oxygen_ros.config.tasks import StandingTask
from oxygen_ros.config.thresholds import Thresholds

__all__ = [
    'Camera', 'choose_tasks', 'ConfigError', 'ControlConfig', 'EndEffector', 'EngineConfig',
    'find_share_file', 'Joint', 'Linkage', 'list_robots', 'load_robot', 'load_tasks',
    'RobotProfile', 'SchedulerConfig', 'StandingTask', 'Thresholds',
]
