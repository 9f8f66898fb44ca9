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

"""Supervision of a real engine process that is killed, frozen, slow or broken."""

import os
import signal
import threading
import time

import numpy as np
import pytest
from runtime_helpers import is_running
from runtime_helpers import num_fds
from runtime_helpers import QUICK
from runtime_helpers import wait_until

from oxygen_ros.config import StandingTask
from oxygen_ros.runtime.protocol import EngineInfo
from oxygen_ros.runtime.protocol import EngineState
from oxygen_ros.runtime.protocol import Supervision
from oxygen_ros.runtime.shared_frames import SharedRing
from oxygen_ros.runtime.watch import Watch
from oxygen_ros.types import EndReason
from oxygen_ros.types import LanguageRequest
from oxygen_ros.types import Observation

NARRATE = StandingTask('narrate', 'say: ', max_tokens=1000)


def observation(frame_id, *, value=0.0, size=32):
    """Return an observation whose chunk carries `value`."""
    return Observation(frame_id, 1000 + frame_id, {'front': np.zeros((size, size, 3), np.uint8)},
                       np.full(2, value, np.float32), 'go')


def text(request_id, *, prompt='', max_tokens=1000):
    """Return a request."""
    return LanguageRequest(request_id, 'ask', prompt, max_tokens)


def states_after(recorder, time_s):
    """Return the states told after a time."""
    return [status.state for told_s, status in recorder.states if told_s >= time_s]


def test_chunks_and_texts_come_back(make_host):
    """The way there and back, words in order with one end."""
    host, recorder = make_host()
    host.observe(observation(7, value=0.25))
    wait_until(lambda: recorder.chunks)
    chunk = recorder.chunks[0]
    assert (chunk.frame_id, chunk.stamp_ns, chunk.dt_s) == (7, 1007, 0.05)
    assert chunk.actions.shape == (10, 2) and (chunk.actions == 0.25).all()
    host.submit(text('ask-1', max_tokens=5))
    wait_until(lambda: recorder.final('ask-1'))
    assert ''.join(delta.text for delta in recorder.deltas) == 'w0 w1 w2 w3 w4 '
    assert [delta.index for delta in recorder.deltas] == [0, 1, 2, 3, 4]


def test_the_newest_observation_wins_and_nobody_waits_for_a_busy_engine(make_host):
    """While the engine is busy for a second 200 pictures go in without delay, the last is used."""
    host, recorder = make_host()
    host.submit(text('busy', prompt='sleep 0.3', max_tokens=1))
    time.sleep(0.1)
    longest_s = 0.0
    for frame_id in range(1, 201):
        began_s = time.monotonic()
        host.observe(observation(frame_id))
        longest_s = max(longest_s, time.monotonic() - began_s)
    assert longest_s < 0.2
    wait_until(lambda: recorder.chunks)
    time.sleep(0.2)
    assert recorder.chunks[-1].frame_id == 200
    assert len(recorder.chunks) < 100


def test_a_killed_engine_is_known_at_once_and_comes_back(make_host):
    """Every open text ends once with ERROR, standing tasks resume, the restart is counted."""
    host, recorder = make_host()
    host.set_tasks([NARRATE])
    host.observe(observation(1))
    host.submit(text('ask-1'))
    host.submit(text('ask-2'))
    wait_until(lambda: recorder.num_pieces('narrate-1') > 3 and recorder.num_pieces('ask-2') > 3)
    pid, killed_s = host.status.pid, time.monotonic()
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: host.status.state is EngineState.RESTARTING, timeout_s=1.0)
    told_s = next(told_s for told_s, status in recorder.states
                  if status.state is EngineState.RESTARTING)
    assert told_s - killed_s < 0.2
    wait_until(lambda: len(recorder.ended) == 3 and all(recorder.ended.values()))
    for request_id in ('narrate-1', 'ask-1', 'ask-2'):
        end = recorder.final(request_id)
        assert end.reason is EndReason.ERROR and end.index == recorder.num_pieces(request_id) - 1
    wait_until(lambda: host.status.state is EngineState.READY)
    assert host.status.restarts == 1 and host.status.pid not in (0, pid)
    host.observe(observation(2))
    wait_until(lambda: recorder.chunks[-1].frame_id == 2)
    wait_until(lambda: recorder.num_pieces('narrate-1.1') > 3)     # resumed by itself
    host.close()
    assert set(recorder.ended.values()) == {1}
    assert EngineState.HUNG not in states_after(recorder, 0)


