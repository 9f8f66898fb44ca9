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

"""The language model that reads pictures and text and whose K/V everything else shares."""

from collections.abc import Sequence

import torch
from torch import nn
from torch.nn import functional

from oxygen_ros.models.architecture import TextArchitecture
from oxygen_ros.models.attention import ViewAttention
from oxygen_ros.models.layers import Attention
from oxygen_ros.models.layers import DecoderLayer
from oxygen_ros.models.layers import Modulation
from oxygen_ros.models.layers import Rotary
from oxygen_ros.models.linear import can_pack
from oxygen_ros.models.linear import packed
from oxygen_ros.models.linear import packed_product
from oxygen_ros.models.linear import product
from oxygen_ros.models.pool import KVPool
from oxygen_ros.models.quantised import Int8Linear
from oxygen_ros.models.quantised import quantise
from oxygen_ros.models.segment import Segment


class Backbone(nn.Module):
    """
    A Gemma decoder over rows of any number of sequences.

    Prefill, decode, verification of drafts and mixtures of them are the same call: one matrix
    product per weight over all rows, attention per sequence.
    """

    def __init__(self, size: TextArchitecture):
        super().__init__()
        self.size = size
        self.embedding = nn.Parameter(torch.empty(size.vocab_size, size.width))
        self.layers = nn.ModuleList(DecoderLayer(size) for _ in range(size.depth))
        # Two norms per layer, then the final one; stored as in checkpoints, where 0 means 1.
        self.norms = nn.Parameter(torch.empty(2 * size.depth + 1, size.width))
        self._packed_head = None
        self._int8_head = None

    def embed(self, token_ids: Sequence[int] | torch.Tensor) -> torch.Tensor:
        """Return [tokens, width]; pictures' rows enter the backbone without this scaling."""
        ids = torch.as_tensor(token_ids, dtype=torch.long, device=self.embedding.device)
        return functional.embedding(ids, self.embedding) * self.size.width ** 0.5

    def forward(self, hidden: torch.Tensor, segments: Sequence[Segment],
                pool: KVPool) -> torch.Tensor:
        """Run rows hidden [rows, width], in the order of segments; K/V are written to pool."""
        num_rows = sum(part.num_rows for part in segments)
        if num_rows != hidden.shape[0]:
            raise ValueError(f'{hidden.shape[0]} rows for segments of {num_rows} rows')
        return self.run(hidden, ViewAttention(segments, pool, num_heads=self.size.num_heads))

    def run(self, hidden: torch.Tensor, attention: Attention) -> torch.Tensor:
        """Run rows with any attention back end; return them after the final norm."""
        rotary = Rotary(attention.positions, self.size.head_dim, self.size.rope_theta)
        norms = [Modulation(weight) for weight in (1 + self.norms).unbind()]
        for index, layer in enumerate(self.layers):
            hidden = layer(hidden, index, attention, rotary,
                           (norms[2 * index], norms[2 * index + 1]))
        return norms[-1].norm(hidden, self.size.rms_norm_eps)

    def logits(self, hidden: torch.Tensor) -> torch.Tensor:
        """Return float32 [rows, vocab_size]; the head is tied to the embedding."""
        if self._int8_head is not None:
            return self._int8_head(hidden)
        if self._packed_head is not None:
            return packed_product(hidden, self._packed_head).float()
        return product(hidden, self.embedding).float()

    def pack_head(self) -> None:
        """Keep a second, packed copy of the embedding as head, if this machine gains from it."""
        if self._int8_head is None and can_pack(self.embedding):
            self._packed_head = packed(self.embedding)

    def quantise(self) -> None:
        """Take 8-bit weights for the layers and the head; what enters stays float32."""
        quantise(self.layers)
        self._int8_head = Int8Linear(self.embedding)
