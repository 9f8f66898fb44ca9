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

"""A session as the node drives it, with real engine processes behind it."""

from dataclasses import replace
import os
import signal
import threading
import time

import numpy as np
import pytest
from runtime_helpers import is_running
from runtime_helpers import Listening
from runtime_helpers import num_fds
from runtime_helpers import QUICK
from runtime_helpers import Robot
from runtime_helpers import wait_until

from oxygen_ros.config import ConfigError
from oxygen_ros.config import ControlConfig
from oxygen_ros.config import EngineConfig
from oxygen_ros.config import Joint
from oxygen_ros.config import StandingTask
from oxygen_ros.runtime.protocol import EngineState
from oxygen_ros.runtime.session import Session
from oxygen_ros.runtime.session import SessionError
from oxygen_ros.types import Cause
from oxygen_ros.types import EndReason
from oxygen_ros.types import Verdict

NARRATE = StandingTask('narrate', 'say: ', max_tokens=1000)


@pytest.fixture
def make_session(robot, scripted):
    """Return a function that makes a session of scripted engines, and its listener."""
    sessions = []

    def make(*, profile=robot, checkpoint='scripted', tasks=(), configure=True, **options):
        listener = options.pop('listener', None) or Listening()
        session = Session(profile, ControlConfig(), EngineConfig(
            checkpoint=checkpoint, max_text_tokens=1000), tasks, listener=listener,
                          node_clock_ns=time.time_ns, supervision=QUICK, **options)
        sessions.append(session)
        if configure:
            session.configure()
        return session, listener

    yield make
    for session in sessions:
        session.close()


def is_fresh(drive):
    """Return a condition: the newest tick used the newest chunk."""
    return lambda: drive.results and drive.last().verdict is Verdict.FRESH


def test_actions_flow_from_pictures_to_ticks(make_session):
    """Fresh ticks, frame ids that exist, latency counted."""
    session, listener = make_session()
    session.activate()
    with Robot(session) as drive:
        wait_until(is_fresh(drive))
        time.sleep(0.5)
    assert drive.last().command.shape == (2,)
    assert drive.last().frame_id in drive.instants
    status = session.snapshot()
    assert status.engine.state == EngineState.READY and status.engine.chunks > 3
    assert 0 < status.engine.action_latency_p50 < 1.0
    assert status.figures.command_latency_s.max > 0
    assert status.deadline.commands == sum(r.command is not None for _, r in drive.results)


def test_a_killed_engine_means_fallback_at_the_next_tick_and_a_comeback(make_session):
    """The command never stops; texts end with ERROR; the stream of words resumes."""
    session, listener = make_session(tasks=[NARRATE])
    session.activate()
    with Robot(session) as drive:
        wait_until(is_fresh(drive))
        session.ask('what?', request_id='q')
        wait_until(lambda: listener.num_pieces('narrate-1') > 2 and listener.num_pieces('q') > 2)
        killed_s = time.monotonic()
        os.kill(session.snapshot().engine.pid, signal.SIGKILL)
        wait_until(lambda: drive.last().cause is Cause.ENGINE_DEAD, timeout_s=1)
        dead_s = next(told_s for told_s, result in drive.results
                      if result.cause is Cause.ENGINE_DEAD)
        assert dead_s - killed_s < 0.2
        wait_until(is_fresh(drive))
        wait_until(lambda: listener.num_pieces('narrate-1.1') > 2)
        results = drive.since(killed_s)
    assert all(result.command is not None for result in results)
    assert {result.cause for result in results} <= {Cause.NONE, Cause.ENGINE_DEAD,
                                                    Cause.STARTING, Cause.CHUNK_EXHAUSTED}
    assert listener.final('q').reason is EndReason.ERROR
    assert session.summary()['engine_restarts'] == 1
    session.close()
    assert set(listener.ended.values()) == {1}


def test_a_frozen_engine_is_named_hung(make_session):
    """Not dead: the operator sees the difference."""
    session, _ = make_session()
    session.activate()
    with Robot(session) as drive:
        wait_until(is_fresh(drive))
        os.kill(session.snapshot().engine.pid, signal.SIGSTOP)
        wait_until(lambda: drive.last().cause is Cause.ENGINE_HUNG)
        assert session.snapshot().engine.state == EngineState.HUNG
        wait_until(is_fresh(drive))      # killed and started again


