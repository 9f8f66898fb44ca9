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
The unified KV manager: who owns which rows of the pool, and for how long.

It hands out contiguous extents of pages and counts references; it never touches a key or a
value. A prefix lives while an action or a text reads it. Texts append to their own extent only.
A batch is a tuple of row ranges, so that forming one moves no byte.
"""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Sequence
from dataclasses import dataclass
from functools import wraps
import hashlib
import threading
import time
from typing import Protocol

import torch

from oxygen_ros.models.pool import KVPool
from oxygen_ros.models.segment import Segment
from oxygen_ros.types import KVUse


class PoolFull(RuntimeError):
    """Rows cannot be had: not now (others hold them), or never (the pool is too small)."""

    def __init__(self, *, needed: int, free: int, total: int):
        self.never = needed > total
        self.needed, self.free, self.total = needed, free, total
        when = 'never fit' if self.never else 'not fit now'
        super().__init__(f'{needed} KV rows do {when}: {free} of {total} are free; '
                         'raise pool_tokens or lower num_texts')


class WrongMaskMode(ValueError):
    """A prefix was asked for under other rules of who sees whom than it was written with."""


@dataclass(frozen=True)
class PrefixKey:
    """What a prefix was computed from; equal keys mean equal keys and values, row by row."""

    frame_id: int
    prefix_mode: str     # bidirectional | causal_text
    digest: bytes        # of the prompt and state tokens, the camera slots and every pixel


@dataclass(frozen=True)
class Extent:
    """Rows [start, stop) of the pool; serial is never used twice."""

    serial: int
    start: int
    num_rows: int        # asked for; the pages hold at least as many
    kind: str            # prefix | text

    @property
    def stop(self) -> int:
        """Row behind the last one asked for."""
        return self.start + self.num_rows


@dataclass(frozen=True)
class Prefix:
    """One encoded observation; immutable once written, shared by everyone who reads it."""

    key: PrefixKey
    extent: Extent            # its rows, then scratch rows for the actions
    num_rows: int
    stamp_ns: int             # of the observation
    last_hidden: torch.Tensor | None = None   # [1, width], the true last row: predicts a token

    @property
    def frame_id(self) -> int:
        """Return the frame it is about."""
        return self.key.frame_id

    @property
    def rows(self) -> tuple[int, int]:
        """Pool rows [begin, end) that readers see; the scratch rows are not among them."""
        return self.extent.start, self.extent.start + self.num_rows


class Holder(Protocol):
    """A text as the manager sees it: its prefix, its own extent, and how full that is."""

    prefix: Prefix
    extent: Extent
    num_written: int    # own rows that hold keys and values
    num_feeding: int    # rows the next forward pass adds


def _managed(operation: Callable) -> Callable:
    """Serialise an operation (the parallel baseline has two threads) and add up its time."""
    @wraps(operation)
    def timed(self, *args, **kwargs):
        with self._lock:
            if self._depth:
                return operation(self, *args, **kwargs)
            began, self._depth = time.perf_counter_ns(), 1
            try:
                return operation(self, *args, **kwargs)
            finally:
                self._depth = 0
                self._spent_ns += time.perf_counter_ns() - began
    return timed


class KVManager:
    """Reference-counted extents of one preallocated pool, or of its first num_pages."""

    def __init__(self, pool: KVPool, *, page_rows: int = 16, num_pages: int | None = None):
        self.pool = pool
        self.page_rows = page_rows
        self.num_pages = pool.num_rows // page_rows if num_pages is None else num_pages
        self._extents: dict[int, Extent] = {}      # by serial, live ones only
        self._counts: dict[int, int] = {}          # references, by serial
        self._stored: dict[PrefixKey, Prefix] = {}
        self._next_serial = 1
        self._pages_used = self._pages_peak = 0
        self._bytes_copied = 0
        self._lock, self._depth, self._spent_ns = threading.RLock(), 0, 0

    @property
    def num_rows(self) -> int:
        """Rows that can be handed out in total."""
        return self.num_pages * self.page_rows

    @property
    def spent_s(self) -> float:
        """Time spent inside this class since the start."""
        return self._spent_ns * 1e-9

    def rounded(self, num_rows: int) -> int:
        """Return the rows of the whole pages that num_rows need."""
        return self._pages(num_rows) * self.page_rows

    @_managed
    def key(self, frame_id: int, prefix_mode: str, *, token_ids: Sequence[int],
            slots: Sequence[str], images: torch.Tensor) -> PrefixKey:
        """Return the key of everything a prefix depends on: every token, slot and pixel."""
        digest = hashlib.sha256(repr((token_ids, slots, tuple(images.shape))).encode())
        digest.update(images.contiguous().numpy().data)
        return PrefixKey(frame_id, prefix_mode, digest.digest())

    @_managed
    def acquire(self, num_rows: int, *, kind: str) -> Extent:
        """Return a new extent with one reference, first fit from the low end; or PoolFull."""
        pages = self._pages(num_rows)
        place = next((begin for begin, end in self._gaps(()) if end - begin >= pages), None)
        if place is None:
            raise PoolFull(needed=pages * self.page_rows, total=self.num_rows,
                           free=self.num_rows - self._pages_used * self.page_rows)
        extent = Extent(self._next_serial, place * self.page_rows, num_rows, kind)
        self._next_serial += 1
        self._extents[extent.serial], self._counts[extent.serial] = extent, 1
        self._pages_used += pages
        self._pages_peak = max(self._pages_peak, self._pages_used)
        return extent

    @_managed
    def share(self, prefix: Prefix, *, prefix_mode: str) -> Prefix:
        """Add one reader; refused under another mask mode, where it would be silently wrong."""
        if prefix_mode != prefix.key.prefix_mode:
            raise WrongMaskMode(f'prefix of frame {prefix.frame_id} was written as '
                                f'{prefix.key.prefix_mode} and cannot be read as {prefix_mode}')
        self._counts[self._live(prefix.extent)] += 1
        return prefix

    @_managed
    def store(self, prefix: Prefix) -> None:
        """Make a written prefix findable by its key for as long as it has readers."""
        self._live(prefix.extent)
        if prefix.key in self._stored:
            raise ValueError(f'frame {prefix.frame_id} is stored already; retrieve it instead')
        self._stored[prefix.key] = prefix

    @_managed
    def retrieve(self, key: PrefixKey) -> Prefix | None:
        """Return the living prefix of exactly this key with one more reader, or None."""
        prefix = self._stored.get(key)
        return prefix and self.share(prefix, prefix_mode=key.prefix_mode)

    @_managed
    def update(self, holder: Holder, num_rows: int) -> None:
        """Record that num_rows more of the holder's own rows hold keys and values."""
        self._live(holder.extent)
        if holder.num_written + num_rows > holder.extent.num_rows:
            raise ValueError(f'{holder.num_written} + {num_rows} rows do not fit an extent of '
                             f'{holder.extent.num_rows}')
        holder.num_written += num_rows

    @_managed
    def batch(self, holders: Sequence[Holder]) -> tuple[Segment, ...]:
        """Return one forward pass over the holders' next rows: ranges only, nothing is copied."""
        segments = []
        for holder in holders:
            self._live(holder.prefix.extent)
            self._live(holder.extent)
            write = holder.extent.start + holder.num_written
            if write + holder.num_feeding > holder.extent.stop:
                raise ValueError(f'{holder.num_feeding} rows more do not fit {holder.extent}')
            segments.append(Segment(
                holder.num_feeding, write, start=holder.prefix.num_rows + holder.num_written,
                context=(holder.prefix.rows, (holder.extent.start, write))))
        return tuple(segments)

    @_managed
    def release(self, owned: Prefix | Extent) -> None:
        """Drop one reference; the last one frees the rows and forgets the key."""
        extent = owned.extent if isinstance(owned, Prefix) else owned
        serial = self._live(extent)
        self._counts[serial] -= 1
        if self._counts[serial]:
            return
        del self._counts[serial], self._extents[serial]
        self._pages_used -= self._pages(extent.num_rows)
        if isinstance(owned, Prefix) and self._stored.get(owned.key) is owned:
            del self._stored[owned.key]

    @_managed
    def fits(self, sizes: Sequence[int], *, without: Sequence[Holder] = ()) -> bool:
        """Return whether extents of these sizes could be had, were some holders gone."""
        gaps = self._gaps(self._freed_by(without))
        for pages in map(self._pages, sizes):
            index = next((index for index, (begin, end) in enumerate(gaps)
                          if end - begin >= pages), None)
            if index is None:
                return False
            gaps[index] = (gaps[index][0] + pages, gaps[index][1])
        return True

    @_managed
    def evict(self, candidates: Sequence[Holder], sizes: Sequence[int]) -> list[Holder]:
        """
        Release candidates, in their order, until extents of these sizes fit; return them.

        Nobody is evicted in vain: if all of them together would not make room, none goes.
        """
        for count in range(len(candidates) + 1):
            chosen = list(candidates[:count])
            if self.fits(sizes, without=chosen):
                for holder in chosen:
                    self.release(holder.extent)
                    self.release(holder.prefix)
                return chosen
        return []

    @_managed
    def stats(self) -> KVUse:
        """Return how full the pool is."""
        page_bytes = self.page_rows * self.pool.bytes_per_row
        prefixes = sum(extent.kind == 'prefix' for extent in self._extents.values())
        return KVUse(
            pages_used=self._pages_used, pages_total=self.num_pages,
            bytes_used=self._pages_used * page_bytes, bytes_peak=self._pages_peak * page_bytes,
            bytes_copied=self._bytes_copied,
            prefixes=prefixes, generations=len(self._extents) - prefixes)

    @_managed
    def count_copied(self, num_bytes: int) -> None:
        """Add KV bytes that were found to be moved (see copies.CopyCounter)."""
        self._bytes_copied += num_bytes

    @_managed
    def forget_peak(self) -> None:
        """Count the peak from what is used now."""
        self._pages_peak = self._pages_used

    @_managed
    def check_integrity(self) -> None:
        """Raise RuntimeError unless every page has at most one owner and every owner is real."""
        owner = [0] * self.num_pages
        for serial, extent in self._extents.items():
            first = extent.start // self.page_rows
            for page in range(first, first + self._pages(extent.num_rows)):
                if owner[page]:
                    raise RuntimeError(f'page {page} belongs to {owner[page]} and {serial}')
                owner[page] = serial
        if (self._counts.keys() != self._extents.keys()
                or any(count < 1 for count in self._counts.values())):
            raise RuntimeError(f'references {self._counts} of extents {list(self._extents)}')
        if self._pages_used != sum(map(bool, owner)) or self._pages_used > self._pages_peak:
            raise RuntimeError(f'{sum(map(bool, owner))} pages are owned, counted as '
                               f'{self._pages_used}, peak {self._pages_peak}')
        for prefix in self._stored.values():
            self._live(prefix.extent)

    def _pages(self, num_rows: int) -> int:
        if num_rows < 1:
            raise ValueError(f'an extent needs at least one row, not {num_rows}')
        return -(-num_rows // self.page_rows)

    def _live(self, extent: Extent) -> int:
        if self._extents.get(extent.serial) is not extent:
            raise RuntimeError(f'{extent} is used after its release')
        return extent.serial

    def _freed_by(self, holders: Iterable[Holder]) -> set[int]:
        """Return the serials of the extents that these holders' release would free."""
        counts: dict[int, int] = {}
        for holder in holders:
            for serial in (holder.extent.serial, holder.prefix.extent.serial):
                counts[serial] = counts.get(serial, self._counts[serial]) - 1
        return {serial for serial, count in counts.items() if count == 0}

    def _gaps(self, freed: Iterable[int]) -> list[tuple[int, int]]:
        """Return free page ranges [begin, end) from the low end, as if some extents were gone."""
        gaps, end = [], 0
        held = [extent for serial, extent in self._extents.items() if serial not in freed]
        for extent in sorted(held, key=lambda extent: extent.start):
            first = extent.start // self.page_rows
            gaps.append((end, first))
            end = first + self._pages(extent.num_rows)
        gaps.append((end, self.num_pages))
        return [gap for gap in gaps if gap[0] < gap[1]]
