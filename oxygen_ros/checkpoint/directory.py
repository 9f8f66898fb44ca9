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
"""Finds a checkpoint and tells what kind it is."""

from dataclasses import replace
import os
from pathlib import Path

from oxygen_ros.checkpoint import lerobot
from oxygen_ros.checkpoint import openpi
from oxygen_ros.checkpoint.description import CONFIG
from oxygen_ros.checkpoint.description import Description
from oxygen_ros.checkpoint.description import read_json
from oxygen_ros.checkpoint.description import WEIGHTS
from oxygen_ros.checkpoint.hub import fetch_checkpoint
from oxygen_ros.checkpoint.hub import fetch_tokenizer
from oxygen_ros.checkpoint.hub import is_hub_id
from oxygen_ros.checkpoint.tokenizer import TextTokenizer
from oxygen_ros.config import ConfigError

TOKENIZER_FILES = ('tokenizer.json', 'tokenizer.model', 'paligemma_tokenizer.model')
PUBLIC_TOKENIZER = 'google/paligemma-3b-pt-224'
# LeRobot's output folder holds the policy in here.
INNER = 'pretrained_model'


def find(checkpoint: str) -> Path:
    """Return the directory of a path or hub id; ConfigError with the remedy."""
    if is_hub_id(checkpoint):
        return fetch_checkpoint(checkpoint)
    path = Path(checkpoint).expanduser()
    if not path.exists():
        raise ConfigError(f"checkpoint {path} does not exist; give the path of a directory, a hub "
                          "id such as 'lerobot/pi05_base', or 'builtin:tiny'")
    if not path.is_dir():
        raise ConfigError(f'checkpoint {path} is a file; give the directory that holds it')
    return path


def describe(directory: Path, *, asset_id: str = '') -> Description:
    """
    Describe a checkpoint from its small files.

    Raises ConfigError if it is of no known kind; what else keeps it from running is listed in
    `problems`.
    """
    if openpi.is_jax(directory) and not (directory / WEIGHTS).is_file():
        raise ConfigError(f'{directory} is a JAX checkpoint of openpi, which PyTorch cannot read; '
                          + openpi.JAX_REMEDY.format(directory=directory))
    if not any(directory.iterdir()):
        raise ConfigError(f'checkpoint {directory} is empty; check the path')
    missing = ''
    if not (directory / WEIGHTS).is_file():
        missing = f'checkpoint {directory} holds no {WEIGHTS}; {_hint(directory)}'
    if not (directory / CONFIG).is_file():
        raise ConfigError(missing or f'checkpoint {directory} holds no {CONFIG}, which says what '
                          'kind it is; get the whole directory')
    config = read_json(directory / CONFIG)
    if 'type' in config:
        description = lerobot.describe(directory, config)
    else:
        description = openpi.describe(directory, config, asset_id)
    if missing:
        return replace(description, problems=(missing, *description.problems))
    return description


def open_tokenizer(description: Description, wanted: str = '') -> TextTokenizer:
    """
    Return the tokenizer of a checkpoint.

    wanted: a file, a folder or a hub id; '' takes the one beside the weights, then what the
    checkpoint names, then the one of PaliGemma that openpi or the hub has left on this machine.
    """
    directory = description.directory
    if wanted:
        found = _tokenizer_at(Path(wanted).expanduser())
        if found is None and not is_hub_id(wanted):
            raise ConfigError(f'tokenizer {wanted} holds none of {", ".join(TOKENIZER_FILES)}; '
                              'give the path of a tokenizer.json or a sentencepiece .model')
        return TextTokenizer(found or fetch_tokenizer(wanted, TOKENIZER_FILES))
    places = [directory, directory / 'tokenizer', openpi_cache()]
    if description.tokenizer:
        places.insert(0, directory / description.tokenizer)
    for place in places:
        found = _tokenizer_at(place)
        if found is not None:
            return TextTokenizer(found)
    named = description.tokenizer or PUBLIC_TOKENIZER
    if not is_hub_id(named):
        raise ConfigError(f'{directory} names the tokenizer {named!r}, which is not there; copy '
                          'tokenizer.json or a sentencepiece .model into the checkpoint '
                          'directory, or set tokenizer to the path of one')
    return TextTokenizer(fetch_tokenizer(named, TOKENIZER_FILES))


def openpi_cache() -> Path:
    """Return where openpi keeps the tokenizer it has downloaded."""
    home = os.environ.get('OPENPI_DATA_HOME') or '~/.cache/openpi'
    return Path(home).expanduser() / 'big_vision'


def _tokenizer_at(place: Path) -> Path | None:
    if place.is_file():
        return place
    if not place.is_dir():
        return None
    files = [place / name for name in TOKENIZER_FILES if (place / name).is_file()]
    files += sorted(place.glob('*.model'))
    return files[0] if files else None


def _hint(directory: Path) -> str:
    """Say what a directory without weights may be instead."""
    inner = directory / INNER
    if (inner / WEIGHTS).is_file():
        return f'give {inner}'
    if (directory / 'adapter_config.json').is_file():
        return 'it is a LoRA adapter: merge it into its base model and save that'
    if (directory / f'{WEIGHTS}.index.json').is_file():
        return 'its weights are split into several files: save them again as one'
    return 'check the path, and that large files were downloaded'
