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
The life of a request, from the outside.

Pins LNG-06 (end token per row and id), KVM-01 (cancelled text keeps pages), KVM-06 (larger than
the pool), SCH-01 (left over after reset).
"""

from dataclasses import replace
import random

from engine_bench import Bench
from engine_bench import endless_policy
from engine_bench import request
from engine_bench import tiny_policy
import pytest

from oxygen_ros.config import ConfigError
from oxygen_ros.config import StandingTask
from oxygen_ros.engine.engine import frame_rows
from oxygen_ros.types import EndReason
from oxygen_ros.types import TokenDelta


def assert_idle(bench):
    """No row is owned and nothing waits."""
    bench.engine.idle_check()
    use = bench.engine.kv.stats()
    assert (use.pages_used, use.prefixes, use.generations) == (0, 0, 0)
    assert not bench.engine.busy


def test_deltas_are_gapless_and_one_is_final():
    """Indices 0, 1, 2, ...; exactly one final, the last; every token counted once."""
    bench = Bench(steps=2)
    for frame in range(1, 6):
        bench.step(frame, *(request(f'{frame}-{index}', max_tokens=index + 1)
                            for index in range(4)))
    bench.drain()
    assert len(bench.texts) == 20
    for name, deltas in bench.deltas.items():
        assert [delta.index for delta in deltas] == list(range(len(deltas)))
        assert [delta.final for delta in deltas] == [False] * (len(deltas) - 1) + [True]
        assert {delta.frame_id for delta in deltas} == {int(name[0])}
        assert {delta.stamp_ns for delta in deltas} == {1000 * int(name[0])}
        if deltas[-1].reason is EndReason.LENGTH:
            assert sum(delta.num_tokens for delta in deltas) == int(name[2]) + 1
    assert sum(report.tokens for report in bench.reports) == sum(
        delta.num_tokens for deltas in bench.deltas.values() for delta in deltas)


@pytest.mark.parametrize('num_ends', [0, 1, 3])
def test_every_row_ends_at_its_own_end_token(num_ends):
    """Ids that really occur are made end tokens: each text stops before its first of them."""
    asked = [request(f'r{index}', 'Narrate:' * index, 40) for index in range(5)]
    endless = Bench(policy=endless_policy())
    endless.step(1, *asked)
    encode = endless.engine.policy.tokenizer.encode
    ids = {name: encode(text) for name, (text, _) in endless.texts.items()}
    assert all(len(tokens) == 40 for tokens in ids.values())
    # One that is a first token, one in the middle of a text, one late.
    ends = (ids['r0'][0], ids['r1'][9], ids['r2'][30])[:num_ends]
    bench = Bench(policy=replace(tiny_policy(), end_ids=ends))
    bench.step(1, *asked)
    for name, tokens in ids.items():
        cut = next((index for index, token in enumerate(tokens) if token in ends), None)
        text = endless.engine.policy.tokenizer.decode(tokens[:cut])
        reason = EndReason.LENGTH if cut is None else EndReason.EOS
        assert bench.texts[name] == (text, reason)
    assert_idle(bench)
    if num_ends:
        assert bench.texts['r0'] == ('', EndReason.EOS)   # empty text is a valid result


def test_nothing_runs_after_every_row_has_finished():
    """Decode steps are as many as the longest text needs, not one more."""
    bench = Bench(policy=endless_policy())
    bench.step(1, request('short', max_tokens=2), request('long', max_tokens=7))
    assert bench.reports[-1].decode_steps == 7
    before = len(bench.events)
    bench.step(None)
    assert len(bench.events) == before   # not even a report


def test_a_stop_string_ends_the_text_before_it():
    """It may span tokens; nothing of it is ever sent."""
    bench = Bench(policy=endless_policy())
    bench.step(1, request('whole', max_tokens=20))
    whole = bench.texts['whole'][0]
    words = whole.split()
    stop = f'{words[3]} {words[4][:2]}'
    bench.step(1, request('cut', max_tokens=20, stop=(stop, 'never said')))
    text, reason = bench.texts['cut']
    assert reason is EndReason.STOP
    assert text == whole[:whole.index(stop)]
    assert_idle(bench)


def test_choices_bound_the_text_whatever_the_limit():
    """A constrained line always parses, even where max_tokens would cut it."""
    choices = (('red cube', 'red', 'green cup'), (' | is | ',), ('on the left', 'in the tray'))
    bench = Bench()
    for frame in range(1, 12):
        bench.step(frame, request('line', 'Memory:', 1, choices=choices))
        text, reason = bench.texts['line']
        assert reason is EndReason.EOS
        subject, relation, place = text.split(' | ')
        assert (subject in choices[0], relation, place in choices[2]) == (True, 'is', True)
        bench.events.clear()


def test_expiry_ends_running_and_waiting_texts():
    """A text past its time ends with DEADLINE and gives its rows back."""
    bench = Bench(policy=endless_policy(), steps=1, num_texts=1)
    bench.step(1, request('runs', max_tokens=50, expiry_s=0.5),
               request('waits', max_tokens=50, expiry_s=0.5), request('patient', max_tokens=1))
    bench.clock.advance(400_000_000)
    bench.step(2)
    assert not bench.texts
    bench.clock.advance(200_000_000)
    bench.step(3)
    reasons = {name: reason for name, (_, reason) in bench.texts.items()}
    assert reasons['runs'] is reasons['waits'] is EndReason.DEADLINE
    bench.drain()
    assert bench.texts['patient'][1] is EndReason.LENGTH
    assert bench.deltas['runs'][-1].duration_s == pytest.approx(0.6)
    assert_idle(bench)


def test_texts_expire_although_no_decode_step_ever_fits():
    """Overload: the next observation always waits already, and rows still come back."""
    bench = Bench(policy=endless_policy(), num_texts=1)
    bench.engine.submit(request('starved', max_tokens=50, expiry_s=0.5))
    bench.engine.step(bench.scene(1), interrupted=lambda: True)
    bench.clock.advance(600_000_000)
    bench.engine.step(bench.scene(2), interrupted=lambda: True)
    assert bench.texts == {'starved': ('', EndReason.DEADLINE)}
    assert_idle(bench)


def test_cancel_takes_effect_before_the_next_step():
    """Cancelled from inside the cycle: not one token more."""
    bench = Bench(policy=endless_policy())
    polls = []

    def cancel_at_third_poll():
        polls.append(len(bench.of(TokenDelta)))
        if len(polls) == 3:
            bench.engine.cancel('a')
        return False

    bench.engine.submit(request('a', max_tokens=30))
    bench.engine.submit(request('b', max_tokens=5))
    bench.engine.step(bench.scene(1), interrupted=cancel_at_third_poll)
    assert bench.texts['a'][1] is EndReason.CANCELLED
    assert sum(delta.num_tokens for delta in bench.deltas['a']) == 2
    assert bench.texts['b'][1] is EndReason.LENGTH
    bench.engine.cancel('a')         # ended already: no second end
    bench.engine.cancel('unknown')
    assert sum(delta.final for delta in bench.deltas['a']) == 1
    assert_idle(bench)


def test_an_interrupt_ends_the_cycle_after_at_most_one_step():
    """An observation that waits is not kept waiting by text."""
    bench = Bench()
    bench.engine.submit(request('a', max_tokens=30))
    calls = iter([False, True])
    bench.engine.step(bench.scene(1), interrupted=lambda: next(calls))
    assert bench.reports[-1].decode_steps == 1
    assert bench.engine.busy


def test_more_important_texts_start_first_and_push_out_lesser_ones():
    """Among equals the older one goes first; who is pushed out is told for whom."""
    bench = Bench(policy=endless_policy(), steps=1, num_texts=2)
    bench.step(1, request('low', priority=0, max_tokens=50),
               request('mid', priority=2, max_tokens=50), request('lowest', max_tokens=50))
    assert [text.request_id for text in bench.engine.language.running] == ['mid', 'low']
    bench.step(2, request('high', priority=5, max_tokens=3))
    assert bench.texts['low'][1] is EndReason.EVICTED
    assert 'high' in bench.deltas['low'][-1].detail
    assert [text.request_id for text in bench.engine.language.queued] == ['lowest']
    bench.drain()
    assert bench.texts['high'][1] is EndReason.LENGTH
    assert bench.texts['mid'][1] is EndReason.LENGTH
    assert bench.texts['lowest'][1] is EndReason.LENGTH
    assert_idle(bench)


def exact_pool(max_tokens, *, missing=0):
    """Return a pool size in which one text of that length fits exactly."""
    policy = tiny_policy()
    suffix = len(policy.suffix_ids('Answer:'))
    def rounded(rows):
        return -(-rows // 16) * 16
    return 2 * rounded(frame_rows(policy)) + rounded(suffix + max_tokens - 1) - missing


def test_a_text_that_can_never_fit_is_refused_with_both_numbers():
    """The small one behind it runs, the exact fit runs to its end, actions go on."""
    total = exact_pool(200, missing=16)
    bench = Bench(policy=endless_policy(), pool_tokens=total)
    bench.step(1, request('huge', max_tokens=200), request('small', max_tokens=3))
    text, reason = bench.texts['huge']
    assert (text, reason) == ('', EndReason.REFUSED)
    detail = bench.deltas['huge'][-1].detail
    assert str(total) in detail and str(total + 16) in detail
    assert bench.texts['small'][1] is EndReason.LENGTH
    bench = Bench(policy=endless_policy(), pool_tokens=exact_pool(200), steps=5)
    bench.step(1, request('huge', max_tokens=200), request('small', max_tokens=3))
    bench.drain()
    assert bench.texts['huge'][1] is EndReason.LENGTH
    assert bench.texts['small'][1] is EndReason.LENGTH
    assert len(bench.chunks) == bench.reports[-1].frames
    assert_idle(bench)


def test_a_text_that_does_not_fit_now_waits():
    """Two texts that fill the pool run one after another; frames keep their room."""
    bench = Bench(policy=endless_policy(), pool_tokens=exact_pool(200), steps=20)
    bench.step(1, request('first', max_tokens=200), request('second', max_tokens=200))
    assert [text.request_id for text in bench.engine.language.queued] == ['second']
    bench.drain()
    assert bench.texts['second'][1] is EndReason.LENGTH
    assert bench.deltas['second'][0].frame_id > 1
    assert_idle(bench)


def test_a_pool_too_small_for_actions_is_refused_with_both_numbers():
    """Before anything runs."""
    needed = -(-frame_rows(tiny_policy()) // 16) * 16
    with pytest.raises(ConfigError, match=f'pool_tokens is 64.*{needed}'):
        Bench(pool_tokens=64)


@pytest.mark.parametrize(('fields', 'word'), [
    ({'max_tokens': 0}, 'max_tokens'), ({'max_tokens': 999}, 'max_text_tokens'),
    ({'choices': ((),)}, 'choices')])
def test_senseless_requests_are_refused_in_words(fields, word):
    """The refusal is the final delta; nothing else happens."""
    bench = Bench()
    bench.step(1, request('odd', **fields))
    assert bench.texts['odd'] == ('', EndReason.REFUSED)
    assert word in bench.deltas['odd'][-1].detail
    assert len(bench.chunks) == 1
    assert_idle(bench)


def test_a_flood_of_questions_is_bounded():
    """The queue has an end, and says so."""
    bench = Bench(num_texts=2)
    for index in range(40):
        bench.engine.submit(request(f'q{index}', max_tokens=1))
    refused = [name for name, (_, reason) in bench.texts.items() if reason is EndReason.REFUSED]
    assert 20 <= len(refused) < 40
    bench.drain()
    assert len(bench.texts) == 40
    assert_idle(bench)


def test_an_id_that_is_open_is_not_started_twice():
    """The first text ends once, as if the second had never come."""
    bench = Bench()
    bench.step(1, request('same'), request('same', 'other', 3))
    assert sum(delta.final for delta in bench.deltas['same']) == 1


class Broken(Exception):
    """A fault inside one text."""


def test_a_crash_inside_one_text_ends_that_text_only(monkeypatch):
    """In the detokeniser, in the forward pass, or at submission: others and actions go on."""
    bench = Bench(policy=endless_policy(), steps=1)
    silent = Bench(policy=endless_policy(), steps=1)
    good, bad = request('good', max_tokens=6), request('bad', 'bad', max_tokens=6)
    expected = bench.alone(good, 1)
    bench.step(1, good, bad)
    text = next(text for text in bench.engine.language.running if text.request_id == 'bad')

    def fail(*_):
        raise Broken('detokeniser')

    text.stream.push = fail
    bench.step(2, request('later', 'later', max_tokens=6))
    assert bench.texts['bad'][1] is EndReason.ERROR
    assert 'detokeniser' in bench.deltas['bad'][-1].detail

    later = next(text for text in bench.engine.language.running if text.request_id == 'later')
    forward = bench.engine.language._backbone.forward

    def forward_but(hidden, segments, pool):
        if later.extent and any(later.extent.start <= part.write < later.extent.stop
                                for part in segments):
            raise Broken('kernel')
        return forward(hidden, segments, pool)

    monkeypatch.setattr(bench.engine.language._backbone, 'forward', forward_but)
    bench.step(3)
    monkeypatch.undo()
    assert bench.texts['later'][1] is EndReason.ERROR

    monkeypatch.setattr(type(bench.engine.policy.tokenizer), 'encode', fail)
    bench.engine.submit(request('odd', 'never seen before'))
    monkeypatch.undo()
    assert bench.texts['odd'][1] is EndReason.ERROR
    bench.drain()
    assert bench.texts['good'] == expected
    for frame in (1, 2, 3):
        silent.step(frame)
        assert bench.chunks[frame] == silent.chunks[frame]
    assert_idle(bench)


def test_a_reset_ends_everything_and_older_observations_are_void():
    """Nothing of the last episode is used or sent after it."""
    bench = Bench(policy=endless_policy(), steps=1)
    bench.engine.set_tasks((StandingTask('narrate', 'Narrate:', max_tokens=30),))
    bench.step(1, request('asked', max_tokens=30))
    assert len(bench.engine.language.running) == 2
    bench.engine.reset(3)
    assert {reason for _, reason in bench.texts.values()} == {EndReason.CANCELLED}
    assert_idle(bench)
    bench.step(2, epoch=2)
    assert len(bench.chunks) == 1
    bench.step(3, epoch=3)
    assert len(bench.chunks) == 2
    assert [text.request.task for text in bench.engine.language.running] == ['narrate']


def test_close_ends_every_text_with_a_reason():
    """Also those that wait."""
    bench = Bench(policy=endless_policy(), steps=1, num_texts=1)
    bench.step(1, request('runs', max_tokens=30), request('waits', max_tokens=30))
    bench.engine.close()
    assert {reason for _, reason in bench.texts.values()} == {EndReason.CANCELLED}
    assert len(bench.texts) == 2
    assert_idle(bench)


def test_a_removed_task_stops_speaking():
    """Its open text ends; those of other tasks go on."""
    bench = Bench(policy=endless_policy(), steps=1)
    tasks = tuple(StandingTask(name, 'Narrate:', max_tokens=30) for name in ('one', 'two'))
    bench.engine.set_tasks(tasks)
    bench.step(1)
    bench.engine.set_tasks(tasks[1:])
    assert [text.request.task for text in bench.engine.language.running] == ['two']
    assert list(bench.texts) == ['one-1']


def test_a_thousand_rounds_of_start_and_cancel_leave_the_pool_empty():
    """After a random number of tokens; afterwards a text that needs the whole pool runs."""
    bench = Bench(policy=endless_policy(), pool_tokens=exact_pool(200))
    rng = random.Random(1)
    for round_ in range(1000):
        left = rng.randint(0, 20)
        counter = iter(range(left))
        bench.engine.submit(request(f'r{round_}', max_tokens=100))
        if round_ % 40 == 0:
            bench.engine.step(bench.scene(round_ + 1),
                              interrupted=lambda counter=counter: next(counter, None) is None)
        bench.engine.cancel(f'r{round_}')
        assert_idle(bench)
    assert len(bench.texts) == 1000
    bench.step(1, request('whole', max_tokens=200))
    assert bench.texts['whole'][1] is EndReason.LENGTH
