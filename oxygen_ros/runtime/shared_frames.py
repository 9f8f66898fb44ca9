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

"""Arrays between two processes through a ring in anonymous shared memory; nobody ever waits."""

import mmap
import os
import pickle
import threading
from typing import Any
from typing import Sequence

import numpy as np
from numpy.typing import NDArray

# One file: a page of 64-bit words, then extents, each used by one slot and one array set a time.
# words: [LATEST, TAKEN, HEARTBEAT, spare ..., then per slot: sequence, offset, meta, length]
_HEADER_BYTES = mmap.PAGESIZE
_LATEST, _TAKEN, _HEARTBEAT, _FIRST_SLOT = 0, 1, 2, 8
_SEQUENCE, _OFFSET, _META_BYTES, _DATA_BYTES, _SLOT_WORDS = 0, 1, 2, 3, 4
_ALIGN = 64
_SMALLEST_EXTENT = 1 << 12

_fence_lock = threading.Lock()


def _fence() -> None:
    """
    Order memory accesses before and after, also on ARM.

    A release followed by an acquire is a full barrier there; x86 needs nothing.
    """
    with _fence_lock:
        pass
    with _fence_lock:
        pass


class SharedRing:
    """
    The last few array sets of one writer, for one reader in another process.

    The memory is a memfd: it has no name, so nothing appears in /dev/shm and nothing is left
    when both processes are gone, however they ended. Neither side ever waits for the other:
    the writer overwrites the oldest slot, and a reader whose slot was overwritten while it
    copied notices by the sequence number and takes a newer one. Sets of any size fit: the file
    grows, by doubling, when a larger one comes. `put` may be called from several threads.
    """

    def __init__(self, fd: int, num_slots: int):
        self.fd = fd
        self._num_slots = num_slots
        self._capacities = [0] * num_slots     # writer only: bytes of each slot's extent
        self._lock = threading.Lock()          # between writers of this process, and close
        self._map: mmap.mmap | None = None
        self._remap()

    @classmethod
    def create(cls, name: str, *, num_slots: int = 4) -> 'SharedRing':
        """Make a ring; give its `fd` to the other process and attach there."""
        fd = os.memfd_create(name, os.MFD_CLOEXEC)
        os.ftruncate(fd, _HEADER_BYTES)
        return cls(fd, num_slots)

    @classmethod
    def attach(cls, fd: int, *, num_slots: int = 4) -> 'SharedRing':
        """Open a ring made by another process; takes the fd over."""
        return cls(fd, num_slots)

    def put(self, meta: Any, arrays: Sequence[NDArray]) -> int:
        """
        Store a set of arrays with a small picklable description; returns its sequence number.

        Raises OSError when the machine has no memory for it; the ring stays as it was. A closed
        ring takes nothing and returns 0.
        """
        arrays = [np.asarray(array) for array in arrays]
        layout = [(array.dtype.str, array.shape) for array in arrays]
        header = pickle.dumps((meta, layout), protocol=5)
        data_bytes = sum(_aligned(array.nbytes) for array in arrays)
        with self._lock:
            if self._map is None:
                return 0
            sequence = int(self._words[_LATEST]) + 1
            index = sequence % self._num_slots
            slot = self._slot(index)
            if _aligned(len(header)) + data_bytes > self._capacities[index]:
                self._grow(index, _aligned(len(header)) + data_bytes)
                slot = self._slot(index)
            slot[_SEQUENCE] = 0
            _fence()
            slot[_META_BYTES], slot[_DATA_BYTES] = len(header), data_bytes
            self._copy_in(int(slot[_OFFSET]), header, arrays)
            _fence()
            slot[_SEQUENCE] = sequence
            self._words[_LATEST] = sequence
            return sequence

    def newest(self) -> tuple[Any, list[NDArray]] | None:
        """Take the newest set not taken yet, as copies; None if there is none."""
        for _ in range(self._num_slots):      # only a writer faster than this reader repeats it
            latest = self.latest
            if latest == self.taken:
                return None
            found = self._read(latest)
            if found is not None:
                self._words[_TAKEN] = latest
                return found
        return None

    def next(self) -> tuple[Any, list[NDArray]] | None:
        """Take the oldest set not taken yet and not overwritten, as copies; None if none."""
        latest = self.latest
        first = max(self.taken + 1, latest - self._num_slots + 2)
        for sequence in range(first, latest + 1):
            found = self._read(sequence)
            self._words[_TAKEN] = sequence
            if found is not None:
                return found
        return None

    @property
    def latest(self) -> int:
        """Return the sequence number of the newest set, 0 if there is none."""
        return 0 if self._map is None else int(self._words[_LATEST])

    @property
    def taken(self) -> int:
        """Return the sequence number of the set taken last, 0 if there is none."""
        return 0 if self._map is None else int(self._words[_TAKEN])

    @property
    def has_newer(self) -> bool:
        """Return whether `newest` has something to take."""
        return self.latest != self.taken

    @property
    def heartbeat_ns(self) -> int:
        """Steady time at which the process that beats was last seen to work."""
        return 0 if self._map is None else int(self._words[_HEARTBEAT])

    @heartbeat_ns.setter
    def heartbeat_ns(self, now_ns: int) -> None:
        if self._map is not None:
            self._words[_HEARTBEAT] = now_ns

    def close(self) -> None:
        """Give the memory back; later calls find an empty ring."""
        with self._lock:
            if self._map is None:
                return
            self._map = None
            # An empty page keeps late callers of other threads harmless.
            self._words = np.zeros(_HEADER_BYTES // 8, np.uint64)
            self._bytes = np.zeros(0, np.uint8)
            os.close(self.fd)

    def _slot(self, index: int) -> NDArray[np.uint64]:
        start = _FIRST_SLOT + index * _SLOT_WORDS
        return self._words[start:start + _SLOT_WORDS]

    def _remap(self) -> None:
        # The old map lives on until its last view is gone, then Python unmaps it.
        self._map = mmap.mmap(self.fd, os.fstat(self.fd).st_size)
        self._bytes = np.frombuffer(self._map, np.uint8)
        self._words = self._bytes[:_HEADER_BYTES].view(np.uint64)

    def _grow(self, index: int, num_bytes: int) -> None:
        """Give a slot a new, larger extent at the end; doubling wastes at most what is used."""
        capacity = max(_SMALLEST_EXTENT, 1 << (num_bytes - 1).bit_length())
        offset = os.fstat(self.fd).st_size
        # Unlike ftruncate this fails here when memory is short, not by SIGBUS when copying.
        os.posix_fallocate(self.fd, offset, capacity)
        self._remap()
        slot = self._slot(index)
        slot[_SEQUENCE] = 0
        _fence()
        slot[_OFFSET] = offset
        self._capacities[index] = capacity

    def _copy_in(self, offset: int, header: bytes, arrays: Sequence[NDArray]) -> None:
        self._bytes[offset:offset + len(header)] = np.frombuffer(header, np.uint8)
        offset += _aligned(len(header))
        for array in arrays:
            target = self._bytes[offset:offset + array.nbytes].view(array.dtype)
            np.copyto(target.reshape(array.shape), array)
            offset += _aligned(array.nbytes)

    def _read(self, sequence: int) -> tuple[Any, list[NDArray]] | None:
        """Copy a set out; None if it is overwritten, also in the middle of copying."""
        if self._map is None:
            return None
        slot = self._slot(sequence % self._num_slots)
        if slot[_SEQUENCE] != sequence:
            return None
        _fence()
        offset, meta_bytes, data_bytes = (int(value) for value in slot[_OFFSET:_DATA_BYTES + 1])
        end = offset + _aligned(meta_bytes) + data_bytes
        if end > len(self._bytes):
            self._remap()
            slot = self._slot(sequence % self._num_slots)
            if end > len(self._bytes):
                return None
        copy = self._bytes[offset:end].copy()
        _fence()
        if slot[_SEQUENCE] != sequence:
            return None
        meta, layout = pickle.loads(copy[:meta_bytes].tobytes())
        arrays, start = [], _aligned(meta_bytes)
        for dtype, shape in layout:
            num_bytes = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
            arrays.append(copy[start:start + num_bytes].view(dtype).reshape(shape))
            start += _aligned(num_bytes)
        return meta, arrays


def _aligned(num_bytes: int) -> int:
    return -(-num_bytes // _ALIGN) * _ALIGN
