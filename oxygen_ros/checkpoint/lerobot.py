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
"""LeRobot's layout: config.json, two processor pipelines and the files that those name."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file

from oxygen_ros.checkpoint.description import collect
from oxygen_ros.checkpoint.description import CONFIG
from oxygen_ros.checkpoint.description import Description
from oxygen_ros.checkpoint.description import read_architecture
from oxygen_ros.checkpoint.description import read_json
from oxygen_ros.checkpoint.normalise import IDENTITY
from oxygen_ros.checkpoint.normalise import lerobot_normaliser
from oxygen_ros.checkpoint.normalise import Normalisation
from oxygen_ros.checkpoint.normalise import Normaliser
from oxygen_ros.checkpoint.prompt import MAX_TOKENS
from oxygen_ros.config import ConfigError

FAMILY = 'lerobot'
MODEL_TYPE = 'pi05'
PREPROCESSOR, POSTPROCESSOR = 'policy_preprocessor.json', 'policy_postprocessor.json'
STATE, ACTION, PICTURE = 'observation.state', 'action', 'VISUAL'
# Steps this module reproduces, or that concern only LeRobot's own batches and devices.
KNOWN_STEPS = {
    'rename_observations_processor', 'to_batch_processor', 'relative_actions_processor',
    'normalizer_processor', 'pi05_prepare_state_tokenizer_processor_step', 'tokenizer_processor',
    'device_processor', 'unnormalizer_processor', 'absolute_actions_processor'}
NO_STATISTICS = (
    'train or fine-tune with LeRobot, which stores the statistics of the data set with the '
    'policy, or save the policy again with make_pre_post_processors(dataset_stats=...)')

Step = Mapping[str, Any]


def describe(directory: Path, config: Mapping[str, Any]) -> Description:
    """Describe a checkpoint."""
    if config['type'] != MODEL_TYPE:
        raise ConfigError(f'{directory} is a {config["type"]!r} policy; this package runs '
                          f'{MODEL_TYPE!r}')
    problems: list[str] = []
    before = collect(problems, lambda: read_steps(directory / PREPROCESSOR)) or {}
    after = collect(problems, lambda: read_steps(directory / POSTPROCESSOR)) or {}
    inputs, outputs = config.get('input_features') or {}, config.get('output_features') or {}
    normalisation = None
    if before and after:
        normalisation = collect(problems, lambda: Normalisation(
            read_normaliser(directory, before, 'normalizer_processor', STATE, inputs),
            read_normaliser(directory, after, 'unnormalizer_processor', ACTION, outputs),
            source=str(directory / state_file(before, 'normalizer_processor'))))
        collect(problems, lambda: check_pictures(directory, before))
    tokens = before.get('tokenizer_processor', {}).get('config', {})
    return Description(
        FAMILY, directory, read_sizes(directory, config), cameras=cameras(inputs, before),
        tokenizer=tokens.get('tokenizer_name', ''), with_state=True, antialias=False,
        max_tokens=tokens.get('max_length', MAX_TOKENS),
        relative_actions=bool(before.get('relative_actions_processor', {}).get('config', {}).get(
            'enabled')),
        normalisation=normalisation, problems=tuple(problems))


def read_sizes(directory: Path, config: Mapping[str, Any]):
    """Return the architecture; LeRobot's prefix is always bidirectional."""
    if 'chunk_size' not in config:
        raise ConfigError(f'{directory / CONFIG} lacks chunk_size; get the file again')
    if config.get('prefix_mode', 'bidirectional') != 'bidirectional':
        raise ConfigError(f'{directory / CONFIG}: prefix_mode is {config["prefix_mode"]!r}; '
                          'LeRobot trains pi05 with a bidirectional prefix')
    sizes = read_architecture(
        directory, {**config, 'prefix_mode': 'bidirectional',
                    'action_dim': config.get('max_action_dim', 32)}, horizon=config['chunk_size'])
    height, width = config.get('image_resolution') or [sizes.vision.image_size] * 2
    if height != width:
        raise ConfigError(f'{directory / CONFIG}: image_resolution is {height} x {width}; only '
                          'square ones are known')
    return replace(sizes, vision=replace(sizes.vision, image_size=height),
                   min_period=config.get('min_period', sizes.min_period),
                   max_period=config.get('max_period', sizes.max_period))


