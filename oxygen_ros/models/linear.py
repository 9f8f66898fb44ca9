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


class Linear(nn.Module):
    """y = x W^T + b for x [rows, in]; picks the faster product for the number of rows."""

    def __init__(self, num_in: int, num_out: int, *, bias: bool = False):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(num_out, num_in))
        self.bias = nn.Parameter(torch.empty(num_out)) if bias else None

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        """Return [rows, out]; memory may be column-major."""
        return product(rows, self.weight, self.bias)


def product(rows: torch.Tensor, weight: torch.Tensor,
            bias: torch.Tensor | None = None) -> torch.Tensor:
    """Return rows @ weight.T + bias."""
    if rows.device.type == 'cpu' and 1 < rows.shape[0] <= MAX_TRANSPOSED_ROWS:
        out = torch.mm(weight, rows.t()).t()
        return out if bias is None else out + bias
    return functional.linear(rows, weight, bias)
