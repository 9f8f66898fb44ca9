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
"""openpi's PyTorch layout: model.safetensors, config.json, assets/<asset id>/norm_stats.json."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from oxygen_ros.checkpoint.description import collect
from oxygen_ros.checkpoint.description import CONFIG
from oxygen_ros.checkpoint.description import Description
from oxygen_ros.checkpoint.description import read_architecture
from oxygen_ros.checkpoint.description import read_json
from oxygen_ros.checkpoint.normalise import MEAN_STD
from oxygen_ros.checkpoint.normalise import Normalisation
from oxygen_ros.checkpoint.normalise import openpi_normaliser
from oxygen_ros.checkpoint.normalise import QUANTILES
from oxygen_ros.checkpoint.prompt import MAX_TOKENS
from oxygen_ros.config import ConfigError

FAMILY = 'openpi'
STATISTICS = 'norm_stats.json'
CAMERAS = ('base_0_rgb', 'left_wrist_0_rgb', 'right_wrist_0_rgb')
# Trained by openpi with discrete_state_input=False, which its files do not say.
WITHOUT_STATE = ('physical-intelligence/libero',)
JAX_REMEDY = (
    'convert it once, in an openpi checkout: python examples/convert_jax_model_to_pytorch.py '
    '--checkpoint_dir {directory} --config_name <its training config, such as pi05_droid> '
    '--output_path <new directory>, copy its assets folder there, and give the new directory')


def is_jax(directory: Path) -> bool:
    """Return whether this is a checkpoint of openpi's JAX trainer."""
    return any((directory / name).exists() for name in (
        'params/_METADATA', 'params/manifest.ocdbt', 'params/ocdbt.process_0', 'params/_sharding'))


def describe(directory: Path, config: Mapping[str, Any], asset_id: str) -> Description:
    """Describe a checkpoint; asset_id chooses the robot, '' where there is only one."""
    if 'action_horizon' not in config:
        raise ConfigError(f'{directory / CONFIG} lacks action_horizon; write there the values of '
                          'the training config: {"action_dim": 32, "action_horizon": 50, '
                          '"paligemma_variant": "gemma_2b", "action_expert_variant": '
                          '"gemma_300m", "precision": "bfloat16"}')
    problems: list[str] = []
    assets = asset_ids(directory)
    chosen = collect(problems, lambda: choose_asset(directory, assets, asset_id))
    mode = QUANTILES if config.get('use_quantile_norm', True) else MEAN_STD
    normalisation = None
    if chosen is not None:
        normalisation = collect(problems, lambda: read_statistics(
            directory / 'assets' / chosen / STATISTICS, mode))
    return Description(
        FAMILY, directory,
        read_architecture(directory, config, horizon=config['action_horizon']),
        cameras=tuple(config.get('image_keys', CAMERAS)), tokenizer='',
        with_state=config.get('discrete_state_input', chosen not in WITHOUT_STATE),
        antialias=True, max_tokens=config.get('max_token_len', MAX_TOKENS),
        normalisation=normalisation, assets=assets, problems=tuple(problems))


def asset_ids(directory: Path) -> tuple[str, ...]:
    """Return the ids of the robots this checkpoint has statistics for."""
    assets = directory / 'assets'
    return tuple(sorted(path.parent.relative_to(assets).as_posix()
                        for path in assets.rglob(STATISTICS)))


def choose_asset(directory: Path, assets: tuple[str, ...], asset_id: str) -> str:
    """Return the id to use; ConfigError says what was looked for and which ids exist."""
    wanted = directory / 'assets' / (asset_id or '<asset id>') / STATISTICS
    if not assets:
        raise ConfigError(f'no normalisation statistics: {wanted} does not exist; copy the assets '
                          "folder of the training run there (openpi's scripts/"
                          'compute_norm_stats.py makes it), without it actions would be wrong')
    if asset_id and asset_id not in assets:
        raise ConfigError(f'no normalisation statistics: {wanted} does not exist; set asset_id to '
                          f'one of: {", ".join(assets)}')
    if not asset_id and len(assets) > 1:
        raise ConfigError(f'{directory} has statistics of several robots; set asset_id to one of: '
                          f'{", ".join(assets)}')
    return asset_id or assets[0]


def read_statistics(path: Path, mode: str) -> Normalisation:
    """Return the normalisation of one norm_stats.json."""
    data = read_json(path).get('norm_stats') or {}
    for key in ('state', 'actions'):
        if not isinstance(data.get(key), dict):
            raise ConfigError(f"{path} lacks norm_stats.{key}; compute it with openpi's "
                              'scripts/compute_norm_stats.py')
    return Normalisation(
        state=openpi_normaliser(mode, data['state'], where=f'{path}, state'),
        actions=openpi_normaliser(mode, data['actions'], where=f'{path}, actions'),
        source=str(path))
