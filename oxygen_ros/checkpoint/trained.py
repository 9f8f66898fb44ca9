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
"""Loads a trained checkpoint for one robot: everything that does not fit is refused first."""

from collections.abc import Callable
from dataclasses import replace
import logging

from oxygen_ros.checkpoint.base import LoadedPolicy
from oxygen_ros.checkpoint.description import Description
from oxygen_ros.checkpoint.description import WEIGHTS
from oxygen_ros.checkpoint.device import require_memory
from oxygen_ros.checkpoint.device import torch_dtype
from oxygen_ros.checkpoint.directory import describe
from oxygen_ros.checkpoint.directory import find
from oxygen_ros.checkpoint.directory import open_tokenizer
from oxygen_ros.checkpoint.normalise import Normalisation
from oxygen_ros.checkpoint.prompt import PromptBuilder
from oxygen_ros.checkpoint.weights import load_weights
from oxygen_ros.config import ConfigError
from oxygen_ros.config import EngineConfig
from oxygen_ros.config import RobotProfile
from oxygen_ros.models.pi05 import Pi05
from oxygen_ros.spaces import action_space

RELATIVE_SPACES = ('joint_delta',)

_logger = logging.getLogger(__name__)


def load_trained(checkpoint: str, config: EngineConfig, robot: RobotProfile | None,
                 on_progress: Callable[[str], None]) -> LoadedPolicy:
    """
    Load a directory or hub id; ConfigError names what is wrong and the remedy.

    Without a robot, states and actions are those of the data the checkpoint was trained on.
    """
    asset_id = config.asset_id or (robot.asset_id if robot else '')
    description = describe(find(checkpoint), asset_id=asset_id)
    if description.problems:
        raise ConfigError('; '.join(description.problems))
    prompt = open_prompt(description, config.tokenizer)
    normalisation = fit_robot(description, robot) if robot else fit_data(description)
    model = load_model(description, config, on_progress)
    return LoadedPolicy(
        name=checkpoint, trained=True, model=model, prompt=prompt, normalisation=normalisation,
        prefix_mode=description.architecture.prefix_mode,
        image_size=description.architecture.vision.image_size, cameras=description.cameras,
        end_ids=(prompt.tokenizer.eos_id,), antialias=description.antialias)


def open_prompt(description: Description, tokenizer: str) -> PromptBuilder:
    """Return the prompts of a checkpoint, tried once: a wrong tokenizer is refused here."""
    prompt = PromptBuilder(open_tokenizer(description, tokenizer),
                           with_state=description.with_state, max_tokens=description.max_tokens)
    vocab_size = description.architecture.text.vocab_size
    words = f'Task: pick up the cube, State: {" ".join(map(str, range(256)))};'
    largest = max(prompt.verbatim(words))
    if largest >= vocab_size:
        raise ConfigError(f'tokenizer {prompt.tokenizer.path} gives token {largest}, the model '
                          f'knows {vocab_size}; it belongs to another model')
    return prompt


def fit_robot(description: Description, robot: RobotProfile) -> Normalisation:
    """Return the statistics for one robot; ConfigError if the two do not belong together."""
    space, normalisation = action_space(robot), description.normalisation
    unknown = [slot for slot in robot.camera_slots if slot not in description.cameras]
    if unknown:
        raise ConfigError(f'robot {robot.name} has camera slots {", ".join(unknown)} that the '
                          f'checkpoint does not know; it knows {", ".join(description.cameras)}: '
                          'name the slots of the profile so')
    missing = [slot for slot in description.cameras if slot not in robot.camera_slots]
    if missing:
        _logger.warning('the checkpoint was trained with cameras that robot %s does not have: %s',
                        robot.name, ', '.join(missing))
    if description.relative_actions and robot.action_space not in RELATIVE_SPACES:
        raise ConfigError(f'{description.directory} was trained with actions relative to the '
                          f'state, and robot {robot.name} has the action space '
                          f'{robot.action_space}; choose one of: {", ".join(RELATIVE_SPACES)}')
    return replace(normalisation,
                   state=normalisation.state.cut_to(space.state_size, what='state'),
                   actions=normalisation.actions.cut_to(space.action_size, what='action'))


def fit_data(description: Description) -> Normalisation:
    """Return the statistics as they are, without padding."""
    if description.relative_actions:
        raise ConfigError(f'{description.directory} was trained with actions relative to the '
                          'state; give the robot, whose profile says for which joints')
    state, actions = description.normalisation.state, description.normalisation.actions
    return replace(description.normalisation, state=state.cut_to(state.used_size, what='state'),
                   actions=actions.cut_to(actions.used_size, what='action'))


def load_model(description: Description, config: EngineConfig,
               on_progress: Callable[[str], None]) -> Pi05:
    """Return the model with its weights, laid out for speed."""
    dtype = torch_dtype(config)
    require_memory(description.architecture, config, name=str(description.directory))
    model = Pi05.empty(description.architecture, dtype=dtype, device=config.device)
    load_weights(model, description.directory / WEIGHTS, on_progress)
    on_progress('preparing the weights for this machine')
    model.optimize(num_steps=config.num_denoise_steps, weights=config.weights)
    return model
