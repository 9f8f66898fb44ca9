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

"""A session with the real engine and its tiny model: three outputs from one look."""

import os
import signal
import time

import numpy as np
import pytest
from runtime_helpers import Listening
from runtime_helpers import Robot
from runtime_helpers import wait_until
import torch

from oxygen_ros.clock import ManualClock
from oxygen_ros.config import ControlConfig
from oxygen_ros.config import EngineConfig
from oxygen_ros.config import find_share_file
from oxygen_ros.config import load_robot
from oxygen_ros.config import load_tasks
from oxygen_ros.config import SchedulerConfig
from oxygen_ros.runtime.cpu_limits import cpu_limit
from oxygen_ros.runtime.inline import load_engine
from oxygen_ros.runtime.protocol import Start
from oxygen_ros.runtime.session import Session
from oxygen_ros.runtime.session import SessionError
from oxygen_ros.types import Verdict


@pytest.mark.timeout(300)   # loads the model twice, which a busy machine does slowly
def test_acts_speaks_and_remembers_over_a_kill(tmp_path):
    """Encodes equal frames under three tasks, facts are kept, a killed engine comes back."""
    slow = SchedulerConfig(replan_hz=4)      # leaves time for text on a busy machine too
    listener = Listening()
    session = Session(load_robot('so101'), ControlConfig(), EngineConfig(scheduler=slow),
                      load_tasks(find_share_file('config/tasks.yaml')), listener=listener,
                      node_clock_ns=time.time_ns, memory_path=tmp_path / 'facts.db')
    session.configure()
    try:
        session.activate()
        with Robot(session) as drive:
            wait_until(lambda: listener.facts and len(listener.ended) >= 3, timeout_s=120)
            assert {delta.task for delta in listener.deltas} == {'narrate', 'subtask', 'memory'}
            before = session.snapshot().engine
            os.kill(before.pid, signal.SIGKILL)
            wait_until(lambda: drive.last().verdict is Verdict.FALLBACK, timeout_s=1)
            wait_until(lambda: session.snapshot().engine.restarts == 1
                       and drive.last().verdict is Verdict.FRESH, timeout_s=120)
            num_deltas = len(listener.deltas)
            wait_until(lambda: len(listener.deltas) > num_deltas + 3, timeout_s=120)
            fact = session.recall(limit=1)[0]
        session.deactivate()
        status = session.snapshot().engine
        assert status.encodes == status.frames > before.frames
        assert status.kv_bytes_copied == 0 and not status.trained
        assert fact.subject in ('red cube', 'green cube', 'blue cube') and fact.frame_id > 0
        wait_until(lambda: all(listener.ended.values()))
    finally:
        session.close()
    assert set(listener.ended.values()) == {1}
    for request_id in listener.ended:
        pieces = [delta for delta in listener.deltas if delta.request_id == request_id]
        assert [delta.index for delta in pieces] == list(range(len(pieces)))


def test_a_checkpoint_that_does_not_exist_is_refused_with_the_remedy():
    """By the engine process, in words, without a traceback."""
    session = Session(load_robot('so101'), ControlConfig(), EngineConfig(checkpoint='/no/such'),
                      node_clock_ns=time.time_ns)
    with pytest.raises(SessionError, match='/no/such does not exist'):
        session.configure()


def test_threads_stay_within_the_cpu_limit():
    """Asked for 64, the engine takes what this process may use and says so."""
    before, told = torch.get_num_threads(), []
    try:
        start = Start(load_robot('so101'), EngineConfig(num_threads=64), (), 0)
        _, info = load_engine(start, lambda event: None, told.append)
        assert info.num_threads == torch.get_num_threads() == min(64, cpu_limit())
    finally:
        torch.set_num_threads(before)
    assert any('instead of 64' in text for text in told)


def run_inline():
    """Run ten frames in this process; returns every action and word."""
    listener, clock = Listening(), ManualClock(1)
    session = Session(load_robot('so101'), ControlConfig(), EngineConfig(),
                      load_tasks(find_share_file('config/tasks.yaml')), listener=listener,
                      clock=clock, node_clock_ns=clock.now_ns, host='inline')
    session.configure()
    session.activate()
    rng = np.random.default_rng(0)
    for _ in range(10):
        clock.advance(100_000_000)
        session.observe({slot: rng.integers(0, 256, (64, 64, 3), np.uint8)
                         for slot in session.robot.camera_slots}, np.zeros(6), clock.now_ns())
    session.close()
    return ([chunk.actions for chunk in listener.chunks],
            [(delta.request_id, delta.text) for delta in listener.deltas])


def test_an_inline_session_is_deterministic():
    """Two runs over the same pictures give the same actions and words, one chunk per picture."""
    actions, words = run_inline()
    again, words_again = run_inline()
    assert len(actions) == 10 and len(words) > 3
    assert all(np.array_equal(first, second) for first, second in zip(actions, again))
    assert words == words_again