def test_a_frozen_engine_is_hung_then_killed_after_the_documented_time(make_host):
    """SIGSTOP: HUNG after hung_after_s, RESTARTING after kill_after_s, then READY again."""
    host, recorder = make_host()
    host.submit(text('ask-1'))
    wait_until(lambda: recorder.num_pieces('ask-1') > 2)
    pid, stopped_s = host.status.pid, time.monotonic()
    os.kill(pid, signal.SIGSTOP)
    wait_until(lambda: host.status.state is EngineState.HUNG)
    assert not recorder.final('ask-1')
    wait_until(lambda: host.status.state is EngineState.RESTARTING)
    times = {status.state: told_s - stopped_s for told_s, status in recorder.states
             if told_s > stopped_s}
    assert QUICK.hung_after_s - 0.15 < times[EngineState.HUNG] < QUICK.hung_after_s + 0.5
    assert (QUICK.kill_after_s - 0.15 < times[EngineState.RESTARTING] < QUICK.kill_after_s + 0.5)
    wait_until(lambda: host.status.state is EngineState.READY)
    assert recorder.ended['ask-1'] == 1 and not is_running(pid)
    assert 'hung' in recorder.final('ask-1').detail


def test_a_pause_of_both_processes_is_no_hang():
    """Ctrl-Z and fg, or a debugger: the engine is not killed for having been stopped too."""
    ring = SharedRing.create('test_watch')
    watch = Watch(ring, QUICK)
    watch.ready(EngineInfo())
    ring.heartbeat_ns = time.monotonic_ns()
    assert watch.look() == '' and not watch.is_hung
    time.sleep(1.5 * QUICK.kill_after_s)          # nobody looks and nobody beats
    assert watch.look() == '' and not watch.is_hung
    for _ in range(100):                          # but from now on it must show a sign of life
        time.sleep(0.02)
        if watch.look():
            break
    assert watch.is_hung
    ring.close()


def test_a_short_freeze_is_forgiven(make_host):
    """HUNG, then READY with the same process, the text goes on."""
    host, recorder = make_host()
    host.submit(text('ask-1', max_tokens=60))
    pid = host.status.pid
    os.kill(pid, signal.SIGSTOP)
    wait_until(lambda: host.status.state is EngineState.HUNG)
    os.kill(pid, signal.SIGCONT)
    wait_until(lambda: host.status.state is EngineState.READY)
    wait_until(lambda: recorder.final('ask-1'))
    assert recorder.final('ask-1').reason is EndReason.LENGTH
    assert host.status.pid == pid and host.status.restarts == 0


def test_an_endless_step_is_hung_too(make_host):
    """A process that runs but gets nowhere."""
    host, recorder = make_host()
    host.submit(text('ask-1', prompt='hang'))
    wait_until(lambda: host.status.restarts == 1 and host.status.state is EngineState.READY)
    assert EngineState.HUNG in states_after(recorder, 0)
    assert recorder.final('ask-1').reason is EndReason.ERROR


def test_a_slow_start_is_not_hung(make_host):
    """Loading for longer than kill_after_s is STARTING all the time, also after a restart."""
    host, recorder = make_host(checkpoint='scripted:slow 1.6')
    assert states_after(recorder, 0)[-1] is EngineState.READY
    os.kill(host.status.pid, signal.SIGKILL)
    wait_until(lambda: host.status.state is EngineState.READY and host.status.restarts == 1)
    assert EngineState.HUNG not in states_after(recorder, 0)


def test_a_start_that_takes_for_ever_fails(make_host):
    """With the limit in the message."""
    host, _ = make_host(checkpoint='scripted:slow 60', ready=False,
                        supervision=Supervision(start_timeout_s=0.5))
    status = host.wait_ready()
    assert status.state is EngineState.FAILED and '0.5 s' in status.detail


@pytest.mark.parametrize('checkpoint, words', [
    ('scripted:refuse', ['/no/such', 'check the path']), ('scripted:crash', ['died'])])
def test_an_engine_that_cannot_start_says_why(make_host, checkpoint, words):
    """No endless restarts of what never worked."""
    host, _ = make_host(checkpoint=checkpoint, ready=False)
    status = host.wait_ready()
    assert status.state is EngineState.FAILED and status.restarts == 0
    wait_until(lambda: all(word in host.status.detail for word in words))


@pytest.mark.parametrize('prompt, words', [('raise', 'scripted failure'), ('exit', 'died')])
def test_an_engine_that_breaks_names_the_cause_and_comes_back(make_host, prompt, words):
    """An exception and a silent exit."""
    host, recorder = make_host()
    host.submit(text('ask-1', prompt=prompt))
    wait_until(lambda: host.status.restarts == 1 and host.status.state is EngineState.READY)
    assert words in recorder.final('ask-1').detail
    assert recorder.ended['ask-1'] == 1


def test_an_engine_that_keeps_dying_is_given_up(make_host, tmp_path):
    """After max_restarts in a row: FAILED with the count, and requests are refused."""
    poison = tmp_path / 'poison'
    limits = Supervision(backoff_s=0.01, max_backoff_s=0.02, max_restarts=2)
    host, recorder = make_host(checkpoint=f'scripted:crash_if {poison}', supervision=limits)
    poison.write_text('')
    os.kill(host.status.pid, signal.SIGKILL)
    wait_until(lambda: host.status.state is EngineState.FAILED)
    assert host.status.restarts == 2 and 'in a row' in host.status.detail
    host.submit(text('ask-1'))
    wait_until(lambda: recorder.final('ask-1'))
    assert recorder.final('ask-1').reason is EndReason.REFUSED


