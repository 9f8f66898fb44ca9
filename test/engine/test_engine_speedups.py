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
Piggyback and self-speculation across frames: faster or slower, never different.

Both are off by default.
"""

from engine_bench import Bench
from engine_bench import endless_policy
from engine_bench import request
import pytest

from oxygen_ros.config import EngineConfig
from oxygen_ros.config import StandingTask
from oxygen_ros.types import ActionChunk
from oxygen_ros.types import EndReason
from oxygen_ros.types import Sampling
from oxygen_ros.types import TokenDelta


def run(**config):
    """Run twelve frames of still and changing scenes with texts of several kinds."""
    bench = Bench(steps=1, **config)
    for frame in range(1, 13):
        bench.engine.submit(request(f'n{frame}', 'Narrate:', 12, task='narrate'))
        if frame % 3 == 0:
            bench.engine.submit(request(f'e{frame}', '', 7, sampling=Sampling(0.9, 0.9, frame)))
            bench.engine.submit(request(f'c{frame}', choices=(('red', 'red cube'), (' | is',))))
        bench.engine.step(bench.scene(frame // 4, frame_id=frame))
        bench.engine.kv.check_integrity()
    bench.drain()
    return bench


@pytest.fixture(scope='module')
def plain():
    """Return a run without either."""
    return run()


def test_both_are_off_by_default():
    """A user has to ask for them."""
    assert (EngineConfig().piggyback, EngineConfig().draft_tokens) == (False, 0)


@pytest.mark.parametrize('config', [
    {'piggyback': True}, {'draft_tokens': 4}, {'piggyback': True, 'draft_tokens': 3}])
def test_nothing_but_time_changes(plain, config):
    """Every chunk to the last bit, every text to the last token."""
    other = run(**config)
    frames = range(1, 13)
    assert [other.chunks[frame] for frame in frames] == [plain.chunks[frame] for frame in frames]
    assert other.texts == plain.texts
    other.engine.idle_check()
    assert other.engine.kv.stats().bytes_copied == 0


def test_piggyback_gives_running_texts_a_token_within_the_encode():
    """Even where no decode step runs; the chunk still leaves before it."""
    bench = Bench(piggyback=True, policy=endless_policy())
    bench.engine.submit(request('a', max_tokens=30))
    polls = iter([False])
    bench.engine.step(bench.scene(1), interrupted=lambda: next(polls, True))
    for frame in range(2, 6):
        bench.events.clear()
        bench.engine.step(bench.scene(frame), interrupted=lambda: True)
        kinds = [type(event) for event in bench.events]
        assert kinds[:2] == [ActionChunk, TokenDelta]
        assert bench.reports[-1].decode_steps == 0
        assert sum(delta.num_tokens for delta in bench.deltas['a']) == 1
        assert bench.reports[-1].tokens == 1


def test_piggyback_speeds_no_paced_text_up():
    """A text with a rate gets no token before its time."""
    bench = Bench(piggyback=True, policy=endless_policy())
    bench.engine.set_tasks((StandingTask('slow', 'Narrate:', max_tokens=30,
                                         target_tokens_per_s=1.0),))
    for frame in range(1, 11):
        bench.step(frame)
        bench.clock.advance(100_000_000)
    assert sum(delta.num_tokens for delta in bench.of(TokenDelta)) <= 2


def test_piggyback_survives_texts_that_end_meanwhile():
    """A text pushed out by a more important one between encode and speaking gets no token."""
    bench = Bench(piggyback=True, policy=endless_policy(), steps=1, num_texts=1)
    bench.step(1, request('low', max_tokens=30))
    bench.step(2, request('high', max_tokens=3, priority=5))
    assert bench.texts['low'][1] is EndReason.EVICTED
    assert sum(delta.final for delta in bench.deltas['low']) == 1
    bench.drain()
    assert bench.texts['high'][1] is EndReason.LENGTH
    bench.engine.idle_check()


def test_piggyback_keeps_the_action_when_a_text_breaks(monkeypatch):
    """The frame is encoded without the texts, the chunk is the same, the fault ends its text."""
    bench = Bench(piggyback=True, policy=endless_policy(), steps=1)
    bench.step(1, request('bad', max_tokens=30))
    text, = bench.engine.language.running
    backbone, where = bench.engine.policy.model.backbone, text.extent
    forward = backbone.forward

    def forward_but(hidden, segments, pool):
        if any(where.start <= part.write < where.stop for part in segments):
            raise RuntimeError('kernel')
        return forward(hidden, segments, pool)

    monkeypatch.setattr(backbone, 'forward', forward_but)
    bench.step(2)
    monkeypatch.undo()
    assert bench.texts['bad'][1] is EndReason.ERROR
    silent = Bench()
    silent.step(2)
    assert bench.chunks[2] == silent.chunks[2]
    bench.engine.idle_check()


def test_a_still_scene_is_described_in_fewer_steps():
    """The last text is the draft: right guesses are counted and save passes."""
    bench = Bench(draft_tokens=6, policy=endless_policy())
    for frame in range(1, 4):
        bench.engine.submit(request(f'n{frame}', 'Narrate:', 14, task='narrate'))
        bench.engine.step(bench.scene(5, frame_id=frame))
    steps = [report.decode_steps for report in bench.reports]
    assert steps == [14, 2, 2]
    assert len(set(bench.texts.values())) == 1
    last = bench.reports[-1]
    assert (last.drafted, last.accepted) == (24, 24)
    assert bench.engine.language.drafts.acceptance == 1.0
    plain = Bench(policy=bench.engine.policy)
    plain.engine.submit(request('n1', 'Narrate:', 14, task='narrate'))
    plain.engine.step(plain.scene(5, frame_id=1))
    assert plain.texts['n1'] == bench.texts['n3']


def test_a_wrong_draft_costs_no_token(plain):
    """Scenes change every frame, guesses fail; counts say so."""
    bench = Bench(draft_tokens=4)
    for frame in range(1, 6):
        bench.step(frame, request(f'n{frame}', 'Narrate:', 12, task='narrate'))
    last = bench.reports[-1]
    assert 0 < last.drafted and last.accepted < last.drafted
    for frame in range(1, 6):
        alone = bench.alone(request('n', 'Narrate:', 12), frame)
        assert bench.texts[f'n{frame}'] == alone


def test_a_draft_never_writes_past_the_own_rows():
    """The longest guess at the last token of a text that fills its pages exactly."""
    policy = endless_policy()
    suffix = len(policy.suffix_ids('Narrate:'))
    bench = Bench(draft_tokens=64, policy=policy)
    for frame in range(1, 4):
        bench.engine.submit(request(f'n{frame}', 'Narrate:', 33 - suffix, task='narrate'))
        bench.engine.step(bench.scene(5, frame_id=frame))
        bench.engine.idle_check()
    assert len(set(bench.texts.values())) == 1
