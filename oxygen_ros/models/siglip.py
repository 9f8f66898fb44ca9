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
The SigLIP vision encoder, with the names of its weights that every checkpoint has.

Owned, not borrowed from transformers: importing that takes longer than everything else an engine
has to load, and these are the few layers of it that are needed.
"""

import torch
from torch import nn
from torch.nn import functional

from oxygen_ros.models.architecture import VisionArchitecture


class Siglip(nn.Module):
    """Pictures to one row per patch, without pooling head."""

    def __init__(self, size: VisionArchitecture):
        super().__init__()
        self.embeddings = _Embeddings(size)
        self.encoder = nn.Module()
        self.encoder.layers = nn.ModuleList(_Layer(size) for _ in range(size.depth))
        self.post_layernorm = nn.LayerNorm(size.width, eps=size.layer_norm_eps)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Return [n, patches, width] for images [n, 3, size, size] in [-1, 1]."""
        rows = self.embeddings(images)
        for layer in self.encoder.layers:
            rows = layer(rows)
        return self.post_layernorm(rows)


class _Embeddings(nn.Module):

    def __init__(self, size: VisionArchitecture):
        super().__init__()
        self.patch_embedding = nn.Conv2d(3, size.width, size.patch_size, stride=size.patch_size)
        self.position_embedding = nn.Embedding((size.image_size // size.patch_size) ** 2,
                                               size.width)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        patches = self.patch_embedding(images.to(self.patch_embedding.weight.dtype))
        return patches.flatten(2).transpose(1, 2) + self.position_embedding.weight


class _Layer(nn.Module):

    def __init__(self, size: VisionArchitecture):
        super().__init__()
        self.layer_norm1 = nn.LayerNorm(size.width, eps=size.layer_norm_eps)
        self.self_attn = _Attention(size)
        self.layer_norm2 = nn.LayerNorm(size.width, eps=size.layer_norm_eps)
        self.mlp = _Mlp(size)

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        rows = rows + self.self_attn(self.layer_norm1(rows))
        return rows + self.mlp(self.layer_norm2(rows))


class _Attention(nn.Module):
    """Every patch sees every other."""

    def __init__(self, size: VisionArchitecture):
        super().__init__()
        self.num_heads = size.num_heads
        # In this order: seeded weights are drawn one after another.
        self.k_proj = nn.Linear(size.width, size.width)
        self.v_proj = nn.Linear(size.width, size.width)
        self.q_proj = nn.Linear(size.width, size.width)
        self.out_proj = nn.Linear(size.width, size.width)

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        queries, keys, values = (projection(rows).unflatten(-1, (self.num_heads, -1))
                                 .transpose(1, 2)
                                 for projection in (self.q_proj, self.k_proj, self.v_proj))
        seen = functional.scaled_dot_product_attention(queries, keys, values)
        return self.out_proj(seen.transpose(1, 2).flatten(2))


class _Mlp(nn.Module):

    def __init__(self, size: VisionArchitecture):
        super().__init__()
        self.fc1 = nn.Linear(size.width, size.mlp_dim)
        self.fc2 = nn.Linear(size.mlp_dim, size.width)

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        return self.fc2(functional.gelu(self.fc1(rows), approximate='tanh'))