def test_back_off_doubles_up_to_its_limit(make_host):
    """So that a broken machine is not kept busy by restarts."""
    host, _ = make_host(supervision=Supervision(backoff_s=0.25, max_backoff_s=8.0))
    waits = []
    for row in range(1, 8):
        host._row = row
        waits.append(host._backoff_s())
    assert waits == [0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 8.0]


def test_a_text_asked_while_the_engine_restarts_is_refused_with_a_reason(make_host):
    """At once, and exactly once."""
    host, recorder = make_host(supervision=Supervision(backoff_s=5.0))
    os.kill(host.status.pid, signal.SIGKILL)
    wait_until(lambda: host.status.state is EngineState.RESTARTING)
    host.submit(text('ask-1'))
    wait_until(lambda: recorder.final('ask-1'), timeout_s=1.0)
    assert 'restarting' in recorder.final('ask-1').detail
    assert recorder.ended['ask-1'] == 1


def test_a_frozen_engine_never_blocks_callers(make_host):
    """Thousands of commands and pictures go in while the pipe is full; too many are refused."""
    host, recorder = make_host(supervision=Supervision(hung_after_s=60, kill_after_s=60))
    os.kill(host.status.pid, signal.SIGSTOP)
    longest_s = 0.0
    for number in range(12_000):
        began_s = time.monotonic()
        host.submit(text(f'ask-{number}', prompt='x' * 200, max_tokens=1))
        if number % 100 == 0:
            host.observe(observation(number + 1, size=200))
            host.cancel('ask-3')
        longest_s = max(longest_s, time.monotonic() - began_s)
    assert longest_s < 0.3
    wait_until(lambda: recorder.final('ask-11999'))
    assert recorder.final('ask-11999').reason is EndReason.REFUSED
    assert 'waiting' in recorder.final('ask-11999').detail
    os.kill(host.status.pid, signal.SIGCONT)
    wait_until(lambda: len(recorder.ended) == 12_000 and all(recorder.ended.values()),
               timeout_s=60)
    assert set(recorder.ended.values()) == {1}


def test_a_request_too_large_for_the_pipe_is_refused(make_host):
    """With its size."""
    host, recorder = make_host()
    host.submit(text('ask-1', prompt='x' * 500_000))
    wait_until(lambda: recorder.final('ask-1'))
    assert recorder.final('ask-1').reason is EndReason.REFUSED
    assert 'bytes' in recorder.final('ask-1').detail


def test_close_ends_texts_and_process(make_host):
    """In order: the engine itself ends its texts."""
    host, recorder = make_host()
    host.submit(text('ask-1'))
    wait_until(lambda: recorder.num_pieces('ask-1') > 2)
    pid = host.status.pid
    host.close()
    assert recorder.final('ask-1').reason is EndReason.CANCELLED
    assert recorder.ended['ask-1'] == 1
    assert not is_running(pid) and host.status.state is EngineState.STOPPED
    host.close()


def test_close_is_quick_with_a_frozen_engine(make_host):
    """Within 5 s with the default limits, and nothing is left."""
    host, recorder = make_host(supervision=Supervision())
    host.submit(text('ask-1'))
    wait_until(lambda: recorder.num_pieces('ask-1') > 2)
    pid = host.status.pid
    os.kill(pid, signal.SIGSTOP)
    began_s = time.monotonic()
    host.close()
    assert time.monotonic() - began_s < 5.0
    assert not is_running(pid) and recorder.ended['ask-1'] == 1


def test_close_ends_a_start_that_is_under_way(make_host):
    """Ctrl-C while a large model loads: wait_ready returns, nothing is left."""
    host, _ = make_host(checkpoint='scripted:slow 60', ready=False)
    wait_until(lambda: host.status.pid)
    pid = host.status.pid
    waiter = threading.Thread(target=host.wait_ready)
    waiter.start()
    began_s = time.monotonic()
    host.close()
    waiter.join(1.0)
    assert time.monotonic() - began_s < 3.0
    assert not waiter.is_alive() and not is_running(pid)


def test_restarts_and_cycles_leak_nothing(make_host):
    """No descriptor and no process; every death counted."""
    host, _ = make_host()
    pids, before = set(), num_fds()
    for number in range(10):
        wait_until(lambda number=number: host.status.state is EngineState.READY
                   and host.status.restarts == number)
        pids.add(host.status.pid)
        host.observe(observation(number + 1, size=100 + number))
        os.kill(host.status.pid, signal.SIGKILL)
    wait_until(lambda: host.status.state is EngineState.READY and host.status.restarts == 10)
    assert len(pids) == 10 and num_fds() <= before
    host.close()
    baseline = num_fds()
    for _ in range(3):
        host, _ = make_host()
        pids.add(host.status.pid)
        host.close()
    assert num_fds() <= baseline
    assert not any(is_running(pid) for pid in pids)
