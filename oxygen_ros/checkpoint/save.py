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
"""Writes checkpoints in the public layouts; what `load` reads, and what fine-tuning leaves."""

from collections.abc import Mapping
from collections.abc import Sequence
import json
from pathlib import Path
import shutil
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from safetensors.numpy import save as to_bytes
import torch

from oxygen_ros.checkpoint import lerobot
from oxygen_ros.checkpoint import openpi
from oxygen_ros.checkpoint.description import ARCHITECTURES
from oxygen_ros.checkpoint.description import CONFIG
from oxygen_ros.checkpoint.description import VARIANTS
from oxygen_ros.checkpoint.description import WEIGHTS
from oxygen_ros.checkpoint.names import destinations
from oxygen_ros.checkpoint.names import EMBEDDINGS
from oxygen_ros.checkpoint.normalise import MEAN_STD
from oxygen_ros.checkpoint.normalise import QUANTILES
from oxygen_ros.checkpoint.prompt import MAX_TOKENS
from oxygen_ros.checkpoint.tensor_file import write_tensors
from oxygen_ros.models.architecture import full
from oxygen_ros.models.architecture import to_json
from oxygen_ros.models.pi05 import Pi05

LAYOUTS = (lerobot.FAMILY, openpi.FAMILY)

Statistics = Mapping[str, Mapping[str, ArrayLike]]


def save(model: Pi05, directory: Path | str, *, layout: str, statistics: Statistics,
         tokenizer: Path, cameras: Sequence[str], normalisation: str = QUANTILES,
         asset_id: str = 'robot', with_state: bool = True, max_tokens: int = MAX_TOKENS,
         dtype: torch.dtype = torch.float32) -> None:
    """
    Write a model and everything it needs to run into a directory.

    layout: 'lerobot' or 'openpi'. statistics: {'state': {...}, 'actions': {...}}, per entry in
    robot units, with the keys of the normalisation ('q01' and 'q99', 'mean' and 'std', 'min' and
    'max'; more are kept); those of actions may be [horizon, entries]. tokenizer: a tokenizer.json
    or sentencepiece .model. cameras: slots in the order the model saw them. asset_id: where openpi
    looks for the statistics. with_state: False for a prompt without state (openpi only). Sizes
    other than the public ones are described in architecture.json. Raises ValueError for what the
    layout cannot express.
    """
    if layout not in LAYOUTS:
        raise ValueError(f'layout is {layout!r}; choose one of: {", ".join(LAYOUTS)}')
    if model.backbone.layers[0].qkv.weight is None:
        raise ValueError('the model was laid out for speed and has no weights to save any more; '
                         'save before optimize()')
    directory = Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    sizes = model.architecture
    if sizes != full(horizon=sizes.horizon, action_dim=sizes.action_dim,
                     prefix_mode=sizes.prefix_mode):
        (directory / ARCHITECTURES[0]).write_text(to_json(sizes), encoding='utf-8')
    if layout == openpi.FAMILY:
        prefix = ''
        if normalisation not in (QUANTILES, MEAN_STD):
            raise ValueError(f"openpi has no normalisation {normalisation!r}; choose the layout "
                             "'lerobot'")
        _write_openpi(directory, model, statistics, cameras, normalisation, asset_id=asset_id,
                      with_state=with_state, max_tokens=max_tokens)
        shutil.copyfile(tokenizer, directory / _tokenizer_name(tokenizer))
    else:
        prefix = 'model.'
        if sizes.prefix_mode != 'bidirectional' or not with_state:
            raise ValueError('LeRobot has no pi05 with another prefix mode or without the state '
                             "in its prompt; choose the layout 'openpi'")
        _write_lerobot(directory, model, statistics, cameras, normalisation,
                       max_tokens=max_tokens)
        (directory / 'tokenizer').mkdir(exist_ok=True)
        shutil.copyfile(tokenizer, directory / 'tokenizer' / _tokenizer_name(tokenizer))
    tensors = {**dict(destinations(model)), EMBEDDINGS[1]: model.backbone.embedding}
    write_tensors(directory / WEIGHTS, {prefix + name: tensor for name, tensor in tensors.items()},
                  dtype)


