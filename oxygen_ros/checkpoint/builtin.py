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

"""Models that need no download: the trained one of the package, and sizes with random weights."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import torch

from oxygen_ros.checkpoint.base import LoadedPolicy
from oxygen_ros.checkpoint.device import torch_dtype
from oxygen_ros.checkpoint.normalise import between
from oxygen_ros.checkpoint.normalise import identity
from oxygen_ros.checkpoint.normalise import Normalisation
from oxygen_ros.checkpoint.prompt import PromptBuilder
from oxygen_ros.checkpoint.tiny_vocabulary import is_word
from oxygen_ros.checkpoint.tokenizer import TextTokenizer
from oxygen_ros.checkpoint.trained import load_trained
from oxygen_ros.config import ConfigError
from oxygen_ros.config import EngineConfig
from oxygen_ros.config import find_share_file
from oxygen_ros.config import RobotProfile
from oxygen_ros.models import architecture
from oxygen_ros.models.pi05 import Pi05
from oxygen_ros.spaces import action_space

PREFIX = 'builtin:'
TOKENIZER_FILE = Path(__file__).with_name('tiny_tokenizer.json')
SIZES = {'tiny': architecture.tiny, 'mid': architecture.mid}    # random weights
TRAINED = {'tabletop': 'checkpoints/tabletop'}                  # shipped with the package


def load_builtin(name: str, engine_config: EngineConfig, robot: RobotProfile,
                 on_progress: Callable[[str], None]) -> LoadedPolicy:
    """Load a shipped checkpoint, or build a size with weights drawn from the configured seed."""
    size = name[len(PREFIX):]
    if size in TRAINED:
        directory = str(find_share_file(TRAINED[size]))
        return replace(load_trained(directory, engine_config, robot, on_progress), name=name)
    if size not in SIZES:
        raise ConfigError(f'checkpoint {name!r} is not known; choose one of: '
                          f'{", ".join(PREFIX + known for known in (*SIZES, *TRAINED))}')
    tokenizer = TextTokenizer(TOKENIZER_FILE)
    sizes = SIZES[size]()
    on_progress(f'building {name} with random weights')
    model = Pi05(sizes)
    model.random_weights(engine_config.seed)
    model.set_dtype(torch_dtype(engine_config))
    model.to(torch.device(engine_config.device))
    model.optimize(num_steps=engine_config.num_denoise_steps, weights=engine_config.weights)
    allowed = {index for index, piece in enumerate(tokenizer.pieces) if is_word(piece)}
    allowed.add(tokenizer.eos_id)
    space = action_space(robot)
    return LoadedPolicy(
        name=name, trained=False, model=model, prompt=PromptBuilder(tokenizer),
        normalisation=Normalisation(between(*space.state_range), identity(space.action_size),
                                    source='the limits of the robot profile'),
        prefix_mode=sizes.prefix_mode, image_size=sizes.vision.image_size,
        cameras=robot.camera_slots, end_ids=(tokenizer.eos_id,),
        suppressed_ids=tuple(index for index in range(sizes.text.vocab_size)
                             if index not in allowed))