def test_nothing_is_taken_while_inactive(make_session):
    """Pictures are ignored, questions refused, ticks stopped."""
    session, listener = make_session()
    picture = {'front': np.zeros((8, 8, 3), np.uint8)}
    assert session.observe(picture, [0, 0], time.time_ns()) == 0
    with pytest.raises(SessionError, match='not active'):
        session.ask('what?')
    assert session.tick(0, 0).verdict is Verdict.STOPPED
    session.activate()
    assert session.observe(picture, [0, 0], time.time_ns()) == 1
    session.deactivate()
    assert session.observe(picture, [0, 0], time.time_ns()) == 0


def test_deactivate_ends_texts_and_ticks(make_session):
    """And the next activation starts from newer pictures."""
    session, listener = make_session(tasks=[NARRATE])
    session.activate()
    with Robot(session) as drive:
        wait_until(lambda: listener.num_pieces('narrate-1') > 2 and is_fresh(drive)())
        session.deactivate()
        wait_until(lambda: drive.last().cause is Cause.INACTIVE)
        wait_until(lambda: listener.final('narrate-1'))
        assert listener.final('narrate-1').reason is EndReason.CANCELLED
        assert session.final_command() is not None
        activated_s = time.monotonic()
        session.activate()
        wait_until(is_fresh(drive))
        assert drive.instants[drive.last().frame_id] > activated_s
        wait_until(lambda: listener.num_pieces('narrate-2') > 2)


@pytest.mark.parametrize('event', [
    lambda session: session.reset('new episode'),
    lambda session: session.set_instruction('something else'),
    lambda session: (session.stop('test'), session.resume())])
def test_old_chunks_are_void_after_a_reset_or_a_new_order(make_session, event):
    """The first action afterwards comes from a picture taken after it."""
    session, _ = make_session()
    session.activate()
    with Robot(session) as drive:
        wait_until(is_fresh(drive))
        event(session)
        event_s = time.monotonic()
        wait_until(lambda: any(result.frame_id for result in drive.since(event_s)))
        time.sleep(0.2)
        frames = [result.frame_id for result in drive.since(event_s + 0.001) if result.frame_id]
    assert all(drive.instants[frame_id] > event_s - 0.001 for frame_id in frames)


def test_the_same_instruction_again_changes_nothing(make_session):
    """Publishers often repeat themselves."""
    session, _ = make_session()
    epoch = session.snapshot().epoch
    session.set_instruction('stack')
    session.set_instruction('stack')
    assert session.snapshot().epoch == epoch + 1 and session.snapshot().instruction == 'stack'


def test_stamps_that_jump_back_reset_once(make_session):
    """A bag that starts again."""
    session, _ = make_session()
    session.activate()
    picture, now_ns = {'front': np.zeros((8, 8, 3), np.uint8)}, time.time_ns()
    epochs = []
    for offset_s in (0, 0.05, -10, -9.95, -9.9):
        session.observe(picture, [0, 0], now_ns + int(offset_s * 1e9))
        epochs.append(session.snapshot().epoch)
    assert epochs[1] == epochs[0] and epochs[2] == epochs[1] + 1 and epochs[4] == epochs[2]


@pytest.mark.parametrize('images, state, words', [
    ({'rear': np.zeros((8, 8, 3), np.uint8)}, [0, 0], 'rear'),
    ({'front': np.zeros((8, 8), np.uint8)}, [0, 0], 'front'),
    ({'front': np.zeros((8, 8, 3), np.float32)}, [0, 0], 'float32'),
    ({'front': np.zeros((0, 8, 3), np.uint8)}, [0, 0], 'front'),
    ({'front': np.zeros((8, 8, 3), np.uint8)}, [0, 0, 0], '2')])
def test_a_wrong_observation_is_refused_by_name(make_session, images, state, words):
    """Before it reaches the engine."""
    session, _ = make_session()
    session.activate()
    with pytest.raises(ValueError, match=words):
        session.observe(images, state, time.time_ns())


def test_limits_are_required_to_activate_not_to_configure(make_session, robot):
    """The message names what is missing."""
    joints = (Joint('a', -1, 1), Joint('b', -1, 1, 1))
    session, _ = make_session(profile=replace(robot, joints=joints))
    with pytest.raises(SessionError, match='a.max_velocity'):
        session.activate()
    assert session.tick(0, 0).verdict is Verdict.STOPPED


