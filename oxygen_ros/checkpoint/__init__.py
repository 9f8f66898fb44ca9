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
Bytes to a ready model: weights, tokenizer, prompt, units.

Imports models, spaces, types and config; knows nothing of requests, frames or ROS.
"""

from collections.abc import Callable

from oxygen_ros.checkpoint.base import LoadedPolicy
from oxygen_ros.checkpoint.base import ModelInputs
from oxygen_ros.checkpoint.builtin import load_builtin
from oxygen_ros.checkpoint.builtin import PREFIX
from oxygen_ros.checkpoint.trained import load_trained
from oxygen_ros.config import ConfigError
from oxygen_ros.config import EngineConfig
from oxygen_ros.config import RobotProfile
from oxygen_ros.spaces import action_space

__all__ = ['load', 'LoadedPolicy', 'ModelInputs']


def load(checkpoint: str, engine_config: EngineConfig, robot: RobotProfile,
         on_progress: Callable[[str], None] = lambda _: None) -> LoadedPolicy:
    """
    Load 'builtin:<size>', a checkpoint directory or a hub id for this robot.

    Raises ConfigError naming what is wrong and the remedy. on_progress gets one short line
    per stage.
    """
    read = load_builtin if checkpoint.startswith(PREFIX) else load_trained
    policy = read(checkpoint, engine_config, robot, on_progress)
    if action_space(robot).action_size > policy.action_dim:
        raise ConfigError(f'robot {robot.name} has {action_space(robot).action_size} actions, '
                          f'{policy.name} has at most {policy.action_dim}; choose another '
                          'checkpoint')
    return policy