def _write_openpi(directory: Path, model: Pi05, statistics: Statistics, cameras: Sequence[str],
                  normalisation: str, *, asset_id: str, with_state: bool,
                  max_tokens: int) -> None:
    sizes = model.architecture
    config = {'action_dim': sizes.action_dim, 'action_horizon': sizes.horizon, **VARIANTS,
              'discrete_state_input': with_state, 'max_token_len': max_tokens,
              'prefix_mode': sizes.prefix_mode, 'image_keys': list(cameras),
              'use_quantile_norm': normalisation == QUANTILES}
    _write_json(directory / CONFIG, config)
    folder = directory / 'assets' / asset_id
    folder.mkdir(parents=True, exist_ok=True)
    _write_json(folder / openpi.STATISTICS, {'norm_stats': {
        part: {name: np.asarray(value, np.float64).tolist() for name, value in entries.items()}
        for part, entries in statistics.items()}})


def _write_lerobot(directory: Path, model: Pi05, statistics: Statistics, cameras: Sequence[str],
                   normalisation: str, *, max_tokens: int) -> None:
    sizes, size = model.architecture, model.architecture.vision.image_size
    lengths = {part: int(np.shape(next(iter(entries.values())))[-1])
               for part, entries in statistics.items()}
    pictures = {f'observation.images.{slot}': {'type': 'VISUAL', 'shape': [3, size, size]}
                for slot in cameras}
    inputs = {**pictures, lerobot.STATE: {'type': 'STATE', 'shape': [lengths['state']]}}
    outputs = {lerobot.ACTION: {'type': 'ACTION', 'shape': [lengths['actions']]}}
    modes = {'VISUAL': 'IDENTITY', 'STATE': normalisation.upper(),
             'ACTION': normalisation.upper()}
    _write_json(directory / CONFIG, {
        'type': lerobot.MODEL_TYPE, 'input_features': inputs, 'output_features': outputs,
        **VARIANTS, 'chunk_size': sizes.horizon, 'n_action_steps': sizes.horizon,
        'max_action_dim': sizes.action_dim, 'image_resolution': [size, size],
        'min_period': sizes.min_period, 'max_period': sizes.max_period,
        'tokenizer_max_length': max_tokens, 'normalization_mapping': modes})
    files = {lerobot.PREPROCESSOR: 'policy_preprocessor_step_2_normalizer_processor.safetensors',
             lerobot.POSTPROCESSOR: 'policy_postprocessor_step_0_unnormalizer_processor.'
                                    'safetensors'}
    tensors = {f'{feature}.{name}': np.asarray(value, np.float32)
               for feature, part in ((lerobot.STATE, 'state'), (lerobot.ACTION, 'actions'))
               for name, value in statistics[part].items()}
    for name in files.values():
        (directory / name).write_bytes(to_bytes(tensors))
    _write_json(directory / lerobot.PREPROCESSOR, {'name': 'policy_preprocessor', 'steps': [
        _step('rename_observations_processor', rename_map={}), _step('to_batch_processor'),
        {**_step('normalizer_processor', eps=1e-8, features={**inputs, **outputs},
                 norm_map=modes), 'state_file': files[lerobot.PREPROCESSOR]},
        _step('pi05_prepare_state_tokenizer_processor_step'),
        _step('tokenizer_processor', max_length=max_tokens, task_key='task', truncation=True,
              padding_side='right', padding='max_length', tokenizer_name='tokenizer')]})
    _write_json(directory / lerobot.POSTPROCESSOR, {'name': 'policy_postprocessor', 'steps': [
        {**_step('unnormalizer_processor', eps=1e-8, features=outputs, norm_map=modes),
         'state_file': files[lerobot.POSTPROCESSOR]}]})


def _step(name: str, **config: Any) -> dict[str, Any]:
    return {'registry_name': name, 'config': config}


def _tokenizer_name(path: Path) -> str:
    return 'tokenizer.model' if Path(path).suffix == '.model' else 'tokenizer.json'


def _write_json(path: Path, data: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(data, indent=2) + '\n', encoding='utf-8')
