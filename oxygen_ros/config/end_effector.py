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

"""How a model counts the pose of the tool, and how joints are found for it."""

from dataclasses import dataclass

from oxygen_ros.config.errors import ConfigError
from oxygen_ros.config.errors import require_choice
from oxygen_ros.config.errors import require_range

RELATIVE_TO = ('observation', 'previous')
FRAMES = ('base', 'tool')


@dataclass(frozen=True)
class EndEffector:
    """
    Convention of the action space ee_delta.

    A row of actions is [x y z m, rotation vector rad, grippers]. With frame base the tool moves
    by x y z and turns by the rotation vector, both along the axes of the base (as robosuite's and
    LIBERO's OSC controller count); with frame tool, along the tool's own axes.
    """

    relative_to: str = 'observation'   # every row from the observed pose, or from the row before
    frame: str = 'base'
    # Model state: of all rotation vectors of one orientation the one nearest to this, rad.
    rotation_near: tuple[float, float, float] = (0.0, 0.0, 0.0)
    tool_frame: str = ''               # of the URDF; '' where the robot takes poses itself
    # Inverse kinematics: one rad of rotation error counts as much as this many m.
    rotation_weight: float = 0.05

    def __post_init__(self):
        """Check every field."""
        require_choice('end_effector.relative_to', self.relative_to, RELATIVE_TO)
        require_choice('end_effector.frame', self.frame, FRAMES)
        require_range('end_effector.rotation_weight', self.rotation_weight, 0, 10, 'm/rad')
        if len(self.rotation_near) != 3:
            raise ConfigError(f'end_effector.rotation_near is {list(self.rotation_near)}; give a '
                              f'rotation vector of three numbers, rad')
        for value in self.rotation_near:
            require_range('end_effector.rotation_near', value, -10, 10, 'rad')
