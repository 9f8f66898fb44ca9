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
"""What the tensors of pi0.5 are called in openpi's and LeRobot's files."""

from collections.abc import Iterator

import torch

from oxygen_ros.models.layers import DecoderLayer
from oxygen_ros.models.pi05 import Pi05

VLM = 'paligemma_with_expert.paligemma.'
EXPERT = 'paligemma_with_expert.gemma_expert.'
# The embedding and the head are one tensor; files hold it under either name, or both.
EMBEDDINGS = (VLM + 'model.language_model.embed_tokens.weight', VLM + 'lm_head.weight')
# What files may hold besides, and no model of this kind uses.
UNUSED = (EXPERT + 'lm_head.weight', 'state_proj.weight', 'state_proj.bias')
_TOWER = 'vision_tower.'


def plain_name(key: str) -> str:
    """
    Return a key of any file as openpi has it.

    LeRobot puts 'model.' before all, older files say 'action_time_mlp_', and newer transformers
    leave 'vision_model.' out.
    """
    key = key.removeprefix('model.').replace('action_time_mlp_', 'time_mlp_')
    if _TOWER in key and f'{_TOWER}vision_model.' not in key:
        key = key.replace(_TOWER, f'{_TOWER}vision_model.')
    return key


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
