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

"""The memory that holds every key and value: one row per token, all layers."""

import torch

from oxygen_ros.models.architecture import Architecture


class KVPool:
    """
    Preallocated keys and values.

    A row is one token. Who owns which rows is decided by the KV manager; models only write
    the rows they are told to and read ranges of rows as views.
    """

    def __init__(self, architecture: Architecture, num_rows: int,
                 device: torch.device | str = 'cpu', dtype: torch.dtype = torch.float32):
        text = architecture.text
        shape = (text.depth, text.num_kv_heads, num_rows, text.head_dim)
        # Zeros, not empty: a masked read must never meet a NaN, because 0 * NaN is NaN.
        self.keys = torch.zeros(shape, device=device, dtype=dtype)    # [layer, kv head, row, dim]
        self.values = torch.zeros(shape, device=device, dtype=dtype)  # [layer, kv head, row, dim]

    @property
    def num_rows(self) -> int:
        """Rows in total."""
        return self.keys.shape[2]

    @property
    def bytes_per_row(self) -> int:
        """Bytes of one token, keys and values of all layers."""
        return 2 * self.keys[:, :, :1].numel() * self.keys.element_size()

    def clear(self, start: int, stop: int) -> None:
        """Zero rows [start, stop)."""
        self.keys[:, :, start:stop].zero_()
        self.values[:, :, start:stop].zero_()
