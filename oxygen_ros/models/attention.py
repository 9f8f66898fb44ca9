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
        pieces = split(segments)
        self._single = [OneRange(piece, self._fold, pool)
                        for piece in pieces if len(piece.ranges) == 1]
        several = [piece for piece in pieces if len(piece.ranges) > 1]
        self._several = SeveralRanges(several, self._fold, pool) if several else None

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
        num_rows, kv_heads, dim = queries.shape[0], self._num_kv_heads, self._head_dim
        folded = queries.reshape(num_rows, kv_heads, self._fold, dim).transpose(0, 1)
        folded = folded.reshape(kv_heads, num_rows * self._fold, dim)
        parts = [(part.begin, part.attend(layer, folded)) for part in self._single]
        if self._several:
            parts.extend(self._several.attend(layer, folded))
        parts.sort(key=lambda part: part[0])
        out = parts[0][1] if len(parts) == 1 else torch.cat([part[1] for part in parts], dim=1)
        out = out.view(kv_heads, num_rows, self._fold, dim).transpose(0, 1)
        return out.reshape(num_rows, -1)


class OneRange:
    """A piece that sees one contiguous range: the fused kernel."""

    def __init__(self, piece: Piece, fold: int, pool: KVPool):
        (low, high), = piece.ranges
        self.begin = piece.begin
        self._rows = slice(piece.begin * fold, piece.end * fold)
        # [layer][1, kv heads, range, head_dim], views
        self._keys = pool.keys[:, None, :, low:high].unbind()
        self._values = pool.values[:, None, :, low:high].unbind()
        self._mask = None
        if piece.causal:
            device = pool.keys.device
            self._mask = torch.ones(piece.num_rows * fold, high - low, dtype=torch.bool,
                                    device=device)
            self._mask[:, -piece.num_rows:] = piece.triangle(fold, device)

    def attend(self, layer: int, folded: torch.Tensor) -> torch.Tensor:
        """Return [kv heads, folded rows of the piece, head_dim]."""
        return functional.scaled_dot_product_attention(
            folded[None, :, self._rows], self._keys[layer], self._values[layer],
            attn_mask=self._mask)[0]


@dataclass(frozen=True)
class Read:
    """One range of the pool read by some rows."""

    rows: slice                         # of the score buffer
    columns: slice                      # of the score buffer
    keys: tuple[torch.Tensor, ...]      # [layer][kv heads, head_dim, range], views
    values: tuple[torch.Tensor, ...]    # [layer][kv heads, range, head_dim], views


class SeveralRanges:
    """Pieces that see several ranges: one score buffer, one softmax over it."""

    def __init__(self, pieces: list[Piece], fold: int, pool: KVPool):
        self._fold, self._pool, self._reads, self._triangles = fold, pool, [], []
        groups = defaultdict(list)
        for piece in pieces:
            groups[piece.ranges[0]].append(piece)
        self._pieces = [piece for group in groups.values() for piece in group]
        row = 0
        for shared, group in groups.items():
            first = row
            for piece in group:
                rows = slice(row, row + piece.num_rows * fold)
                column = shared[1] - shared[0]
                for low, high in piece.ranges[1:]:
                    self._add(rows, column, (low, high))
                    column += high - low
                if piece.causal:
                    columns = slice(column - piece.num_rows, column)
                    hidden = ~piece.triangle(fold, pool.keys.device)
                    self._triangles.append((rows, columns, hidden))
                row = rows.stop
            self._add(slice(first, row), 0, shared)
        self._width = max(read.columns.stop for read in self._reads)

    def _add(self, rows: slice, column: int, seen: Range) -> None:
        low, high = seen
        self._reads.append(Read(
            rows, slice(column, column + high - low),
            self._pool.keys[:, :, low:high].transpose(2, 3).unbind(),
            self._pool.values[:, :, low:high].unbind()))

    def attend(self, layer: int, folded: torch.Tensor) -> list[tuple[int, torch.Tensor]]:
        """Return (first row, [kv heads, folded rows, head_dim]) per piece."""
        taken = [folded[:, piece.begin * self._fold:piece.end * self._fold]
                 for piece in self._pieces]
        queries = taken[0] if len(taken) == 1 else torch.cat(taken, dim=1)
        queries = queries * folded.shape[-1] ** -0.5
        # Rows with fewer keys see nothing in the columns left over.
        scores = queries.new_full((*queries.shape[:2], self._width), float('-inf'))
        for read in self._reads:
            scores[:, read.rows, read.columns] = torch.bmm(queries[:, read.rows],
                                                           read.keys[layer])
        for rows, columns, hidden in self._triangles:
            scores[:, rows, columns].masked_fill_(hidden, float('-inf'))
        weights = scores.softmax(dim=-1, dtype=torch.float32).to(queries.dtype)
        out = torch.zeros_like(queries)
        for read in self._reads:
            out[:, read.rows].baddbmm_(weights[:, read.rows, read.columns], read.values[layer])
        parts = out.split([piece.num_rows * self._fold for piece in self._pieces], dim=1)
        return [(piece.begin, part) for piece, part in zip(self._pieces, parts)]


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
