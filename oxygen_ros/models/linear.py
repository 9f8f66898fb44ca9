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
"""Matrix products with few rows, where the obvious call is the slow one."""

import torch
from torch import nn
from torch.nn import functional

# Measured with MKL float32: F.linear with 2 to 8 rows costs up to three times one row, while the
# product taken the other way round stays close to it. Above this many rows they meet.
MAX_TRANSPOSED_ROWS = 64
# Below this many weights the call itself costs more than packing saves.
MIN_PACKED_WEIGHTS = 1 << 16
# Packed weights are laid out for about this many rows; measured equal or better for 1 to 1000.
PACKED_ROWS = 16


class Linear(nn.Module):
    """
    y = x W^T + b for x [rows, in]; picks the fastest product for the number of rows.

    pack() lays the weight out for oneDNN, which is final: a packed weight cannot be changed.
    """

    def __init__(self, num_in: int, num_out: int, *, bias: bool = False):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(num_out, num_in))
        self.bias = nn.Parameter(torch.empty(num_out)) if bias else None
        self._packed = None

    def pack(self) -> None:
        """Replace the weight by its packed form, if this machine gains from it."""
        if self.weight is not None and can_pack(self.weight):
            self._packed = packed(self.weight)
            self.weight = None

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        """Return [rows, out]; memory may be column-major."""
        if self._packed is not None:
            return packed_product(rows, self._packed, self.bias)
        return product(rows, self.weight, self.bias)


def product(rows: torch.Tensor, weight: torch.Tensor,
            bias: torch.Tensor | None = None) -> torch.Tensor:
    """Return rows @ weight.T + bias."""
    if rows.device.type == 'cpu' and rows.dim() == 2 and 1 < rows.shape[0] <= MAX_TRANSPOSED_ROWS:
        out = torch.mm(weight, rows.t()).t()
        return out if bias is None else out + bias
    return functional.linear(rows, weight, bias)


def can_pack(weight: torch.Tensor) -> bool:
    """Return whether packing is possible here and worth it; the operators are not public API."""
    return (weight.device.type == 'cpu' and weight.dtype == torch.float32
            and weight.numel() >= MIN_PACKED_WEIGHTS and torch.backends.mkldnn.is_available()
            and hasattr(torch.ops.mkldnn, '_reorder_linear_weight')
            and hasattr(torch.ops.mkldnn, '_linear_pointwise'))


def packed(weight: torch.Tensor) -> torch.Tensor:
    """Return the weight in oneDNN's own layout."""
    return torch.ops.mkldnn._reorder_linear_weight(weight.detach(), PACKED_ROWS)


def packed_product(rows: torch.Tensor, weight: torch.Tensor,
                   bias: torch.Tensor | None = None) -> torch.Tensor:
    """Return rows @ weight.T + bias for a packed weight."""
    return torch.ops.mkldnn._linear_pointwise(rows, weight, bias, 'none', [], '')


def pack_all(module: nn.Module) -> None:
    """Pack every Linear inside a module; torch's own are replaced by ours first."""
    for name, child in list(module.named_children()):
        if isinstance(child, nn.Linear):
            ours = Linear(child.in_features, child.out_features)
            ours.weight, ours.bias = child.weight, child.bias
            setattr(module, name, child := ours)
        if isinstance(child, Linear):
            child.pack()
        else:
            pack_all(child)
