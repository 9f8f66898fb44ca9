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
"""Every row sees exactly the rows its segment says, whatever shares the pass and the back end."""

from dataclasses import replace
import random

import pytest
import torch

from oxygen_ros.models.architecture import tiny
from oxygen_ros.models.attention import ViewAttention
from oxygen_ros.models.masked import MaskedAttention
from oxygen_ros.models.masked import StaticBackbone
from oxygen_ros.models.pi05 import Pi05
from oxygen_ros.models.pool import KVPool
from oxygen_ros.models.segment import Segment

HEADS, DIM, ROWS = 8, 16, 128


@pytest.fixture(scope='module')
def model():
    """Return a tiny model."""
    model = Pi05(tiny())
    model.random_weights(1)
    return model


def visible(part: Segment, row: int) -> list[int]:
    """Return the pool rows that a row of a segment sees, straight from the definition."""
    seen = [index for begin, end in part.context for index in range(begin, end)]
    last = max(part.num_bidirectional, row + 1)
    return seen + list(range(part.write, part.write + last))


def oracle(queries: torch.Tensor, segments, pool: KVPool, layer: int) -> torch.Tensor:
    """Attend row by row and head by head."""
    out, index = [], 0
    for part in segments:
        for row in range(part.num_rows):
            seen = visible(part, row)
            keys, values = pool.keys[layer, 0, seen], pool.values[layer, 0, seen]
            weights = (queries[index] @ keys.t() / DIM ** 0.5).softmax(-1)
            out.append((weights @ values).flatten())
            index += 1
    return torch.stack(out)


