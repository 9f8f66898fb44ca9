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

"""The Gemma decoder layer, plain for the backbone and modulated for the action expert."""

from typing import NamedTuple
from typing import Protocol

import torch
from torch import nn
from torch.nn import functional

from oxygen_ros.models.architecture import TextArchitecture
from oxygen_ros.models.linear import Linear


class Attention(Protocol):
    """Where the K/V of one forward pass go and who sees what; made once, used by every layer."""

    positions: torch.Tensor   # [rows] int64

    def write(self, layer: int, keys: torch.Tensor, values: torch.Tensor) -> None:
        """Store keys and values [rows, kv heads, head_dim] in the pool."""
        ...

    def attend(self, layer: int, queries: torch.Tensor) -> torch.Tensor:
        """Return [rows, heads * head_dim] for queries [rows, heads, head_dim]."""
        ...


class Modulation(NamedTuple):
    """How one norm and its residual are modulated; tensors are [width]."""

    scale: torch.Tensor                # multiplies the normalised rows
    shift: torch.Tensor | None = None  # added to them
    gate: torch.Tensor | None = None   # multiplies what is added to the residual stream

    def norm(self, rows: torch.Tensor, eps: float) -> torch.Tensor:
        """Return the modulated RMS norm of rows."""
        # Written out and in place: large temporaries cost more than the arithmetic.
        wide = rows.float()
        wide = wide * wide.square().mean(dim=-1, keepdim=True).add_(eps).rsqrt_()
        wide = wide.mul_(self.scale)
        return (wide if self.shift is None else wide.add_(self.shift)).to(rows.dtype)

    def add(self, residual: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
        """Return the residual stream with rows added."""
        return residual + (rows if self.gate is None else rows * self.gate)


class Rotary:
    """Rotary position embedding of the rows of one forward pass (halves layout)."""

    def __init__(self, positions: torch.Tensor, head_dim: int, theta: float):
        steps = torch.arange(0, head_dim, 2, device=positions.device, dtype=torch.float32)
        # In this order: at position 800 another rounding already moves actions by 5e-5.
        angles = positions[:, None, None] * (1 / theta ** (steps / head_dim))
        self._cos, self._sin = angles.cos(), angles.sin()   # [rows, 1, head_dim / 2]

    def __call__(self, rows: torch.Tensor) -> torch.Tensor:
        """Rotate [rows, heads, head_dim]; computed in float32."""
        left, right = rows.float().chunk(2, dim=-1)
        turned = (left * self._cos - right * self._sin, right * self._cos + left * self._sin)
        return torch.cat(turned, dim=-1).to(rows.dtype)


class DecoderLayer(nn.Module):
    """Attention and gated feed-forward; the weights that share an input are stored fused."""

    def __init__(self, size: TextArchitecture):
        super().__init__()
        self.size = size
        heads = size.num_heads + 2 * size.num_kv_heads
        self.qkv = Linear(size.width, heads * size.head_dim)
        self.out = Linear(size.num_heads * size.head_dim, size.width)
        self.gate_up = Linear(size.width, 2 * size.mlp_dim)
        self.down = Linear(size.mlp_dim, size.width)

    def forward(self, hidden: torch.Tensor, layer: int, attention: Attention, rotary: Rotary,
                modulations: tuple[Modulation, Modulation]) -> torch.Tensor:
        """Return hidden [rows, width] after this layer; K/V are stored on the way."""
        size, (first, second) = self.size, modulations
        heads = self.qkv(first.norm(hidden, size.rms_norm_eps))
        heads = heads.view(-1, size.num_heads + 2 * size.num_kv_heads, size.head_dim)
        queries, keys, values = heads.split(
            (size.num_heads, size.num_kv_heads, size.num_kv_heads), dim=1)
        attention.write(layer, rotary(keys), values)
        hidden = first.add(hidden, self.out(attention.attend(layer, rotary(queries))))
        gate, up = self.gate_up(second.norm(hidden, size.rms_norm_eps)).chunk(2, dim=-1)
        return second.add(hidden, self.down(functional.gelu(gate, approximate='tanh').mul_(up)))
