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

"""Measures how many KV bytes the running code really moves, instead of trusting it is none."""

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from oxygen_ros.models.pool import KVPool

# What may read keys and values: the products and softmaxes of attention itself.
_ARITHMETIC = ('mm', 'bmm', 'matmul', 'baddbmm', 'addmm', 'attention')


class CopyCounter(TorchDispatchMode):
    """
    Counts bytes that any operation reads from the pool and stores elsewhere, except arithmetic.

    Views cost nothing and are not counted; clone, cat, stack, gather, index and the like are.
    Slows every operation down: for warm-up and tests.
    """

    def __init__(self, pool: KVPool):
        super().__init__()
        self._owned = {tensor.untyped_storage().data_ptr() for tensor in (pool.keys, pool.values)}
        self.num_bytes = 0
        self.operations: set[str] = set()   # that moved something

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        """Run one operation and look where its result lies."""
        result = func(*args, **(kwargs or {}))
        name = func.overloadpacket.__name__
        if any(word in name for word in _ARITHMETIC):
            return result
        # copy_(target, source) and its like: the target alone is a write, not a read.
        sources = args[1:] if name.endswith('_') else args
        if any(self._is_pool(source) for source in _tensors(sources)):
            moved = [tensor for tensor in _tensors((result,))
                     if name.endswith('_') or not self._is_pool(tensor)]
            if moved:
                self.num_bytes += sum(tensor.numel() * tensor.element_size() for tensor in moved)
                self.operations.add(name)
        return result

    def _is_pool(self, tensor: torch.Tensor) -> bool:
        # Packed weights have no storage to look at; the pool is never packed.
        return (tensor.layout is torch.strided
                and tensor.untyped_storage().data_ptr() in self._owned)


def _tensors(values):
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from _tensors(value)
