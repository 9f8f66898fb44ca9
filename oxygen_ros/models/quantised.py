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

"""Products with 8-bit weights on a CPU: faster, not exact, the same for a row in any batch."""

import warnings

import torch
from torch import nn

from oxygen_ros.config import ConfigError
from oxygen_ros.models.linear import Linear

MAX_WEIGHT = 127
# Processors without VNNI add two products in 16 bits before they widen: with 7 bits for the rows,
# 2 * 127 * 127 still fits, so no sum can saturate and every machine gets the same integers.
MAX_ROW = 63
ROW_ZERO = 64        # the operator takes rows as unsigned
TINY = 1e-30         # for rows of zeros


class Int8Linear(nn.Module):
    """
    y = x W^T + b with a scale per output and one per row of x; float32 in and out.

    Rows are scaled one by one before the product, whose sums are integers: what a row becomes
    cannot depend on the rows beside it.
    """

    def __init__(self, weight: torch.Tensor, bias: torch.Tensor | None = None):
        super().__init__()
        scale = weight.detach().abs().amax(dim=1).clamp_min(TINY) / MAX_WEIGHT
        whole = (weight.detach() / scale[:, None]).round().to(torch.int8)
        self._packed = _packed(whole, scale)
        self.bias = bias

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        """Return [rows, out]."""
        scale = rows.abs().amax(dim=-1, keepdim=True).clamp_min(TINY) / MAX_ROW
        # The operator rounds; a scale of 1 leaves the scaling to us, row by row.
        out = torch.ops.quantized.linear_with_input_q_dq_qweight_dq_output_fp32(
            rows / scale, 1.0, ROW_ZERO, self._packed).mul_(scale)
        return out if self.bias is None else out.add_(self.bias)


def quantise(module: nn.Module) -> None:
    """Replace every Linear inside a module by its 8-bit form; final, like packing."""
    for name, child in list(module.named_children()):
        if isinstance(child, (Linear, nn.Linear)):
            setattr(module, name, Int8Linear(child.weight, child.bias))
        else:
            quantise(child)


def _packed(whole: torch.Tensor, scale: torch.Tensor):
    """Return int8 weights [out, in] in the operator's layout; ConfigError where it is missing."""
    try:
        with warnings.catch_warnings():
            # The type is announced to go; when it has, the error below says so.
            warnings.filterwarnings('ignore', '.*quantize.*deprecated', UserWarning)
            zeros = torch.zeros(len(scale), dtype=torch.int64)
            typed = torch._make_per_channel_quantized_tensor(whole, scale.double(), zeros, 0)
            packed = torch.ops.quantized.linear_prepack(typed)
            torch.ops.quantized.linear_with_input_q_dq_qweight_dq_output_fp32(
                torch.zeros(1, whole.shape[1]), 1.0, ROW_ZERO, packed)
    except (AttributeError, NotImplementedError, RuntimeError) as error:
        reason = str(error).partition('\n')[0]
        raise ConfigError(f"weights is 'int8', which torch {torch.__version__} cannot run here "
                          f"({reason}); choose 'float32'") from error
    return packed
