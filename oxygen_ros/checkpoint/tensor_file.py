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
"""Reads and writes safetensors files piece by piece, straight to where a tensor shall lie."""

from collections.abc import Mapping
from dataclasses import dataclass
import json
import math
import os
from pathlib import Path
import struct

import torch

from oxygen_ros.config import ConfigError

DTYPES = {'F64': torch.float64, 'F32': torch.float32, 'F16': torch.float16,
          'BF16': torch.bfloat16}
CHUNK_BYTES = 16 << 20      # held besides the target while the precision is converted
MAX_HEADER_BYTES = 100 << 20


@dataclass(frozen=True)
class Entry:
    """One tensor of a file."""

    dtype: str                # as in the file: 'F32', 'BF16', ...
    shape: tuple[int, ...]
    begin: int                # bytes behind the header
    end: int

    @property
    def num_bytes(self) -> int:
        """Size in the file."""
        return self.end - self.begin


class TensorFile:
    """
    One open file; entries are known without reading any weight.

    Reading through plain reads, not a memory map: mapped pages would count as a second copy of
    the weights until the system takes them back. Raises ConfigError for a damaged file.
    """

    def __init__(self, path: Path):
        self.path = path
        self._file = path.open('rb', buffering=0)
        try:
            self.entries, self._start = self._read_header()
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> 'TensorFile':
        return self

    def __exit__(self, *_) -> None:
        self._file.close()

    def read(self, name: str, target: torch.Tensor) -> None:
        """Fill target, of the same shape and contiguous, on any device and in any precision."""
        for part, piece in self._pieces(name, target):
            if piece is not None:
                part.copy_(piece)

    def equals(self, name: str, target: torch.Tensor) -> bool:
        """Return whether a tensor, in target's precision, has the values of target."""
        return all(torch.equal(piece.to(part), part)
                   for part, piece in self._pieces(name, target, direct=False))

    def _pieces(self, name: str, target: torch.Tensor, *, direct: bool = True):
        """Yield (part of target, its values), or (part, None) where the read went there."""
        entry = self.entries[name]
        dtype = DTYPES[entry.dtype]
        flat = target.view(-1)
        self._file.seek(self._start + entry.begin)
        if direct and target.device.type == 'cpu' and target.dtype == dtype:
            self._fill(flat)
            yield flat, None
            return
        step = min(flat.numel(), CHUNK_BYTES // dtype.itemsize)
        staging = torch.empty(step, dtype=dtype)
        for start in range(0, flat.numel(), step):
            part = flat[start:start + step]
            piece = staging[:part.numel()]
            self._fill(piece)
            yield part, piece

    def _fill(self, tensor: torch.Tensor) -> None:
        view = memoryview(tensor.view(torch.uint8).numpy())
        while view.nbytes:
            num_read = self._file.readinto(view)
            if not num_read:
                raise ConfigError(f'{self.path} ended while it was read; copy it again')
            view = view[num_read:]

    def _read_header(self) -> tuple[dict[str, Entry], int]:
        size = os.fstat(self._file.fileno()).st_size
        first = self._file.read(8)
        length = struct.unpack('<Q', first)[0] if len(first) == 8 else 0
        if not 2 <= length <= MAX_HEADER_BYTES:
            raise ConfigError(f'{self.path} is no safetensors file ({size} bytes); download or '
                              'copy it again')
        try:
            header = json.loads(self._file.read(length))
            header.pop('__metadata__', None)
            entries = {name: Entry(str(item['dtype']), tuple(map(int, item['shape'])),
                                   *map(int, item['data_offsets']))
                       for name, item in header.items()}
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ConfigError(f'{self.path} has a damaged header ({type(error).__name__}); '
                              'download or copy it again') from error
        start = 8 + length
        needed = start + max((entry.end for entry in entries.values()), default=0)
        if size < needed:
            raise ConfigError(f'{self.path} is cut off: it has {size} bytes of {needed}; download '
                              'or copy it again')
        for name, entry in entries.items():
            dtype = DTYPES.get(entry.dtype)
            if entry.begin < 0 or dtype is not None and (
                    entry.num_bytes != math.prod(entry.shape) * dtype.itemsize):
                raise ConfigError(f'{self.path}: {name} has {entry.num_bytes} bytes for '
                                  f'shape {list(entry.shape)}; the file is damaged')
        return entries, start


def write_tensors(path: Path, tensors: Mapping[str, torch.Tensor], dtype: torch.dtype) -> None:
    """
    Write a file with these tensors in one precision; memory holds one converted tensor.

    Readers never see half a file: it gets its name when it is whole.
    """
    name = next(key for key, value in DTYPES.items() if value == dtype)
    header, end = {'__metadata__': {'format': 'pt'}}, 0
    for key, tensor in tensors.items():
        begin, end = end, end + tensor.numel() * dtype.itemsize
        header[key] = {'dtype': name, 'shape': list(tensor.shape), 'data_offsets': [begin, end]}
    text = json.dumps(header).encode('utf-8')
    text += b' ' * (-len(text) % 8)
    unfinished = path.with_name(path.name + '.part')
    with unfinished.open('wb') as file:
        file.write(struct.pack('<Q', len(text)) + text)
        for tensor in tensors.values():
            data = tensor.detach().to(dtype).cpu().contiguous().view(-1).view(torch.uint8)
            file.write(memoryview(data.numpy()))
    os.replace(unfinished, path)
