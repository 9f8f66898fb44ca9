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

"""One look for everything: encodes, order of what leaves, KV bytes moved, who may share what."""

from engine_bench import Bench
from engine_bench import endless_policy
from engine_bench import request
from engine_bench import tiny_policy
import pytest
import torch

from oxygen_ros.config import StandingTask
from oxygen_ros.engine.copies import CopyCounter
from oxygen_ros.engine.kv import PoolFull
from oxygen_ros.engine.kv import WrongMaskMode
from oxygen_ros.types import ActionChunk
from oxygen_ros.types import CycleReport
from oxygen_ros.types import Observation
from oxygen_ros.types import TokenDelta

# Requests per frame that come and go, and how many tokens they want: the trace the scheduler is
# simulated with, here on the real engine.
TRACE = (0, 1, 4, 0, 2, 0, 0, 3, 1, 0, 5, 0, 1, 0, 2, 0, 0)
LIFETIMES = (5, 10, 30, 100, 10, 5, 100)


def tasks(count):
    """Return standing tasks that speak about every frame."""
    return tuple(StandingTask(f'task{index}', 'Narrate:' * (1 + index), max_tokens=4,
                              overlap=index % 2 == 0) for index in range(count))


@pytest.mark.parametrize('count', [0, 1, 3, 6])
def test_one_encode_per_frame_whatever_the_number_of_tasks(count):
    """Seven frames, seven encodes."""
    bench = Bench(steps=2)
    bench.engine.warm_up()
    bench.engine.set_tasks(tasks(count))
    for frame in range(1, 8):
        bench.step(frame)
    assert bench.reports[-1].encodes == bench.reports[-1].frames == len(bench.chunks) == 7
    assert len({delta.request_id for delta in bench.of(TokenDelta)}) >= count


@pytest.mark.parametrize(('policy', 'encodes'), [
    ('oxygen', 1), ('shared', 1), ('isolated', 4), ('parallel', 4)])
def test_baselines_encode_as_often_as_their_name_says(policy, encodes):
    """Three texts and one action per frame."""
    bench = Bench(kind=policy)
    bench.engine.set_tasks(tasks(3))
    for frame in (1, 2):
        bench.step(frame)
    assert bench.reports[-1].encodes == 2 * encodes


def test_the_chunk_of_a_frame_leaves_before_any_text_of_it():
    """Also where older texts run, also with many tasks; the report comes last."""
    bench = Bench(steps=3)
    bench.engine.set_tasks(tasks(4))
    for frame in range(1, 7):
        bench.events.clear()
        bench.step(frame)
        kinds = [type(event) for event in bench.events]
        assert kinds[0] is ActionChunk and kinds[-1] is CycleReport
        assert kinds.count(ActionChunk) == kinds.count(CycleReport) == 1
        assert TokenDelta in kinds


def test_no_kv_byte_is_moved_to_form_a_batch():
    """Every operation of whole cycles is watched, with texts about eight frames in one batch."""
    bench = Bench(steps=3, policy=endless_policy())
    with CopyCounter(bench.engine.kv.pool) as copies:
        for frame in range(1, 9):
            bench.step(frame, request(f'a{frame}', '', 30), request(f'b{frame}', 'Answer:', 30))
    assert bench.reports[-1].running == 16   # texts in one batch
    assert copies.num_bytes == 0, copies.operations
    bench.engine.warm_up()
    assert bench.engine.kv.stats().bytes_copied == 0


def test_the_copy_counter_sees_copies():
    """The control: clone, cat, indexing and copy_ of keys are found, views and writes are not."""
    pool = Bench().engine.kv.pool
    rows = torch.zeros(1, 16)
    with CopyCounter(pool) as copies:
        view = pool.keys[0, :, 4:8].transpose(1, 2)
        pool.keys[0, :, 3] = rows
        pool.values[0].index_copy_(1, torch.tensor([1]), rows[None])
        assert copies.num_bytes == 0
        moved = []
        for copy in (view.clone, lambda: torch.cat([pool.keys[0], pool.keys[1]]),
                     lambda: pool.keys[:, :, [1, 2]], lambda: rows.copy_(pool.keys[0, :, 5])):
            copy()
            moved.append(copies.num_bytes)
    assert moved == sorted(set(moved))


def test_bookkeeping_costs_next_to_nothing():
    """The manager's share of the time, with many texts running."""
    bench = Bench(steps=3)
    for frame in range(1, 9):
        bench.step(frame, *(request(f'{frame}-{index}', max_tokens=30) for index in range(3)))
    assert all(0 < report.manager_s < 0.1 for report in bench.reports)


def test_a_prefix_is_not_read_under_another_mask_mode():
    """It would be silently wrong; and it is not found under its key either."""
    bench = Bench()
    engine = bench.engine
    with torch.inference_mode(), engine.encoded(bench.scene(1)) as prefix:
        with pytest.raises(WrongMaskMode, match='bidirectional.*causal_text'):
            engine.kv.share(prefix, prefix_mode='causal_text')
        other = type(prefix.key)(prefix.frame_id, 'causal_text', prefix.key.digest)
        assert engine.kv.retrieve(other) is None
        engine.kv.share(prefix, prefix_mode='bidirectional')
        engine.kv.release(prefix)


def test_mask_modes_give_different_results():
    """The control for the refusal: sharing across modes would change actions and text."""
    both = [Bench(prefix_mode=mode) for mode in ('bidirectional', 'causal_text')]
    for bench in both:
        bench.step(1, request('text', max_tokens=20))
    assert both[0].chunks != both[1].chunks


def test_not_now_and_never_are_told_apart():
    """In the words and the numbers of the error."""
    kv = Bench().engine.kv
    held = kv.acquire(kv.num_rows - 32, kind='text')
    with pytest.raises(PoolFull, match=f'48 KV rows do not fit now: 32 of {kv.num_rows}') as now:
        kv.acquire(33, kind='text')
    with pytest.raises(PoolFull, match='never fit') as never:
        kv.acquire(kv.num_rows + 1, kind='text')
    assert (now.value.never, never.value.never) == (False, True)
    kv.release(held)


def test_a_failed_encode_leaves_no_row_behind():
    """A state that is not finite is refused before anything runs; the next frame works."""
    bench = Bench()
    good = bench.scene(1)
    bad = Observation(2, 2, good.images, good.state * float('nan'), good.instruction)
    with pytest.raises(ValueError, match='not finite'):
        bench.engine.step(bad)
    bench.engine.idle_check()
    bench.step(3)
    assert list(bench.chunks) == [3]


def test_requests_that_come_and_go_leave_the_pool_empty():
    """Memory stays bounded over the trace; every text ends; actions equal those without text."""
    bench = Bench(steps=3, num_texts=12, policy=endless_policy())
    lifetimes, count = iter(LIFETIMES * 100), 0
    for frame in range(1, len(TRACE) * 3 + 1):
        for _ in range(TRACE[frame % len(TRACE)]):
            count += 1
            bench.engine.submit(request(f'r{count}', max_tokens=next(lifetimes)))
        bench.step(frame)
    bench.drain()
    assert len(bench.texts) == count
    bench.engine.idle_check()
    assert bench.engine.kv.stats().pages_used == 0
    assert bench.reports[-1].kv.bytes_copied == 0
    silent = Bench(policy=tiny_policy())
    for frame in (3, 20, 51):
        silent.step(frame)
        assert silent.chunks[frame] == bench.chunks[frame]
