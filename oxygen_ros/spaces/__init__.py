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

"""Action spaces: from what a model says to where each joint of one robot goes, and back."""

from functools import lru_cache

from oxygen_ros.config import RobotProfile
from oxygen_ros.spaces.base import ActionSpace
from oxygen_ros.spaces.joints import JointDelta
from oxygen_ros.spaces.joints import JointPosition

__all__ = ['ActionSpace', 'action_space']

_SPACES = {'joint_position': JointPosition, 'joint_delta': JointDelta}


@lru_cache(maxsize=8)
def action_space(robot: RobotProfile) -> ActionSpace:
    """Return the action space of a profile; one object per profile."""
    return _SPACES[robot.action_space](robot)
