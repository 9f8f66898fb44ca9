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
Random sequences of every KV operation against a simple model of who owns what.

After each: no page with two owners, no leak, nothing used after its release, memory bounded,
and a full pool refuses with a reason. Pins KVM-01 (leak) and KVM-06 (never and not now).
"""

from types import SimpleNamespace

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle
from hypothesis.stateful import consumes
from hypothesis.stateful import invariant
from hypothesis.stateful import rule
from hypothesis.stateful import RuleBasedStateMachine
import pytest

from oxygen_ros.engine.kv import KVManager
from oxygen_ros.engine.kv import PoolFull
from oxygen_ros.engine.kv import Prefix
from oxygen_ros.engine.kv import PrefixKey
from oxygen_ros.models.architecture import tiny
from oxygen_ros.models.pool import KVPool

PAGES, PAGE_ROWS = 24, 16


class KVMachine(RuleBasedStateMachine):
    """Holds references like an engine does: frames, extra readers, texts."""

    readers = Bundle('readers')   # one reference to a prefix each
    texts = Bundle('texts')

    def __init__(self):
        super().__init__()
        self.kv = KVManager(KVPool(tiny(), PAGES * PAGE_ROWS), page_rows=PAGE_ROWS)
        self.frames = 0
        self.references = {}      # prefix -> number of references
        self.running = []

    def pages(self):
        """Return the pages that must be in use."""
        rows = [prefix.extent.num_rows for prefix in self.references]
        rows += [text.extent.num_rows for text in self.running]
        return sum(-(-count // PAGE_ROWS) for count in rows)

    def drop(self, prefix):
        """Take away one reference in the model."""
        self.references[prefix] -= 1
        if not self.references[prefix]:
            del self.references[prefix]

    def acquire(self, num_rows, kind):
        """Return an extent, or None where the pool refuses and is right to."""
        before = self.kv.stats()
        try:
            return self.kv.acquire(num_rows, kind=kind)
        except PoolFull as full:
            assert self.kv.stats() == before
            assert full.never == (full.needed > PAGES * PAGE_ROWS)
            assert full.free == (PAGES - self.pages()) * PAGE_ROWS
            assert str(full.needed) in str(full) and str(full.total) in str(full)
            assert not self.kv.fits([num_rows])
            return None

    @rule(target=readers, num_rows=st.integers(1, 500), mode=st.sampled_from(('a', 'b')))
    def encode(self, num_rows, mode):
        """Write a new prefix."""
        extent = self.acquire(num_rows, 'prefix')
        if extent is None:
            return None
        self.frames += 1
        prefix = Prefix(PrefixKey(self.frames, mode, b''), extent, num_rows, 0)
        self.kv.store(prefix)
        self.references[prefix] = 1
        return prefix

    @rule(target=readers, prefix=readers)
    def share(self, prefix):
        """Add a reader, by handle; the wrong mask mode is refused."""
        if prefix is None or prefix not in self.references:
            return None
        with pytest.raises(ValueError, match='cannot be read as'):
            self.kv.share(prefix, prefix_mode='other')
        self.references[prefix] += 1
        return self.kv.share(prefix, prefix_mode=prefix.key.prefix_mode)

    @rule(target=readers, prefix=readers)
    def retrieve(self, prefix):
        """Add a reader, by key: found exactly as long as somebody reads it."""
        if prefix is None:
            return None
        found = self.kv.retrieve(prefix.key)
        assert (found is prefix) == (prefix in self.references)
        if found:
            self.references[found] += 1
        return found

    @rule(prefix=consumes(readers))
    def release(self, prefix):
        """Drop a reader; once nobody reads it a further release is an error."""
        if prefix is None:
            return
        if prefix not in self.references:
            with pytest.raises(RuntimeError, match='after its release'):
                self.kv.release(prefix)
            return
        if self.references[prefix] > sum(text.prefix is prefix for text in self.running):
            self.kv.release(prefix)
            self.drop(prefix)

    @rule(target=texts, prefix=readers, num_rows=st.integers(1, 90))
    def begin_text(self, prefix, num_rows):
        """Start a text on a living prefix."""
        if prefix is None or prefix not in self.references:
            return None
        extent = self.acquire(num_rows, 'text')
        if extent is None:
            return None
        self.kv.share(prefix, prefix_mode=prefix.key.prefix_mode)
        self.references[prefix] += 1
        text = SimpleNamespace(prefix=prefix, extent=extent, num_written=0, num_feeding=1)
        self.running.append(text)
        return text

    @rule(text=texts, num_rows=st.integers(1, 90))
    def update(self, text, num_rows):
        """Append rows; more than were asked for is an error."""
        if text not in self.running:
            return
        if text.num_written + num_rows > text.extent.num_rows:
            with pytest.raises(ValueError, match='do not fit'):
                self.kv.update(text, num_rows)
        else:
            self.kv.update(text, num_rows)

    @rule()
    def batch(self):
        """Form a batch of all texts that have room: views of own rows only."""
        ready = [text for text in self.running if text.num_written < text.extent.num_rows]
        for text, segment in zip(ready, self.kv.batch(ready)):
            assert text.extent.start <= segment.write < text.extent.stop
            assert segment.start == text.prefix.num_rows + text.num_written
            assert segment.context == (text.prefix.rows, (text.extent.start, segment.write))

    @rule(text=texts)
    def end_text(self, text):
        """Release a text and its reading."""
        if text in self.running:
            self.running.remove(text)
            self.kv.release(text.extent)
            self.kv.release(text.prefix)
            self.drop(text.prefix)

    @rule(size=st.integers(1, 400))
    def evict(self, size):
        """Make room: afterwards it fits, or nobody was evicted in vain."""
        fitted = self.kv.fits([size])
        evicted = self.kv.evict(tuple(self.running), [size])
        for text in evicted:
            self.running.remove(text)
            self.drop(text.prefix)
        assert not (fitted and evicted)
        assert not evicted or self.kv.fits([size])

    @invariant()
    def sound(self):
        """Compare with the model."""
        self.kv.check_integrity()
        use = self.kv.stats()
        assert use.pages_used == self.pages() <= PAGES
        assert use.prefixes == len(self.references)
        assert use.generations == len(self.running)
        assert use.bytes_copied == 0
        assert use.bytes_used <= use.bytes_peak

    def teardown(self):
        """Give everything back: the pool is empty again."""
        for text in list(self.running):
            self.end_text(text)
        for prefix, count in self.references.items():
            for _ in range(count):
                self.kv.release(prefix)
        self.kv.check_integrity()
        assert self.kv.stats().pages_used == 0
        assert self.kv.fits([PAGES * PAGE_ROWS])


TestKVMachine = KVMachine.TestCase
TestKVMachine.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
