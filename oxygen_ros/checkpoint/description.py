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
"""What a checkpoint directory is and what running it takes, read without its weights."""

from collections.abc import Callable
from collections.abc import Mapping
from dataclasses import dataclass
import json
from pathlib import Path
from typing import Any

from oxygen_ros.checkpoint.normalise import Normalisation
from oxygen_ros.checkpoint.prompt import MAX_TOKENS
from oxygen_ros.config import ConfigError
from oxygen_ros.models.architecture import Architecture
from oxygen_ros.models.architecture import from_json
from oxygen_ros.models.architecture import full
from oxygen_ros.models.architecture import PREFIX_MODES

WEIGHTS, CONFIG = 'model.safetensors', 'config.json'
# Sizes of a model that is not one of the public ones; their config.json cannot express them.
ARCHITECTURES = ('architecture.json', 'tiny_architecture.json')
VARIANTS = {'paligemma_variant': 'gemma_2b', 'action_expert_variant': 'gemma_300m'}


@dataclass(frozen=True)
class Description:
    """A checkpoint as its files describe it; everything here belongs to its family."""

    family: str                        # 'openpi' or 'lerobot'
    directory: Path
    architecture: Architecture
    cameras: tuple[str, ...]           # camera slots, in the order the model sees them
    tokenizer: str                     # what the files name: a folder beside them or a hub id
    with_state: bool                   # the prompt carries the state
    antialias: bool                    # how pictures are made smaller
    max_tokens: int = MAX_TOKENS       # of the prompt
    relative_actions: bool = False     # the state is to be added to what the model says
    normalisation: Normalisation | None = None
    assets: tuple[str, ...] = ()       # ids of the robots it has statistics for
    problems: tuple[str, ...] = ()     # why it cannot run, each with its remedy


def read_json(path: Path) -> dict[str, Any]:
    """Return a JSON object; ConfigError names the file and what is wrong with it."""
    try:
        data = json.loads(path.read_text(encoding='utf-8'))
    except OSError as error:
        raise ConfigError(f'{path} cannot be read ({error.strerror}); check the checkpoint'
                          ) from error
    except ValueError as error:
        raise ConfigError(f'{path} is empty or damaged ({error}); get the file again') from error
    if not isinstance(data, dict):
        raise ConfigError(f'{path} holds {type(data).__name__}, not an object; get it again')
    return data


def read_architecture(directory: Path, config: Mapping[str, Any], *, horizon: int) -> Architecture:
    """
    Return the sizes of a model: of its architecture.json, else those of the public models.

    Raises ConfigError for sizes that are not known, and where the two files contradict.
    """
    path = next((directory / name for name in ARCHITECTURES if (directory / name).is_file()), None)
    if path is None:
        for key, known in VARIANTS.items():
            if config.get(key, known) != known:
                raise ConfigError(f'{directory / CONFIG}: {key} is {config[key]!r}, known is '
                                  f'{known}; merge LoRA weights into the model first, or describe '
                                  f'the sizes in {ARCHITECTURES[0]}')
        return full(horizon=horizon, action_dim=config.get('action_dim', 32),
                    prefix_mode=config.get('prefix_mode', PREFIX_MODES[0]))
    architecture = from_json(path)
    for key, own, other in (('horizon', architecture.horizon, horizon),
                            ('prefix_mode', architecture.prefix_mode, config.get('prefix_mode'))):
        if other is not None and own != other:
            raise ConfigError(f'{path} says {key} is {own}, {directory / CONFIG} says {other}; '
                              'the model was trained with one of them: remove the other')
    return architecture


def collect(problems: list[str], read: Callable[[], Any]) -> Any:
    """Return what read() returns; None, and its message among problems, where it is refused."""
    try:
        return read()
    except ConfigError as error:
        problems.append(str(error))
        return None
