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
The demo robot: an SO-101 arm before a table with coloured cubes, in MuJoCo.

scene -> rendering, tasks -> table_top. Imports types and config only; knows no ROS.
"""

from oxygen_ros.sim.rendering import RenderingError
from oxygen_ros.sim.scene import CAMERAS
from oxygen_ros.sim.scene import CUBE_COLORS
from oxygen_ros.sim.table_top import TableTop
from oxygen_ros.sim.tasks import ALL_TASKS
from oxygen_ros.sim.tasks import Task

__all__ = ['ALL_TASKS', 'CAMERAS', 'CUBE_COLORS', 'RenderingError', 'TableTop', 'Task']
