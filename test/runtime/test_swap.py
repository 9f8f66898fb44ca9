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

"""Another checkpoint takes over in motion, or nothing changes and the reason is told."""
import threading
import time

import pytest
from runtime_helpers import is_running
from runtime_helpers import Listening
from runtime_helpers import QUICK
from runtime_helpers import Robot
from runtime_helpers import wait_until

from oxygen_ros.config import ControlConfig
from oxygen_ros.config import EngineConfig
from oxygen_ros.config import StandingTask
from oxygen_ros.runtime import swap
from oxygen_ros.runtime.protocol import EngineState
from oxygen_ros.runtime.session import Session
from oxygen_ros.runtime.session import SessionError
from oxygen_ros.types import Cause
from oxygen_ros.types import EndReason
from oxygen_ros.types import LanguageRequest
from oxygen_ros.types import Verdict

# Never during a swap. (A busy machine may let a chunk run out, which is no fault of the swap.)
TROUBLE = {Cause.ENGINE_DEAD, Cause.ENGINE_HUNG, Cause.STARTING, Cause.INACTIVE,
           Cause.NOT_FINITE, Cause.WRONG_SIZE}
LONG_S = 60.0


@pytest.fixture
def session(robot, scripted, monkeypatch):
    """Return an active session with a standing task."""
    monkeypatch.setattr(swap, 'VERIFY_S', 5.0)
    session = Session(robot, ControlConfig(), EngineConfig(checkpoint='scripted'),
                      (StandingTask('narrate', 'Say:', max_tokens=5),), listener=Listening(),
                      node_clock_ns=time.time_ns, supervision=QUICK)
    session.configure()
    session.activate()
    yield session
    session.close()


def listener_of(session) -> Listening:
    """Return what hears the session."""
    return session._outputs._listener


def acting(drive) -> None:
    """Wait until the robot follows the model."""
    wait_until(lambda: drive.results and drive.last().verdict is Verdict.FRESH, timeout_s=LONG_S)


def test_control_goes_on_and_the_new_engine_takes_over(session):
    with Robot(session) as drive:
        acting(drive)
        before, start_s = session.snapshot().engine, time.monotonic()
        done = session.load_checkpoint('scripted:new')
        assert done == 'scripted:new is in charge, verified on a live observation'
        after = session.snapshot().engine
        assert after.pid != before.pid and not is_running(before.pid)
        assert after.checkpoint == session.engine.checkpoint == 'scripted:new'
        seen = session.snapshot().engine.frames
        wait_until(lambda: session.snapshot().engine.chunks > after.chunks + 5)
        assert not TROUBLE & {result.cause for result in drive.since(start_s)}
        assert session.snapshot().engine.frames >= seen


def test_texts_of_the_old_engine_end_and_those_of_the_new_have_other_ids(session):
    heard = listener_of(session)
    with Robot(session) as drive:
        acting(drive)
        wait_until(lambda: len(heard.ended) > 2)
        request_id = session.ask('what is there?', max_tokens=4000)
        wait_until(lambda: heard.num_pieces(request_id) > 2)
        session.load_checkpoint('scripted:new')
        wait_until(lambda: heard.final(request_id))
        assert heard.final(request_id).reason is EndReason.CANCELLED
        assert heard.final(request_id).detail == 'another checkpoint was loaded'
        told = len(heard.ended)
        wait_until(lambda: len(heard.ended) > told + 3)
    assert max(heard.ended.values()) == 1, 'an id was used twice'


@pytest.mark.parametrize('trouble, reason', (
    ('refuse', 'does not exist; check the path'), ('crash', 'died'),
    ('nan', 'not 2 finite numbers'), ('wide', 'not 2 finite numbers'),
    ('mute', 'gave no actions'), ('fragile', 'failed on a live observation')))
def test_a_failure_leaves_the_old_one_running(session, monkeypatch, trouble, reason):
    with Robot(session) as drive:
        acting(drive)
        before, start_s = session.snapshot().engine, time.monotonic()
        with monkeypatch.context() as limits, pytest.raises(
                SessionError, match=f'scripted:{trouble} was not loaded: .*{reason}'):
            if trouble == 'mute':
                limits.setattr(swap, 'VERIFY_S', 1.0)     # it is waited for in vain
            session.load_checkpoint(f'scripted:{trouble}')
        chunks = session.snapshot().engine.chunks
        wait_until(lambda: session.snapshot().engine.chunks > chunks + 3)
        after = session.snapshot().engine
        assert (after.pid, after.checkpoint, after.restarts) == (before.pid, 'scripted', 0)
        assert session.engine.checkpoint == 'scripted'
        assert not TROUBLE & {result.cause for result in drive.since(start_s)}
        assert session.load_checkpoint('scripted:good')      # the next attempt is free


def test_an_engine_that_dies_later_comes_back_with_the_new_checkpoint(session):
    with Robot(session) as drive:
        acting(drive)
        session.load_checkpoint('scripted:new')
        session.submit(LanguageRequest('trouble', 'ask', 'exit', 5))
        wait_until(lambda: session.snapshot().engine.restarts == 1, timeout_s=LONG_S)
        wait_until(lambda: session.snapshot().engine.state == EngineState.READY, timeout_s=LONG_S)
        acting(drive)
        assert session.snapshot().engine.checkpoint == 'scripted:new'


def test_one_load_at_a_time_and_closing_ends_it(session):
    answers = []

    def load():
        try:
            answers.append(session.load_checkpoint('scripted:slow 60'))
        except SessionError as error:
            answers.append(str(error))
    thread = threading.Thread(target=load)
    with Robot(session):
        thread.start()
        time.sleep(0.3)
        with pytest.raises(SessionError, match='another checkpoint is being loaded'):
            session.load_checkpoint('scripted:new')
    session.close()
    thread.join(timeout=10)
    assert not thread.is_alive()
    assert 'scripted:slow 60 was not loaded' in answers[0]


def test_without_motion_it_is_taken_unverified_and_says_so(session):
    session.deactivate()
    assert 'not verified on an observation' in session.load_checkpoint('scripted:new')
    session.activate()
    with Robot(session) as drive:
        acting(drive)


def test_there_must_be_an_engine(robot):
    session = Session(robot, ControlConfig(), EngineConfig(), node_clock_ns=time.time_ns)
    with pytest.raises(SessionError, match='configure the session first'):
        session.load_checkpoint('builtin:tiny')

