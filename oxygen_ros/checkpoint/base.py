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
"""A model ready to run: weights, tokenizer, and the way from robot units to model units."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
import torch

from oxygen_ros.checkpoint.images import prepare_images
from oxygen_ros.checkpoint.normalise import Normalisation
from oxygen_ros.checkpoint.prompt import PromptBuilder
from oxygen_ros.checkpoint.prompt import state_bins
from oxygen_ros.checkpoint.tokenizer import TextTokenizer
from oxygen_ros.config import RobotProfile
from oxygen_ros.models.pi05 import Pi05
from oxygen_ros.spaces import action_space
from oxygen_ros.types import Observation


@dataclass(frozen=True)
class ModelInputs:
    """One observation as the model takes it; what is absent is not there, nothing is padded."""

    images: torch.Tensor          # cpu float32 [n, 3, size, size] in [-1, 1], n may be 0
    slots: tuple[str, ...]        # camera slot of each picture
    prompt: str                   # task and state
    token_ids: tuple[int, ...]    # of the prompt
    num_image_rows: int           # prefix rows before the tokens

    @property
    def num_rows(self) -> int:
        """Rows of the whole prefix."""
        return self.num_image_rows + len(self.token_ids)


@dataclass(frozen=True)
class LoadedPolicy:
    """What the engine runs. Not thread-safe: one engine owns it."""

    name: str
    trained: bool                     # False: weights are random, actions mean nothing
    model: Pi05
    prompt: PromptBuilder
    normalisation: Normalisation      # cut to the robot it was loaded for
    prefix_mode: str
    image_size: int
    cameras: tuple[str, ...]          # slots in the order the model sees them
    end_ids: tuple[int, ...]          # any of them ends a text
    suppressed_ids: tuple[int, ...] = ()   # never picked in free text; `choices` may use them
    antialias: bool = True            # how pictures are made smaller

    @property
    def tokenizer(self) -> TextTokenizer:
        """The tokenizer of prompts and texts."""
        return self.prompt.tokenizer

    @property
    def horizon(self) -> int:
        """Actions per chunk."""
        return self.model.architecture.horizon

    @property
    def action_dim(self) -> int:
        """Columns of the model's actions, of which a robot uses the first few."""
        return self.model.architecture.action_dim

    @property
    def max_prefix_rows(self) -> int:
        """Most rows a prefix can have, to size the KV pool."""
        image_rows = len(self.cameras) * self.model.architecture.vision.num_tokens
        return image_rows + self.prompt.max_tokens

    def prepare(self, observation: Observation, robot: RobotProfile) -> ModelInputs:
        """Return the inputs of one observation."""
        state = action_space(robot).model_state(observation.state)
        return self.inputs(observation.images, self.bins(state), observation.prompt)

    def bins(self, state: NDArray) -> list[int]:
        """Return the bins of a model state, before normalisation."""
        return state_bins(self.normalisation.state.normalise(state))

    def inputs(self, images: Mapping[str, NDArray[np.uint8]], bins: list[int],
               task: str) -> ModelInputs:
        """Return the model's inputs for pictures [height, width, 3] by camera slot."""
        slots = tuple(slot for slot in self.cameras if slot in images)
        prompt, token_ids = self.prompt.build(task, bins)
        return ModelInputs(
            images=prepare_images([images[slot] for slot in slots], self.image_size,
                                  antialias=self.antialias),
            slots=slots, prompt=prompt, token_ids=tuple(token_ids),
            num_image_rows=len(slots) * self.model.architecture.vision.num_tokens)

    def robot_actions(self, model_actions: torch.Tensor | NDArray[np.float32],
                      observation: Observation, robot: RobotProfile) -> NDArray[np.float32]:
        """
        Return absolute joint targets [n, num_joints] in robot units.

        n is the horizon, or what the robot uses of it.
        """
        actions = np.asarray(model_actions.cpu() if torch.is_tensor(model_actions)
                             else model_actions, np.float64)
        space = action_space(robot)
        actions = actions[:robot.horizon or None, :space.action_size]
        actions = self.normalisation.actions.restore(actions)
        targets = space.targets(actions, observation.state)
        return targets.astype(np.float32)

    def model_actions(self, targets: NDArray, observation: Observation,
                      robot: RobotProfile) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        """
        Undo robot_actions: joint targets [n, num_joints] to model actions [n, action_dim].

        Also returns where they say something: not in columns that this robot does not use.
        """
        space = action_space(robot)
        told = self.normalisation.actions.normalise(space.actions(targets, observation.state))
        actions = np.zeros((len(targets), self.action_dim), np.float32)
        known = np.zeros(actions.shape, bool)
        known[:, :space.action_size] = np.isfinite(told)
        actions[known] = told[np.isfinite(told)]
        return actions, known

    def suffix_ids(self, text: str) -> list[int]:
        """Return the ids of a private prompt that follows the shared prefix; may be empty."""
        return self.tokenizer.encode(text)
