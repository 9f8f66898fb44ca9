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
"""safetensors files of pi0.5 (openpi and LeRobot layouts) into a model, with a strict check."""

from collections.abc import Iterator
from pathlib import Path

from safetensors import safe_open
import torch

from oxygen_ros.config import ConfigError
from oxygen_ros.models.architecture import Architecture
from oxygen_ros.models.architecture import from_tiny_json
from oxygen_ros.models.architecture import full
from oxygen_ros.models.layers import DecoderLayer
from oxygen_ros.models.pi05 import Pi05

VLM = 'paligemma_with_expert.paligemma.'
EXPERT = 'paligemma_with_expert.gemma_expert.'
# The embedding and the head are one tensor; files hold it under either name, or both.
EMBEDDINGS = (VLM + 'model.language_model.embed_tokens.weight', VLM + 'lm_head.weight')
UNUSED = (EXPERT + 'lm_head.weight', 'state_proj.weight', 'state_proj.bias')


def read_architecture(folder: Path, *, horizon: int, prefix_mode: str) -> Architecture:
    """Return the sizes of a checkpoint: tiny_architecture.json if it is there, else full."""
    if (folder / 'tiny_architecture.json').is_file():
        return from_tiny_json(folder / 'tiny_architecture.json', prefix_mode=prefix_mode)
    return full(horizon=horizon)


def load_weights(model: Pi05, path: Path) -> None:
    """
    Fill the model from a file, tensor by tensor, so that memory holds the weights once.

    Raises ConfigError that names missing, unknown and wrongly sized tensors.
    """
    targets = dict(destinations(model))
    embedding = model.backbone.embedding
    with safe_open(str(path), framework='pt') as file:
        names = {plain_name(key): key for key in file.keys()}
        sources = [names.pop(name) for name in EMBEDDINGS if name in names]
        if not sources:
            raise ConfigError(f'{path} holds no embedding ({" or ".join(EMBEDDINGS)}); '
                              'get a complete file')
        for name in UNUSED:
            names.pop(name, None)
        check_names(path, set(targets), set(names))
        copy(path, sources[0], file.get_tensor(sources[0]), embedding)
        for key in sources[1:]:
            if not torch.equal(file.get_tensor(key).to(embedding), embedding):
                raise ConfigError(f'{path}: {key} differs from {sources[0]}, but this model '
                                  'uses one tensor for both; get a file with tied weights')
        for name, target in targets.items():
            copy(path, name, file.get_tensor(names[name]), target)


def plain_name(key: str) -> str:
    """Return a key as openpi has it: LeRobot puts 'model.' before all, older files 'action_'."""
    key = key.removeprefix('model.')
    return key.replace('action_time_mlp_', 'time_mlp_')


def check_names(path: Path, wanted: set[str], found: set[str]) -> None:
    """Raise ConfigError unless the file holds exactly what the model needs."""
    problems = []
    for word, names in (('lacks', wanted - found), ('has unknown', found - wanted)):
        if names:
            problems.append(f'{word} {len(names)} tensors, first {min(names)}')
    if problems:
        raise ConfigError(f'{path} is no pi0.5 checkpoint of this size: it '
                          f'{" and ".join(problems)}; check the path and the sizes')


def copy(path: Path, name: str, source: torch.Tensor, target: torch.Tensor) -> None:
    """Copy one tensor; its shape must fit."""
    if source.shape != target.shape:
        raise ConfigError(f'{path}: {name} is {list(source.shape)}, this model needs '
                          f'{list(target.shape)}; the sizes of the checkpoint are others')
    target.copy_(source)


def destinations(model: Pi05) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield (name in the file, view of a parameter) for all but the embedding."""
    for name, weight in model.vision.tower.named_parameters():
        yield f'{VLM}model.vision_tower.vision_model.{name}', weight
    yield from pair(f'{VLM}model.multi_modal_projector.linear', model.vision.projector)
    text, norms = f'{VLM}model.language_model.', model.backbone.norms
    for index, layer in enumerate(model.backbone.layers):
        name = f'{text}layers.{index}.'
        yield from decoder_layer(name, layer)
        yield f'{name}input_layernorm.weight', norms[2 * index]
        yield f'{name}post_attention_layernorm.weight', norms[2 * index + 1]
    yield f'{text}norm.weight', norms[-1]
    expert = model.expert
    for index, layer in enumerate(expert.layers):
        name = f'{EXPERT}model.layers.{index}.'
        yield from decoder_layer(name, layer)
        yield from pair(f'{name}input_layernorm.dense', expert.modulations[2 * index])
        yield from pair(f'{name}post_attention_layernorm.dense',
                        expert.modulations[2 * index + 1])
    yield from pair(f'{EXPERT}model.norm.dense', expert.modulations[-1])
    yield from pair('action_in_proj', expert.action_in)
    yield from pair('action_out_proj', expert.action_out)
    yield from pair('time_mlp_in', expert.time_in)
    yield from pair('time_mlp_out', expert.time_out)


def pair(name: str, linear: torch.nn.Module) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield weight and bias."""
    yield f'{name}.weight', linear.weight
    yield f'{name}.bias', linear.bias


def decoder_layer(name: str, layer: DecoderLayer) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield the parts of the fused weights."""
    size = layer.size
    rows = [heads * size.head_dim
            for heads in (size.num_heads, size.num_kv_heads, size.num_kv_heads)]
    for part, weight in zip('qkv', layer.qkv.weight.split(rows)):
        yield f'{name}self_attn.{part}_proj.weight', weight
    yield f'{name}self_attn.o_proj.weight', layer.out.weight
    for part, weight in zip(('gate', 'up'), layer.gate_up.weight.chunk(2)):
        yield f'{name}mlp.{part}_proj.weight', weight
    yield f'{name}mlp.down_proj.weight', layer.down.weight
