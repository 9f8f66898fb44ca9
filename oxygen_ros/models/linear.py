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

# One decoder layer of the 72 M model (512 wide, mlp 4096), float32, one thread, ms:
#   rows           1     2     5     8     16    64    527
#   F.linear       4.2   6.7   8.3   8.7   11.3  21.8  113
#   mm(W, x.T)     3.7   4.4   5.9   7.5   9.6   18.9  167
#   packed         4.2   4.3   5.3   6.6   8.1   14.1  106
# Packed serves every number of rows and is taken where the machine has it. Without it the
# transposed product is taken for few rows, unless the weight is small: there F.linear wins.
MAX_TRANSPOSED_ROWS = 64
MIN_TRANSPOSED_WEIGHTS = 1 << 20
MIN_PACKED_WEIGHTS = 1 << 16   # below this the call itself costs more than packing saves
PACKED_ROWS = 16               # the number of rows the packed layout is made for


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
    few = rows.dim() == 2 and 1 < rows.shape[0] <= MAX_TRANSPOSED_ROWS
    if few and rows.device.type == 'cpu' and weight.numel() >= MIN_TRANSPOSED_WEIGHTS:
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
