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

"""Shared memory between two processes: whole pictures, the newest, of any size, no wait."""

import os
from pathlib import Path
import subprocess
import sys
import time

import numpy as np
import pytest

from oxygen_ros.runtime.shared_frames import SharedRing

RNG = np.random.default_rng(0)


@pytest.fixture
def ring():
    """Return a ring that is closed after the test."""
    ring = SharedRing.create('test_ring')
    yield ring
    ring.close()


@pytest.mark.parametrize('shape', [(1, 1, 3), (96, 96, 3), (480, 640, 3), (1081, 1923, 3)])
def test_pictures_of_any_size_arrive_unchanged(ring, shape):
    """Sizes that fill no page or cache line come through whole."""
    picture = RNG.integers(0, 256, shape, np.uint8)
    state = RNG.normal(size=7).astype(np.float32)
    ring.put({'frame': 3}, [state, picture])
    meta, (got_state, got_picture) = ring.newest()
    assert meta == {'frame': 3}
    assert np.array_equal(got_state, state) and got_state.dtype == np.float32
    assert np.array_equal(got_picture, picture)


def test_sizes_may_change_with_every_picture(ring):
    """Growing and shrinking again loses nothing, in all slots."""
    for round_, size in enumerate((10, 700, 30, 1200, 5, 1199, 701, 64) * 2):
        picture = RNG.integers(0, 256, (size, size // 2 + 1, 3), np.uint8)
        ring.put(round_, [picture])
        meta, (got,) = ring.newest()
        assert meta == round_
        assert np.array_equal(got, picture)


def test_a_view_of_a_larger_array_arrives_as_it_looks(ring):
    """Cut-outs and mirrored pictures are not contiguous in memory."""
    whole = RNG.integers(0, 256, (50, 60, 3), np.uint8)
    ring.put(0, [whole[5:20, 10:41], whole[::-1, ::2]])
    _, (cut, mirrored) = ring.newest()
    assert np.array_equal(cut, whole[5:20, 10:41])
    assert np.array_equal(mirrored, whole[::-1, ::2])


def test_the_newest_wins(ring):
    """A reader that comes late sees only the last one, once."""
    for frame in range(10):
        ring.put(frame, [])
    assert ring.newest()[0] == 9
    assert ring.newest() is None
    assert not ring.has_newer


def test_next_gives_all_in_order_while_the_reader_keeps_up(ring):
    """Chunks are taken one by one; of too many the oldest are lost, never the order."""
    for frame in range(3):
        ring.put(frame, [])
    assert [ring.next()[0] for _ in range(3)] == [0, 1, 2]
    assert ring.next() is None
    for frame in range(10):
        ring.put(frame, [])
    taken = []
    while (found := ring.next()) is not None:
        taken.append(found[0])
    assert taken == [7, 8, 9]


def test_what_was_taken_does_not_change_when_the_slot_is_used_again(ring):
    """The engine works on its own copy."""
    ring.put(0, [np.full(1000, 1, np.uint8)])
    _, (taken,) = ring.newest()
    for frame in range(8):
        ring.put(frame, [np.full(1000, 9, np.uint8)])
    assert (taken == 1).all()


_WRITER = """
import sys, time
import numpy as np
from oxygen_ros.runtime.shared_frames import SharedRing
ring = SharedRing.attach(int(sys.argv[1]))
end_s = time.monotonic() + 1.5
value = 0
while time.monotonic() < end_s:
    value += 1
    ring.put(value, [np.full(int(100 + value % 7 * 60_000), value % 251, np.uint8)])
"""


def test_a_reader_never_sees_half_a_picture(ring):
    """Another process writes as fast as it can, in changing sizes, while this one reads."""
    child = subprocess.Popen([sys.executable, '-c', _WRITER, str(ring.fd)], pass_fds=[ring.fd],
                             cwd=Path(__file__).parents[2])
    last, num = 0, 0
    while child.poll() is None or ring.has_newer:
        found = ring.newest()
        if found is None:
            continue
        value, (picture,) = found
        assert value > last
        assert len(picture) == 100 + value % 7 * 60_000
        assert (picture == value % 251).all()
        last, num = value, num + 1
    assert child.returncode == 0
    assert num > 20


def test_a_frozen_reader_never_blocks_the_writer(ring):
    """Nobody reads: writing goes on at full speed and the newest is there at the end."""
    picture = np.zeros((96, 96, 3), np.uint8)
    began_s = time.monotonic()
    for frame in range(500):
        ring.put(frame, [picture])
    assert time.monotonic() - began_s < 2.0
    assert ring.newest()[0] == 499


def test_nothing_has_a_name_and_nothing_stays_open():
    """No file in /dev/shm at any time, no descriptor left after close."""
    named = set(os.listdir('/dev/shm'))
    before = len(os.listdir('/proc/self/fd'))
    for _ in range(20):
        ring = SharedRing.create('oxygen_test_name')
        for size in (10, 10_000, 1_000_000):
            ring.put(0, [np.zeros(size, np.uint8)])
        assert not {name for name in set(os.listdir('/dev/shm')) - named if 'oxygen' in name}
        ring.close()
    assert len(os.listdir('/proc/self/fd')) == before


def test_a_closed_ring_takes_and_gives_nothing(ring):
    """A camera callback that comes too late must not crash the node."""
    ring.put(1, [np.zeros(5)])
    ring.close()
    assert ring.put(2, [np.zeros(5)]) == 0
    assert ring.newest() is None and ring.next() is None
    assert ring.heartbeat_ns == 0