def read_steps(path: Path) -> dict[str, Step]:
    """Return the steps of a pipeline by name; ConfigError for one that would be left out."""
    if not path.is_file():
        raise ConfigError(f'no normalisation statistics: {path} does not exist; {NO_STATISTICS}')
    steps = {str(step.get('registry_name')): step for step in read_json(path).get('steps') or ()}
    unknown = sorted(set(steps) - KNOWN_STEPS)
    if unknown:
        raise ConfigError(f'{path} has the step {unknown[0]!r}, which this package does not '
                          'reproduce; without it actions would be wrong')
    return steps


def state_file(steps: Mapping[str, Step], name: str) -> str:
    """Return the file of a step's tensors, whose name differs between versions."""
    return steps.get(name, {}).get('state_file', '')


def read_normaliser(directory: Path, steps: Mapping[str, Step], name: str, feature: str,
                    features: Mapping[str, Any]) -> Normaliser:
    """Return what a (un)normalizer step does to one feature."""
    if name not in steps:
        raise ConfigError(f'{directory}: no step {name!r} in its pipeline; {NO_STATISTICS}')
    config = steps[name].get('config') or {}
    known = {**features, **(config.get('features') or {})}
    if feature not in known:
        raise ConfigError(f'{directory / CONFIG} has no feature {feature!r}; get the file again')
    size = int(known[feature]['shape'][0])
    mode = (config.get('norm_map') or {}).get(known[feature]['type'], 'IDENTITY').lower()
    statistics: dict[str, Any] = {}
    if mode != IDENTITY:
        path = directory / (state_file(steps, name) or f'<state file of {name}>')
        if not path.is_file():
            raise ConfigError(f'no normalisation statistics: {path} does not exist; '
                              f'{NO_STATISTICS}')
        statistics = read_tensors(path, f'{feature}.')
        if not statistics:
            raise ConfigError(f'{path} has no statistics of {feature!r}; {NO_STATISTICS}')
        where = f'{path}, {feature}'
    else:
        where = f'{directory}, {feature}'
    normaliser = lerobot_normaliser(mode, statistics, where=where, size=size,
                                    eps=config.get('eps', 1e-8))
    if normaliser.size != size:
        raise ConfigError(f'{where} has {normaliser.size} entries, the feature has {size}; the '
                          'files are of different robots')
    return normaliser


def read_tensors(path: Path, prefix: str) -> dict[str, np.ndarray]:
    """Return the arrays whose names begin with prefix, without it."""
    try:
        return {name.removeprefix(prefix): array for name, array in load_file(str(path)).items()
                if name.startswith(prefix)}
    except Exception as error:   # the library raises exceptions of its own
        raise ConfigError(f'{path} is empty or damaged ({error}); get the file again') from error


def check_pictures(directory: Path, steps: Mapping[str, Step]) -> None:
    """Raise ConfigError if pictures are normalised by statistics: no pi0.5 is trained so."""
    norm_map = (steps['normalizer_processor'].get('config') or {}).get('norm_map') or {}
    if norm_map.get(PICTURE, 'IDENTITY').lower() != IDENTITY:
        raise ConfigError(f'{directory}: pictures are normalised by {norm_map[PICTURE]}; only '
                          'IDENTITY is known')


def cameras(inputs: Mapping[str, Any], steps: Mapping[str, Step]) -> tuple[str, ...]:
    """Return the camera slots in the model's order, by the names before the renaming step."""
    renamed = (steps.get('rename_observations_processor', {}).get('config') or {}).get(
        'rename_map') or {}
    before = {new: old for old, new in renamed.items()}
    return tuple(before.get(name, name).removeprefix('observation.').removeprefix('images.')
                 for name, feature in inputs.items()
                 if feature.get('type') == PICTURE and '.empty_camera_' not in name)
