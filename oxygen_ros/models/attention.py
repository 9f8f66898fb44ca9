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
Attention on views of the KV pool: nothing is copied, concatenated or gathered.

Query heads that share a KV head are folded into rows, so that one product serves them all.
Rows whose visible keys are one contiguous range use the fused kernel. Rows that see several
ranges (a shared prefix, then their own text) get their scores range by range in one buffer, one
softmax over it, and a sum of products; rows with the same first range read it together.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch.nn import functional

from oxygen_ros.models.pool import KVPool
from oxygen_ros.models.segment import Segment

Range = tuple[int, int]


@dataclass(frozen=True)
class Piece:
    """Rows [begin, end) of the pass with the same visible ranges, but for a causal triangle."""

    begin: int
    end: int
    ranges: tuple[Range, ...]   # the last one ends with the rows' own keys
    causal: bool                # the last end - begin keys form a triangle

    @property
    def num_rows(self) -> int:
        """Rows in this piece."""
        return self.end - self.begin

    def triangle(self, heads: int, device: torch.device) -> torch.Tensor:
        """Return [rows * heads, rows] booleans: which own keys a folded query row sees."""
        rows = self.num_rows
        seen = torch.ones(rows, rows, dtype=torch.bool, device=device).tril()
        return seen.repeat_interleave(heads, dim=0)


