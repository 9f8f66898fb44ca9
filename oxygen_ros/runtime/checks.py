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

"""What a session refuses at its door."""

from typing import Mapping

import numpy as np
from numpy.typing import NDArray

from oxygen_ros.config import RobotProfile
from oxygen_ros.runtime.protocol import EngineState
from oxygen_ros.runtime.protocol import EngineStatus


def check_observation(images: Mapping[str, NDArray[np.uint8]], state: NDArray[np.float32],
                      robot: RobotProfile) -> None:
    """Raise ValueError unless these are pictures and a state of this robot."""
    for slot, image in images.items():
        if slot not in robot.camera_slots:
            raise ValueError(f'camera {slot!r} is not in the robot profile; '
                             f'known: {", ".join(robot.camera_slots)}')
        if image.dtype != np.uint8 or image.ndim != 3 or image.shape[2] != 3 or not image.size:
            raise ValueError(f'picture of {slot} is {image.dtype} {image.shape}; '
                             'give uint8 [height, width, 3]')
    if state.shape != (len(robot.joints),):
        raise ValueError(f'state has shape {state.shape}; give one value per joint, '
                         f'{len(robot.joints)}')


def why_not_active(robot: RobotProfile, engine: EngineStatus | None) -> str:
    """Return why a robot must not move, with the remedy; '' if it may. engine None: no engine."""
    if robot.missing_limits:
        return (f'robot {robot.name} lacks the limits {", ".join(robot.missing_limits)}; add them '
                'to its profile, without them it must not move')
    if engine is None or engine.state is EngineState.FAILED:
        detail = f' ({engine.detail})' if engine else ''
        return f'the engine is not running{detail}; configure the session'
    return ''
