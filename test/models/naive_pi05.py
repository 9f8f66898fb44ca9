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
"""
pi0.5 written down from the maths, for tests: no cache, no fusing, straight from a file's tensors.

Every denoising step runs prefix and actions jointly through all layers. Shares no code with
oxygen_ros; tensor names are openpi's.
"""

import math

import torch
from torch.nn import functional as f

VLM = 'paligemma_with_expert.paligemma.'
VISION = VLM + 'model.vision_tower.vision_model.'
TEXT = VLM + 'model.language_model.'
EXPERT = 'paligemma_with_expert.gemma_expert.model.'


def linear(weights, name, rows):
    """Return W x (+ b)."""
    return f.linear(rows, weights[f'{name}.weight'], weights.get(f'{name}.bias'))


def pictures_to_rows(weights, sizes, images):
    """Return [n * tokens, width] of SigLIP and the projector."""
    vision = sizes['vision']
    rows = f.conv2d(images, weights[f'{VISION}embeddings.patch_embedding.weight'],
                    weights[f'{VISION}embeddings.patch_embedding.bias'],
                    stride=vision['patch_size'])
    places = weights[f'{VISION}embeddings.position_embedding.weight']
    rows = rows.flatten(2).transpose(1, 2) + places
    heads, eps = vision['num_attention_heads'], vision['layer_norm_eps']

    def norm(name, rows):
        return f.layer_norm(rows, rows.shape[-1:], weights[f'{name}.weight'],
                            weights[f'{name}.bias'], eps)
    for index in range(vision['num_hidden_layers']):
        layer = f'{VISION}encoder.layers.{index}.'
        normed = norm(f'{layer}layer_norm1', rows)
        q, k, v = (linear(weights, f'{layer}self_attn.{part}_proj', normed).unflatten(
            -1, (heads, -1)).transpose(1, 2) for part in 'qkv')
        scores = (q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])).softmax(-1)
        seen = (scores @ v).transpose(1, 2).flatten(2)
        rows = rows + linear(weights, f'{layer}self_attn.out_proj', seen)
        inner = linear(weights, f'{layer}mlp.fc1', norm(f'{layer}layer_norm2', rows))
        rows = rows + linear(weights, f'{layer}mlp.fc2', f.gelu(inner, approximate='tanh'))
    rows = norm(f'{VISION}post_layernorm', rows).flatten(0, 1)
    return linear(weights, f'{VLM}model.multi_modal_projector.linear', rows)


def rms(rows, eps):
    """Return rows of root mean square 1."""
    return rows / (rows.square().mean(-1, keepdim=True) + eps).sqrt()


def rotate(rows, positions, theta):
    """Return rows [heads, n, dim] rotated by position, first half against second."""
    half = rows.shape[-1] // 2
    angles = positions[:, None] / theta ** (torch.arange(half) / half)
    left, right = rows[..., :half], rows[..., half:]
    return torch.cat((left * angles.cos() - right * angles.sin(),
                      right * angles.cos() + left * angles.sin()), -1)


def attend(weights, sizes, name, streams, allowed):
    """Return what each stream of normed rows sees; both attend over all rows together."""
    parts = {part: [] for part in 'qkv'}
    for prefix, rows in streams:
        for part in 'qkv':
            parts[part].append(linear(weights, f'{prefix}{name}.self_attn.{part}_proj', rows))
    dim, positions = sizes['text']['head_dim'], torch.arange(len(allowed))
    q, k, v = (torch.cat(parts[part]).unflatten(-1, (-1, dim)).transpose(0, 1) for part in 'qkv')
    theta = sizes['text']['rope_theta']
    q, k = rotate(q, positions, theta), rotate(k, positions, theta)
    scores = (q @ k.transpose(-1, -2) / math.sqrt(dim)).masked_fill(~allowed, -math.inf)
    seen = (scores.softmax(-1) @ v).transpose(0, 1).flatten(1)
    return seen.split([len(rows) for _, rows in streams])


def feed_forward(weights, name, rows):
    """Return the gated feed-forward of a layer."""
    gate = f.gelu(linear(weights, f'{name}.mlp.gate_proj', rows), approximate='tanh')
    return linear(weights, f'{name}.mlp.down_proj',
                  gate * linear(weights, f'{name}.mlp.up_proj', rows))


def embed_time(time, width, low, high):
    """Return the sine-cosine embedding of one time."""
    periods = low * (high / low) ** torch.linspace(0, 1, width // 2, dtype=torch.float64)
    angles = 2 * math.pi * time / periods
    return torch.cat((angles.sin(), angles.cos())).float()


def velocity(weights, sizes, prefix, actions, time, allowed):
    """Return the flow at one time, [horizon, action_dim]."""
    eps, width = sizes['text']['rms_norm_eps'], sizes['action_expert']['width']
    condition = embed_time(time, width, sizes['min_period'], sizes['max_period'])
    for name in ('time_mlp_in', 'time_mlp_out'):
        condition = f.silu(linear(weights, name, condition))

    def modulated(name, rows):
        scale, shift, gate = linear(weights, f'{EXPERT}{name}.dense', condition).chunk(3)
        return rms(rows, eps) * (1 + scale) + shift, gate
    suffix = linear(weights, 'action_in_proj', actions)
    for index in range(sizes['text']['depth']):
        name = f'layers.{index}'
        normed = rms(prefix, eps) * (1 + weights[f'{TEXT}{name}.input_layernorm.weight'])
        acting, gate = modulated(f'{name}.input_layernorm', suffix)
        seen, acted = attend(weights, sizes, name, ((TEXT, normed), (EXPERT, acting)), allowed)
        prefix = prefix + linear(weights, f'{TEXT}{name}.self_attn.o_proj', seen)
        suffix = suffix + gate * linear(weights, f'{EXPERT}{name}.self_attn.o_proj', acted)
        normed = rms(prefix, eps) * (1 + weights[f'{TEXT}{name}.post_attention_layernorm.weight'])
        prefix = prefix + feed_forward(weights, f'{TEXT}{name}', normed)
        acting, gate = modulated(f'{name}.post_attention_layernorm', suffix)
        suffix = suffix + gate * feed_forward(weights, f'{EXPERT}{name}', acting)
    return linear(weights, 'action_out_proj', modulated('norm', suffix)[0])


def naive_actions(weights, sizes, images, token_ids, noise, *, num_steps=10, causal_text=False):
    """Return actions [horizon, action_dim] for pictures [n, 3, size, size] and a prompt."""
    text = weights[f'{VLM}lm_head.weight'][torch.tensor(token_ids)]
    text = text * math.sqrt(sizes['text']['width'])
    pictures = pictures_to_rows(weights, sizes, images)
    prefix = torch.cat((pictures, text))
    rows, total = len(prefix), len(prefix) + len(noise)
    allowed = torch.ones(total, total, dtype=torch.bool)
    allowed[:rows, rows:] = False
    if causal_text:
        allowed[:len(pictures), len(pictures):] = False
        allowed[len(pictures):rows, len(pictures):rows] = torch.ones(
            len(text), len(text), dtype=torch.bool).tril()
    actions = noise
    for step in range(num_steps):
        flow = velocity(weights, sizes, prefix, actions, 1 - step / num_steps, allowed)
        actions = actions - flow / num_steps
    return actions
