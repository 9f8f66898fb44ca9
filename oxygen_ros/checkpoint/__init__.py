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

Imports models, types and config; knows nothing of requests, frames or ROS.
"""

from collections.abc import Callable
from pathlib import Path

from oxygen_ros.checkpoint.base import LoadedPolicy
from oxygen_ros.checkpoint.base import ModelInputs
from oxygen_ros.checkpoint.builtin import load_builtin
from oxygen_ros.checkpoint.builtin import PREFIX
from oxygen_ros.config import ConfigError
from oxygen_ros.config import EngineConfig
from oxygen_ros.config import RobotProfile

__all__ = ['load', 'LoadedPolicy', 'ModelInputs']


def load(checkpoint: str, engine_config: EngineConfig, robot: RobotProfile,
         on_progress: Callable[[str], None] | None = None) -> LoadedPolicy:
    """
    Load 'builtin:<size>' or a checkpoint directory for this robot.

    Raises ConfigError naming what is wrong and the remedy. on_progress gets one short line
    per stage.
    """
    if checkpoint.startswith(PREFIX):
        policy = load_builtin(checkpoint, engine_config, robot, on_progress or (lambda _: None))
    else:
        refuse_directory(Path(checkpoint))
    if len(robot.joints) > policy.action_dim:
        raise ConfigError(f'robot {robot.name} has {len(robot.joints)} joints, {policy.name} '
                          f'commands at most {policy.action_dim}; choose another checkpoint')
    return policy


def refuse_directory(path: Path) -> None:
    """Raise ConfigError that says why this directory cannot drive a robot."""
    if not path.exists():
        raise ConfigError(f"checkpoint {path} does not exist; give the path of a directory or "
                          "'builtin:tiny'")
    if not path.is_dir():
        raise ConfigError(f'checkpoint {path} is a file; give the directory that holds it')
    if not (path / 'model.safetensors').is_file():
        raise ConfigError(f'checkpoint {path} holds no model.safetensors; check the path')
    raise ConfigError(
        f'checkpoint {path} cannot drive a robot yet: this version does not read the '
        "normalisation of trained checkpoints, and without it actions would be wrong; "
        "use 'builtin:tiny'")
