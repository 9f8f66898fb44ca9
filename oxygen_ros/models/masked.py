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
Attention with static shapes: fixed rows, a fixed pool range, and a mask that says who sees what.

What torch.compile and CUDA graphs need: tensors keep their addresses and sizes from pass to pass,
only their content changes, and nothing inside a pass waits for the device. Costs reads of rows
that are masked out, so the CPU uses models.attention instead.
"""

from collections.abc import Sequence

import torch
from torch.nn import functional

from oxygen_ros.models.attention import split
from oxygen_ros.models.backbone import Backbone
from oxygen_ros.models.pool import KVPool
from oxygen_ros.models.segment import Segment


class MaskedAttention:
    """
    The static back end for passes of up to num_rows rows over pool rows [begin, end).

    Rows without a segment write to idle_row and see only it; their results mean nothing.
    """

    def __init__(self, num_rows: int, pool: KVPool, *, num_heads: int, region: tuple[int, int],
                 idle_row: int):
        begin, end = region
        if not begin <= idle_row < end:
            raise ValueError(f'idle row {idle_row} lies outside the region [{begin}, {end})')
        device = pool.keys.device
        self._pool, self._region, self._idle_row = pool, region, idle_row
        self._num_rows = num_rows
        self._fold = num_heads // pool.keys.shape[1]
        self._written = torch.empty(num_rows, dtype=torch.long, device=device)
        self._mask = torch.empty(num_rows * self._fold, end - begin, dtype=torch.bool,
                                 device=device)
        self.positions = torch.empty(num_rows, dtype=torch.long, device=device)
        self.place(())

    def place(self, segments: Sequence[Segment]) -> None:
        """Set what the next passes read and write; the only step that depends on the requests."""
        begin, end = self._region
        count = sum(part.num_rows for part in segments)
        if count > self._num_rows:
            raise ValueError(f'{count} rows for a static pass of {self._num_rows}')
        written = torch.full((self._num_rows,), self._idle_row)
        positions = torch.zeros(self._num_rows, dtype=torch.long)
        mask = torch.zeros(self._num_rows, end - begin, dtype=torch.bool)
        mask[count:, self._idle_row - begin] = True
        row = 0
        for part in segments:
            rows = slice(row, row + part.num_rows)
            written[rows] = torch.arange(part.write, part.stop)
            positions[rows] = torch.arange(part.start, part.start + part.num_rows)
            row = rows.stop
        for piece in split(segments):
            rows = slice(piece.begin, piece.end)
            for low, high in piece.ranges:
                if low < begin or high > end:
                    raise ValueError(f'rows [{low}, {high}) lie outside the region '
                                     f'[{begin}, {end})')
                mask[rows, low - begin:high - begin] = True
            if piece.causal:
                last = piece.ranges[-1][1] - begin
                mask[rows, last - piece.num_rows:last] = piece.triangle(1, mask.device)
        self._written.copy_(written, non_blocking=True)
        self.positions.copy_(positions, non_blocking=True)
        self._mask.copy_(mask.repeat_interleave(self._fold, dim=0), non_blocking=True)

    def write(self, layer: int, keys: torch.Tensor, values: torch.Tensor) -> None:
        """Store keys and values [rows, kv heads, head_dim] in the pool."""
        self._pool.keys[layer].index_copy_(1, self._written, keys.transpose(0, 1))
        self._pool.values[layer].index_copy_(1, self._written, values.transpose(0, 1))

    def attend(self, layer: int, queries: torch.Tensor) -> torch.Tensor:
        """Return [rows, heads * head_dim] for queries [rows, heads, head_dim]."""
        begin, end = self._region
        keys = self._pool.keys[layer, :, begin:end]
        values = self._pool.values[layer, :, begin:end]
        rows, heads, dim = queries.shape
        kv_heads = heads // self._fold
        folded = queries.reshape(rows, kv_heads, self._fold, dim).transpose(0, 1)
        out = functional.scaled_dot_product_attention(
            folded.reshape(1, kv_heads, rows * self._fold, dim), keys[None], values[None],
            attn_mask=self._mask)
        return out.view(kv_heads, rows, self._fold, dim).transpose(0, 1).reshape(rows, -1)


class StaticBackbone:
    """Backbone.forward in a few fixed sizes: rows are padded to the next bucket."""

    def __init__(self, backbone: Backbone, pool: KVPool, *, buckets: Sequence[int] = (1, 4, 16),
                 region: tuple[int, int], idle_row: int):
        self._backbone, self._buckets = backbone, sorted(buckets)
        size, device = backbone.size, pool.keys.device
        self._passes = {
            rows: (torch.zeros(rows, size.width, device=device, dtype=pool.keys.dtype),
                   MaskedAttention(rows, pool, num_heads=size.num_heads, region=region,
                                   idle_row=idle_row))
            for rows in self._buckets}

    def forward(self, hidden: torch.Tensor, segments: Sequence[Segment]) -> torch.Tensor:
        """Return what Backbone.forward returns, computed with static shapes."""
        count = hidden.shape[0]
        bucket = next((rows for rows in self._buckets if rows >= count), None)
        if bucket is None:
            raise ValueError(f'{count} rows exceed the largest bucket {self._buckets[-1]}')
        inputs, attention = self._passes[bucket]
        inputs[:count].copy_(hidden)
        attention.place(segments)
        return self._backbone.run(inputs, attention)[:count]
