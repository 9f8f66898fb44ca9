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

"""Priority, memory and garbage collection as the system permits them."""

import gc
import os
import resource
import subprocess
import sys
import time

import pytest

from oxygen_ros.policy import realtime


def _in_child(code, *, as_user=None):
    """Run code in a process of its own, as another user if given; return what it prints."""
    drop = '' if as_user is None else f'import os; os.setgid({as_user}); os.setuid({as_user});'
    setup = 'import resource, sys; from oxygen_ros.policy import realtime;'
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    return subprocess.run([sys.executable, '-c', setup + drop + code], cwd=root, text=True,
                          capture_output=True, check=True, timeout=60).stdout.strip()


def _needs_root():
    if os.geteuid() != 0:
        pytest.skip('only root can become another user')


def test_refused_priority_names_the_remedy():
    _needs_root()
    text = _in_child('resource.setrlimit(resource.RLIMIT_RTPRIO, (0, 0));'
                     'print(realtime.request_priority(50))', as_user=65534)
    assert 'Operation not permitted' in text
    assert 'rtprio 50' in text and 'LimitRTPRIO=50' in text


def test_memory_is_not_locked_under_a_limit_that_a_later_allocation_would_hit():
    _needs_root()
    text = _in_child('resource.setrlimit(resource.RLIMIT_MEMLOCK, (65536, 65536));'
                     'print(realtime.lock_memory()); x = bytearray(50_000_000)', as_user=65534)
    assert text.startswith('memory not locked (limit 64 kB)') and 'memlock unlimited' in text


def test_locked_memory_leaves_room_to_allocate():
    soft, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    if os.geteuid() != 0 and soft != resource.RLIM_INFINITY:
        pytest.skip('memory locking is not permitted here')
    text = _in_child('print(repr(realtime.lock_memory())); x = bytearray(50_000_000);'
                     'print([l for l in open("/proc/self/status") if "VmLck" in l][0].split()[1])')
    refusal, locked_kb = text.splitlines()
    if refusal != "''":
        pytest.skip(f'memory locking is not permitted here: {refusal}')
    assert int(locked_kb) > 0


class Cycle:
    """Garbage that only the collector can find."""

    alive = 0

    def __init__(self):
        self.me = self
        Cycle.alive += 1

    def __del__(self):
        Cycle.alive -= 1


@pytest.fixture
def interpreter():
    interpreter = realtime.QuietInterpreter()
    interpreter.begin()
    yield interpreter
    interpreter.end()


def test_garbage_is_collected_in_the_gaps(interpreter, monkeypatch):
    Cycle.alive = 0
    for _ in range(5000):
        Cycle()
    assert Cycle.alive == 5000
    interpreter.rest(1.0)
    assert Cycle.alive == 5000  # not yet due
    later = time.monotonic() + 2
    monkeypatch.setattr(realtime.time, 'monotonic', lambda: later)
    interpreter.rest(1.0)
    assert Cycle.alive == 0


def test_collection_waits_for_a_gap_it_fits_in_but_not_for_ever(interpreter, monkeypatch):
    now = [time.monotonic()]
    monkeypatch.setattr(realtime.time, 'monotonic', lambda: now[0])
    collected = []
    monkeypatch.setattr(realtime.gc, 'collect', lambda generation: (
        collected.append(generation), now.__setitem__(0, now[0] + 0.004)))
    for _ in range(400):  # 0.1 s apart, 1 ms free
        now[0] += 0.1
        interpreter.rest(0.001)
    assert 3 <= len(collected) <= 8  # the first of each kind, then only when long overdue
    collected.clear()
    for _ in range(100):
        now[0] += 0.1
        interpreter.rest(0.015)
    assert len(collected) >= 8
    monkeypatch.undo()
    assert not gc.isenabled()