def random_segments(seed: int) -> list[Segment]:
    """Mix prefixes, suffixes and decode rows, some with a common prefix."""
    choose = random.Random(seed)
    segments = []
    for slot in range(choose.randint(1, 5)):
        write = 64 + slot * 12
        rows = choose.choice((1, 1, 3, 8))
        context = [(0, 30)] if choose.random() < 0.6 else [(choose.choice((0, 8)), 40)]
        own = choose.choice((0, 2, 4))
        if choose.random() < 0.2:
            context = []
        if own:
            context.append((write, write + own))
        segments.append(Segment(rows, write + own, start=30 + own, context=tuple(context),
                                num_bidirectional=choose.choice((0, 0, rows, rows // 2))))
    return segments


@pytest.mark.parametrize('seed', range(25))
def test_both_back_ends_equal_the_definition(seed):
    torch.manual_seed(seed)
    segments, pool = random_segments(seed), KVPool(tiny(), ROWS)
    pool.keys.normal_()
    pool.values.normal_()
    count = sum(part.num_rows for part in segments)
    queries, keys, values = torch.randn(3, count + 3, HEADS, DIM).unbind()
    view = ViewAttention(segments, pool, num_heads=HEADS)
    view.write(1, keys[:count, :1], values[:count, :1])
    expected = oracle(queries[:count], segments, pool, 1)
    torch.testing.assert_close(view.attend(1, queries[:count]), expected, atol=2e-6, rtol=1e-5)
    masked = MaskedAttention(count + 3, pool, num_heads=HEADS, region=(0, ROWS), idle_row=127)
    masked.place(segments)
    masked.write(1, keys[:, :1], values[:, :1])
    torch.testing.assert_close(masked.attend(1, queries)[:count], expected, atol=2e-6, rtol=1e-5)


@pytest.mark.parametrize('seed', range(5))
def test_rows_get_the_same_result_alone_and_in_a_mixed_pass(model, seed):
    torch.manual_seed(seed)
    segments = random_segments(seed + 100)
    hidden = torch.randn(sum(part.num_rows for part in segments), 64)
    start = KVPool(model.architecture, ROWS)
    start.keys.normal_()
    start.values.normal_()

    def fresh() -> KVPool:
        pool = KVPool(model.architecture, ROWS)
        pool.keys.copy_(start.keys)
        pool.values.copy_(start.values)
        return pool

    together = fresh()
    expected = model.backbone(hidden, segments, together)
    alone, row = fresh(), 0
    for part in segments:
        rows = slice(row, row + part.num_rows)
        torch.testing.assert_close(model.backbone(hidden[rows], [part], alone), expected[rows],
                                   atol=1e-4, rtol=1e-4)
        row = rows.stop
    torch.testing.assert_close(alone.keys, together.keys, atol=1e-4, rtol=1e-4)
    static = fresh()
    runner = StaticBackbone(model.backbone, static, buckets=(16, 64), region=(0, ROWS),
                            idle_row=127)
    torch.testing.assert_close(runner.forward(hidden, segments), expected, atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(static.keys[:, :, :127], together.keys[:, :, :127],
                               atol=1e-4, rtol=1e-4)


def test_decode_rows_only_write_their_own_row(model):
    pool = KVPool(model.architecture, ROWS)
    pool.keys.normal_()
    before = pool.keys.clone()
    segments = [Segment(1, 64, start=30, context=((0, 30),)),
                Segment(1, 81, start=31, context=((0, 30), (80, 81)))]
    model.backbone(torch.randn(2, 64), segments, pool)
    changed = (pool.keys != before).any(dim=3).any(dim=1).any(dim=0)
    assert changed.nonzero().flatten().tolist() == [64, 81]


def test_actions_with_static_shapes_equal_those_on_views(model):
    pool = KVPool(model.architecture, ROWS)
    pool.keys.normal_()
    pool.values.normal_()
    noise = torch.randn(10, 32)
    expected = model.expert.denoise(noise, (4, 40), 40, 36, pool, 10)
    masked = MaskedAttention(10, pool, num_heads=HEADS, region=(0, ROWS), idle_row=127)
    masked.place([Segment(10, 40, start=36, context=((4, 40),), num_bidirectional=10)])
    torch.testing.assert_close(model.expert.run(noise, masked, 10), expected, atol=1e-4,
                               rtol=1e-4)
    # A scratch elsewhere is read as a second range, with the same result.
    torch.testing.assert_close(model.expert.denoise(noise, (4, 40), 90, 36, pool, 10), expected,
                               atol=1e-4, rtol=1e-4)


def test_the_expert_leaves_the_prefix_as_it_is(model):
    pool = KVPool(model.architecture, ROWS)
    pool.keys.normal_()
    before = pool.keys.clone()
    model.expert.denoise(torch.randn(10, 32), (0, 40), 40, 40, pool, 10)
    assert torch.equal(pool.keys[:, :, :40], before[:, :, :40])
    assert torch.equal(pool.keys[:, :, 50:], before[:, :, 50:])


def test_static_passes_trace_as_one_graph_without_host_synchronisation(model):
    pool = KVPool(model.architecture, ROWS)
    masked = MaskedAttention(4, pool, num_heads=HEADS, region=(0, ROWS), idle_row=127)
    masked.place([Segment(1, 40, start=40, context=((0, 40),))])
    hidden = torch.randn(4, 64)
    expected = model.backbone.run(hidden, masked)
    graph = torch.compile(lambda rows: model.backbone.run(rows, masked), backend='eager',
                          fullgraph=True)
    torch.testing.assert_close(graph(hidden), expected)


@pytest.mark.parametrize('wrong', (
    {'num_rows': 0, 'write': 0}, {'num_rows': 2, 'write': 0, 'num_bidirectional': 3},
    {'num_rows': 4, 'write': 10, 'context': ((0, 11),)}))
def test_impossible_segments_are_refused(wrong):
    with pytest.raises(ValueError):
        Segment(**wrong)


def test_rows_and_segments_must_agree(model):
    with pytest.raises(ValueError, match='3 rows for segments of 2'):
        model.backbone(torch.zeros(3, 64), [Segment(2, 0)], KVPool(model.architecture, 16))


@pytest.mark.parametrize('mode', ('bidirectional', 'causal_text'))
def test_a_prefix_is_the_same_bits_wherever_it_lies_in_the_pool(mode):
    model = Pi05(replace(tiny(), prefix_mode=mode))
    model.random_weights(1)
    torch.manual_seed(0)
    hidden, noise, results = torch.randn(40, 64), torch.randn(10, 32), []
    for write in (0, 16, 64):
        pool = KVPool(model.architecture, ROWS)
        pool.keys.normal_()
        segment = model.prefix_segment(40, num_image_rows=32, write=write)
        rows = model.backbone(hidden, [segment], pool)
        actions = model.expert.denoise(noise, (write, write + 40), write + 40, 40, pool, 10)
        results.append((rows, pool.values[:, :, write:write + 40], actions))
    for other in results[1:]:
        assert all(torch.equal(left, right) for left, right in zip(results[0], other))