class ViewAttention:
    """The exact back end for shapes that change from pass to pass."""

    def __init__(self, segments: Sequence[Segment], pool: KVPool, *, num_heads: int):
        device = pool.keys.device
        self._pool = pool
        self._num_kv_heads, self._head_dim = pool.keys.shape[1], pool.keys.shape[3]
        self._fold = num_heads // self._num_kv_heads
        self._writes = write_ranges(segments)
        self._rows = None   # pool rows, for passes of many segments
        if len(self._writes) > 2:
            self._rows = torch.tensor(
                [row for part in segments for row in range(part.write, part.stop)], device=device)
        self.positions = torch.tensor(
            [part.start + row for part in segments for row in range(part.num_rows)],
            device=device)
        self._single, groups = [], defaultdict(list)
        for piece in split(segments):
            if len(piece.ranges) > 1:
                groups[piece.ranges[0]].append(piece)
                continue
            mask = None
            if piece.causal:
                first, last = piece.ranges[0]
                mask = torch.ones(piece.num_rows * self._fold, last - first, dtype=torch.bool,
                                  device=device)
                mask[:, -piece.num_rows:] = piece.triangle(self._fold, device)
            self._single.append((piece, mask))
        self._groups = [Group(pieces, self._fold, device) for pieces in groups.values()]

    def write(self, layer: int, keys: torch.Tensor, values: torch.Tensor) -> None:
        """Store keys and values [rows, kv heads, head_dim] in the pool."""
        for store, rows in ((self._pool.keys[layer], keys), (self._pool.values[layer], values)):
            rows = rows.transpose(0, 1)
            if self._rows is not None:
                store.index_copy_(1, self._rows, rows)
                continue
            for row, begin, end in self._writes:
                store[:, begin:end] = rows[:, row:row + end - begin]

    def attend(self, layer: int, queries: torch.Tensor) -> torch.Tensor:
        """Return [rows, heads * head_dim] for queries [rows, heads, head_dim]."""
        keys, values = self._pool.keys[layer], self._pool.values[layer]
        num_rows, kv_heads, dim = queries.shape[0], self._num_kv_heads, self._head_dim
        folded = queries.reshape(num_rows, kv_heads, self._fold, dim).transpose(0, 1)
        folded = folded.reshape(kv_heads, num_rows * self._fold, dim)
        parts = [(piece.begin, self._attend_single(piece, mask, folded, keys, values))
                 for piece, mask in self._single]
        for group in self._groups:
            parts.extend(group.attend(folded, keys, values))
        parts.sort(key=lambda part: part[0])
        out = parts[0][1] if len(parts) == 1 else torch.cat([part[1] for part in parts], dim=1)
        out = out.view(kv_heads, num_rows, self._fold, dim).transpose(0, 1)
        return out.reshape(num_rows, -1)

    def _attend_single(self, piece: Piece, mask: torch.Tensor | None, folded: torch.Tensor,
                       keys: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
        (begin, end), = piece.ranges
        queries = folded[:, piece.begin * self._fold:piece.end * self._fold]
        return functional.scaled_dot_product_attention(
            queries[None], keys[None, :, begin:end], values[None, :, begin:end],
            attn_mask=mask)[0]


class Group:
    """Pieces that see the same first range; it is read once for all of them."""

    def __init__(self, pieces: list[Piece], fold: int, device: torch.device):
        self._shared = pieces[0].ranges[0]
        self._pieces, offset = [], 0
        for piece in pieces:
            hidden = ~piece.triangle(fold, device) if piece.causal else None
            rows = slice(offset, offset + piece.num_rows * fold)
            self._pieces.append((piece, rows, hidden))
            offset = rows.stop
        self._fold = fold
        self._width = max(sum(end - begin for begin, end in piece.ranges) for piece in pieces)
        self._ragged = len(pieces) > 1

    def attend(self, folded: torch.Tensor, keys: torch.Tensor,
               values: torch.Tensor) -> list[tuple[int, torch.Tensor]]:
        """Return (first row, [kv heads, folded rows, head_dim]) per piece."""
        taken = [folded[:, piece.begin * self._fold:piece.end * self._fold]
                 for piece, _, _ in self._pieces]
        queries = (taken[0] if len(taken) == 1 else torch.cat(taken, dim=1))
        queries = queries * folded.shape[-1] ** -0.5
        begin, end = self._shared
        scores = queries.new_empty(*queries.shape[:2], self._width)
        if self._ragged:
            scores.fill_(float('-inf'))   # shorter pieces see nothing in the columns left over
        shared = end - begin
        scores[:, :, :shared] = torch.bmm(queries, keys[:, begin:end].transpose(1, 2))
        for piece, rows, hidden in self._pieces:
            for column, (low, high) in columns(piece, shared):
                own = torch.bmm(queries[:, rows], keys[:, low:high].transpose(1, 2))
                if hidden is not None and high == piece.ranges[-1][1]:
                    own[:, :, -hidden.shape[1]:].masked_fill_(hidden, float('-inf'))
                scores[:, rows, column:column + high - low] = own
        weights = scores.softmax(dim=-1, dtype=torch.float32).to(queries.dtype)
        out = torch.bmm(weights[:, :, :shared], values[:, begin:end])
        for piece, rows, _ in self._pieces:
            for column, (low, high) in columns(piece, shared):
                out[:, rows].baddbmm_(weights[:, rows, column:column + high - low],
                                      values[:, low:high])
        return [(piece.begin, out[:, rows]) for piece, rows, _ in self._pieces]


def columns(piece: Piece, offset: int) -> list[tuple[int, Range]]:
    """Return (first score column, range) of every range behind the shared one."""
    placed = []
    for begin, end in piece.ranges[1:]:
        placed.append((offset, (begin, end)))
        offset += end - begin
    return placed


def write_ranges(segments: Sequence[Segment]) -> list[tuple[int, int, int]]:
    """Return (row of the pass, first pool row, pool row behind) of each stretch to store."""
    ranges, row = [], 0
    for part in segments:
        ranges.append((row, part.write, part.stop))
        row += part.num_rows
    return ranges


def split(segments: Sequence[Segment]) -> list[Piece]:
    """Cut segments into pieces: the bidirectional rows, then the causal ones."""
    pieces, row = [], 0
    for part in segments:
        middle = part.num_bidirectional
        if middle:
            seen = part.context + ((part.write, part.write + middle),)
            pieces.append(Piece(row, row + middle, joined(seen), causal=False))
        if middle < part.num_rows:
            seen = part.context + ((part.write, part.stop),)
            pieces.append(Piece(row + middle, row + part.num_rows, joined(seen),
                                causal=part.num_rows - middle > 1))
        row += part.num_rows
    return pieces


def joined(ranges: Sequence[Range]) -> tuple[Range, ...]:
    """Drop empty ranges and join neighbours that touch."""
    result: list[Range] = []
    for begin, end in ranges:
        if begin == end:
            continue
        if result and result[-1][1] == begin:
            result[-1] = (result[-1][0], end)
        else:
            result.append((begin, end))
    return tuple(result)
