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
"""A checkpoint as a Python object: the model without ROS, engine or robot."""

from collections.abc import Callable
from collections.abc import Mapping
from dataclasses import dataclass
import sys

import numpy as np
from numpy.typing import ArrayLike
from numpy.typing import NDArray
import torch

from oxygen_ros.checkpoint.base import LoadedPolicy
from oxygen_ros.checkpoint.base import ModelInputs
from oxygen_ros.checkpoint.builtin import load_builtin
from oxygen_ros.checkpoint.builtin import PREFIX
from oxygen_ros.checkpoint.images import prepare_images
from oxygen_ros.checkpoint.trained import load_trained
from oxygen_ros.config import ConfigError
from oxygen_ros.config import EngineConfig
from oxygen_ros.config import load_robot
from oxygen_ros.config import RobotProfile
from oxygen_ros.models.pool import KVPool
from oxygen_ros.models.segment import Segment
from oxygen_ros.spaces import action_space

STATE_MARK = '{state}'   # in a prompt of speak(): replaced by the bins of the state


@dataclass(frozen=True)
class Acted:
    """What the model does about one observation."""

    actions: NDArray[np.float32]         # [horizon, actions], robot units
    model_actions: NDArray[np.float32]   # [horizon, action_dim], normalised, as they came out
    prompt: str                          # exactly what the model read
    token_ids: tuple[int, ...]           # of the prompt, begin token included


@dataclass(frozen=True)
class Spoken:
    """What the model says about one observation."""

    token_ids: tuple[int, ...]           # of the text, end token not included
    text: str