def test_what_cannot_be_configured_says_why_and_can_be_tried_again(make_session, tmp_path):
    """Checkpoint, crash at start, memory file, host; nothing is left open."""
    before = num_fds()
    session, _ = make_session(checkpoint='scripted:refuse', configure=False)
    with pytest.raises(SessionError, match='/no/such does not exist; check the path'):
        session.configure()
    with pytest.raises(SessionError, match='not running'):
        session.activate()
    session, _ = make_session(memory_path='/proc/nowhere/facts.db', configure=False)
    with pytest.raises(SessionError, match='/proc/nowhere'):
        session.configure()
    with pytest.raises(ConfigError, match='inline'):
        make_session(host='thread', configure=False)
    poison = tmp_path / 'poison'
    poison.write_text('')
    session, _ = make_session(checkpoint=f'scripted:crash_if {poison}', configure=False)
    with pytest.raises(SessionError, match='code 3'):
        session.configure()
    assert num_fds() <= before
    poison.unlink()
    session.configure()
    session.activate()


def test_a_listener_that_raises_stops_nothing(make_session):
    """The exception is in the log, chunks go on."""
    class Broken(Listening):
        def on_chunk(self, chunk):
            super().on_chunk(chunk)
            raise RuntimeError('listener failure')

    session, listener = make_session(listener=Broken())
    session.activate()
    with Robot(session):
        wait_until(lambda: len(listener.chunks) > 3)


def test_a_listener_may_call_the_session(make_session):
    """For example a subtask that becomes the instruction."""
    class Obedient(Listening):
        def on_delta(self, delta):
            super().on_delta(delta)
            session.set_instruction(delta.text)

    listener = Obedient()
    session, _ = make_session(tasks=[NARRATE], listener=listener)
    session.activate()
    with Robot(session):
        wait_until(lambda: listener.num_pieces('narrate-1') > 5)
    assert session.snapshot().instruction.startswith('w')


def test_a_listener_that_blocks_delays_no_chunk_and_no_end(make_session):
    """A subscriber stuck for good: the robot moves on, close() still ends within 5 s."""
    release = threading.Event()

    class Stuck(Listening):
        def on_delta(self, delta):
            release.wait()

    session, listener = make_session(tasks=[NARRATE], listener=Stuck())
    session.activate()
    with Robot(session) as drive:
        wait_until(is_fresh(drive))
        stuck_s = time.monotonic()
        time.sleep(3 * QUICK.hung_after_s)
        results = drive.since(stuck_s)
    assert all(result.verdict in (Verdict.FRESH, Verdict.CARRIED) for result in results)
    assert session.snapshot().engine.state == EngineState.READY
    began_s = time.monotonic()
    session.close()
    assert time.monotonic() - began_s < 5.0
    release.set()


def test_cycles_leak_nothing_and_frozen_engines_do_not_delay_close(make_session):
    """Configure to close, three times, one with a frozen engine: within 5 s, nothing left."""
    session, _ = make_session(configure=False)
    session.configure()
    session.close()
    before, pids = num_fds(), set()
    for number in range(3):
        session.configure()
        session.activate()
        session.observe({'front': np.zeros((64 * (number + 1), 64, 3), np.uint8)}, [0, 0],
                        time.time_ns())
        pids.add(session.snapshot().engine.pid)
        if number % 2:
            os.kill(session.snapshot().engine.pid, signal.SIGSTOP)
        began_s = time.monotonic()
        session.close()
        assert time.monotonic() - began_s < 5.0
    assert num_fds() <= before and not any(is_running(pid) for pid in pids)


KEYS = {'ticks', 'commands_published', 'verdicts', 'causes', 'lateness_ms', 'realtime_priority',
        'frames', 'encodes', 'chunks', 'replans_per_s', 'tokens', 'tokens_per_s', 'texts_finished',
        'facts', 'engine_restarts', 'seconds'}


def test_the_summary_of_a_run_adds_up(make_session):
    """Also after close, with exactly the documented keys."""
    session, listener = make_session(tasks=[StandingTask('narrate', 'say: ', max_tokens=5)])
    session.activate()
    with Robot(session) as drive:
        wait_until(lambda: len(listener.ended) > 3)
    session.close()
    summary = session.summary()
    assert set(summary) == KEYS and set(summary['lateness_ms']) == {'p50', 'p99', 'max'}
    assert summary['ticks'] == len(drive.results) == sum(summary['verdicts'].values())
    assert summary['chunks'] == len(listener.chunks)
    assert summary['tokens'] == sum(delta.num_tokens for delta in listener.deltas)
    assert summary['texts_finished'] == sum(listener.ended.values())
    assert summary['realtime_priority'] is False