class Policy:
    """A loaded checkpoint, made by `oxygen_ros.load_policy`. Not thread-safe."""

    def __init__(self, loaded: LoadedPolicy, robot: RobotProfile | None, *, device: str,
                 num_steps: int):
        self._loaded, self._robot, self._device = loaded, robot, device
        self._num_steps = num_steps

    @property
    def cameras(self) -> tuple[str, ...]:
        """Camera names, in the order the model sees them; not all need be given."""
        return self._loaded.cameras

    @property
    def horizon(self) -> int:
        """Actions per call."""
        return self._loaded.horizon

    @property
    def state_size(self) -> int:
        """Numbers in the state."""
        return (self._loaded.normalisation.state.size if self._robot is None
                else len(self._robot.joints))

    @property
    def action_dim(self) -> int:
        """Columns of model_actions and of noise."""
        return self._loaded.action_dim

    @torch.inference_mode()
    def act(self, images: Mapping[str, NDArray[np.uint8]], state: ArrayLike, instruction: str,
            noise: ArrayLike | None = None) -> Acted:
        """
        Return a chunk of actions.

        images: camera name -> [height, width, 3] RGB uint8, any size. state: robot units (those
        of the training data where no robot was given). noise: [horizon, action_dim], where the
        denoising starts; None takes the same every time. Raises ValueError for wrong inputs.
        """
        state = np.asarray(state, np.float64)
        self._check(images)
        inputs = self._loaded.inputs(images, self._bins(state), instruction)
        if noise is None:
            start = torch.randn(self.horizon, self.action_dim,
                                generator=torch.Generator().manual_seed(0))
        else:
            start = torch.tensor(np.asarray(noise, np.float32))
        if start.shape != (self.horizon, self.action_dim):
            raise ValueError(f'noise is {list(start.shape)}; give [{self.horizon}, '
                             f'{self.action_dim}]')
        pool, _ = self._encode(inputs, extra_rows=self.horizon)
        rows = inputs.num_rows
        actions = self._loaded.model.expert.denoise(
            start.to(self._device), (0, rows), rows, rows, pool, self._num_steps).cpu().numpy()
        return Acted(self._to_robot(actions, state), actions, inputs.prompt, inputs.token_ids)

    @torch.inference_mode()
    def speak(self, images: Mapping[str, NDArray[np.uint8]], state: ArrayLike | None,
              prompt: str, max_tokens: int) -> Spoken:
        """
        Return the most likely text that goes on from a prompt, at most max_tokens long.

        The model reads the pictures and then the prompt as it stands; '{state}' in it becomes
        the state as the model was trained to read it (then state must not be None).
        """
        self._check(images)
        if STATE_MARK in prompt:
            if state is None:
                raise ValueError(f'the prompt has {STATE_MARK} and state is None; give the state')
            bins = self._bins(np.asarray(state, np.float64))
            prompt = prompt.replace(STATE_MARK, ' '.join(map(str, bins)))
        loaded = self._loaded
        slots = tuple(slot for slot in self.cameras if slot in images)
        inputs = ModelInputs(
            prepare_images([images[slot] for slot in slots], loaded.image_size,
                           antialias=loaded.antialias),
            slots, prompt, tuple(loaded.prompt.verbatim(prompt)),
            len(slots) * loaded.model.architecture.vision.num_tokens)
        pool, hidden = self._encode(inputs, extra_rows=max_tokens)
        token_ids = self._decode(pool, hidden, inputs.num_rows, max_tokens)
        return Spoken(token_ids, loaded.tokenizer.decode(token_ids))

    def _encode(self, inputs: ModelInputs, *, extra_rows: int) -> tuple[KVPool, torch.Tensor]:
        model = self._loaded.model
        pool = KVPool(model.architecture, inputs.num_rows + extra_rows, device=self._device,
                      dtype=model.backbone.embedding.dtype)
        hidden = model.embed_prefix(inputs.images.to(self._device), list(inputs.token_ids))
        segment = model.prefix_segment(inputs.num_rows, num_image_rows=inputs.num_image_rows,
                                       write=0)
        return pool, model.backbone(hidden, (segment,), pool)

    def _decode(self, pool: KVPool, hidden: torch.Tensor, rows: int,
                max_tokens: int) -> tuple[int, ...]:
        backbone, token_ids = self._loaded.model.backbone, []
        while len(token_ids) < max_tokens:
            token_id = int(self._most_likely(backbone.logits(hidden[-1:])[0]))
            if token_id in self._loaded.end_ids:
                break
            token_ids.append(token_id)
            row = rows + len(token_ids) - 1
            segment = Segment(1, row, start=row, context=((0, row),))
            hidden = backbone(backbone.embed(token_ids[-1:]), (segment,), pool)
        return tuple(token_ids)

    def _most_likely(self, logits: torch.Tensor) -> torch.Tensor:
        if self._loaded.suppressed_ids:
            logits[list(self._loaded.suppressed_ids)] = -torch.inf
        return logits.argmax()

    def _check(self, images: Mapping[str, NDArray[np.uint8]]) -> None:
        unknown = sorted(set(images) - set(self.cameras))
        if unknown:
            raise ValueError(f'camera {unknown[0]!r} is not known; this checkpoint has '
                             f'{", ".join(self.cameras)}')
        for name, image in images.items():
            if getattr(image, 'dtype', None) != np.uint8:
                raise ValueError(f'camera {name!r} is {getattr(image, "dtype", type(image))}; '
                                 'give uint8 [height, width, 3] RGB')

    def _bins(self, state: NDArray) -> list[int]:
        if state.shape != (self.state_size,):
            raise ValueError(f'the state is {list(state.shape)}; give [{self.state_size}]')
        return self._loaded.bins(state if self._robot is None
                                 else action_space(self._robot).model_state(state))

    def _to_robot(self, actions: NDArray, state: NDArray) -> NDArray[np.float32]:
        normaliser = self._loaded.normalisation.actions
        actions = normaliser.restore(actions[:, :normaliser.size])
        if self._robot is not None:
            actions = action_space(self._robot).targets(actions, state)
        return actions.astype(np.float32)


def load_policy(path: str, *, dtype: str = 'float32', device: str = 'cpu',
                robot: str | RobotProfile = '', asset_id: str = '', tokenizer: str = '',
                num_steps: int = 10,
                on_progress: Callable[[str], None] | None = None) -> Policy:
    """Load a checkpoint; documented as oxygen_ros.load_policy."""
    profile = load_robot(robot) if isinstance(robot, str) and robot else robot or None
    config = EngineConfig(checkpoint=str(path), weights=str(dtype).removeprefix('torch.'),
                          device=device, asset_id=asset_id, tokenizer=tokenizer,
                          num_denoise_steps=num_steps)
    tell = on_progress or _terminal_line()
    if config.checkpoint.startswith(PREFIX):
        if profile is None:
            raise ConfigError(f'{path} has no robot of its own; give robot=, such as "so101"')
        loaded = load_builtin(config.checkpoint, config, profile, tell)
    else:
        loaded = load_trained(config.checkpoint, config, profile, tell)
    tell('')
    return Policy(loaded, profile, device=device, num_steps=num_steps)


def _terminal_line() -> Callable[[str], None]:
    """Return what shows progress in one line of a terminal, and nothing elsewhere."""
    stream = sys.stderr
    if not stream.isatty():
        return lambda text: None
    # Erase the line first: what was there may be longer.
    return lambda text: stream.write(f'\r\033[K{text}') and stream.flush()
