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

"""A lockstep session: time is stepped by the caller, and the same steps give the same results."""

from dataclasses import replace
import time

import numpy as np
import pytest
from runtime_helpers import Listening

from oxygen_ros.clock import ManualClock
from oxygen_ros.clock import SteppedClock
from oxygen_ros.config import ConfigError
from oxygen_ros.config import ControlConfig
from oxygen_ros.config import EngineConfig
from oxygen_ros.config import find_share_file
from oxygen_ros.config import load_robot
from oxygen_ros.config import load_tasks
from oxygen_ros.config import SchedulerConfig
from oxygen_ros.runtime.session import Session
from oxygen_ros.runtime.session import SessionError

START_NS = 1_700_000_000_000_000_000
MS = 1_000_000
COSTS_S = {'encode': 0.040, 'denoise': 0.020, 'decode': 0.010}


class Arrivals(Listening):
    """A listener that notes when, in simulated time since the start, everything arrived."""

    def __init__(self, clock):
        super().__init__()
        self._clock = clock
        self.chunk_ms, self.delta_ms = [], []

    def on_chunk(self, chunk):
        super().on_chunk(chunk)
        self.chunk_ms.append((self._clock.now_ns() - START_NS) / MS)

    def on_delta(self, delta):
        super().on_delta(delta)
        self.delta_ms.append((self._clock.now_ns() - START_NS) / MS)


class Stepped:
    """A robot in a simulation: a session and what it heard."""

    def __init__(self, *, costs_s=None, replan_hz=10.0, tasks=()):
        self.clock = SteppedClock(
            START_NS, cost_s=costs_s and (lambda stage, rows: costs_s[stage]))
        self.heard = Arrivals(self.clock)
        self.session = Session(
            load_robot('so101'), ControlConfig(),
            EngineConfig(scheduler=SchedulerConfig(replan_hz=replan_hz)), tasks,
            listener=self.heard, clock=self.clock, node_clock_ns=self.clock.now_ns,
            host='lockstep')
        self.rng = np.random.default_rng(0)

    def __enter__(self):
        self.session.configure()
        self.session.activate()
        return self

    def __exit__(self, *exception):
        self.session.close()

    def look(self):
        """Show the session a new picture, taken now."""
        now_ns, joints = self.clock.now_ns(), np.zeros(6)
        self.session.measured(joints, now_ns)
        pictures = {slot: self.rng.integers(0, 256, (64, 64, 3), np.uint8)
                    for slot in self.session.robot.camera_slots}
        for slot in pictures:
            self.session.seen(slot, now_ns)
        self.session.observe(pictures, joints, now_ns)

    def pass_ms(self, duration_ms):
        """Let simulated time pass."""
        self.session.run_until(self.clock.now_ns() + round(duration_ms * MS))


def shipped_tasks():
    return load_tasks(find_share_file('config/tasks.yaml'))


def drive(seconds, **options):
    """Run with pictures at 10 Hz and ticks at 50 Hz; returns the listener and the ticks."""
    with Stepped(**options) as robot:
        ticks = []
        for index in range(round(50 * seconds)):
            if index % 5 == 0:
                robot.look()
            robot.pass_ms(0)
            ticks.append(robot.session.tick(index, 0))
            robot.pass_ms(20)
    return robot.heard, ticks


def told(heard):
    return ([chunk.actions.tobytes() for chunk in heard.chunks], heard.chunk_ms, heard.delta_ms,
            [(delta.request_id, delta.index, delta.text, delta.frame_id, delta.ttft_s)
             for delta in heard.deltas],
            [(fact.subject, fact.relation, fact.object, fact.frame_id) for fact in heard.facts])


@pytest.mark.parametrize('costs_s', [None, COSTS_S])
def test_two_runs_give_the_same_actions_texts_facts_and_times(costs_s):
    first, ticks = drive(1.0, costs_s=costs_s, tasks=shipped_tasks())
    second, ticks_again = drive(1.0, costs_s=costs_s, tasks=shipped_tasks())
    assert told(first) == told(second)
    assert len(first.chunks) == 10 and len(first.deltas) > 10
    assert ([(tick.verdict, tick.frame_id) for tick in ticks]
            == [(tick.verdict, tick.frame_id) for tick in ticks_again])


def asked_from_memory():
    """Return the facts heard when a question was asked that uses them, and its last piece."""
    tasks = [replace(task, trigger='every_frame', target_tokens_per_s=None)
             for task in shipped_tasks() if task.name == 'memory']
    with Stepped(tasks=tasks) as robot:
        for _ in range(12):
            robot.look()
            robot.pass_ms(0)
            robot.pass_ms(100)
        facts = list(robot.heard.facts)
        assert len(robot.session.recall(history=True)) == len(facts)
        robot.session.ask('where is the red cube?', use_memory=True, request_id='mine')
        robot.look()
        robot.pass_ms(0)
        robot.pass_ms(100)
    return facts, robot.heard.final('mine')


def test_a_question_finds_every_fact_written_by_then_the_same_in_every_run():
    """No thread that writes facts is waited for, or not: what holds now is in the prompt."""
    (facts, answer), (facts_again, answer_again) = asked_from_memory(), asked_from_memory()
    assert len(facts) >= 6
    holding = {fact.subject: f'{fact.subject} {fact.relation} {fact.object}' for fact in facts}
    assert set(answer.facts) == set(holding.values())
    assert answer.num_tokens and answer.full_text
    assert (facts, answer) == (facts_again, answer_again)


def test_a_free_engine_answers_every_look_at_once():
    """Its chunk is there before the tick of the same time: lock-step control of a simulation."""
    with Stepped() as robot:
        for count in range(1, 4):
            robot.look()
            robot.pass_ms(0)
            assert len(robot.heard.chunks) == count
            robot.pass_ms(100)
    assert robot.heard.chunk_ms == [0, 100, 200]


def test_work_takes_the_time_it_is_said_to_take_not_that_of_this_machine():
    costs_s = {'encode': 40.0, 'denoise': 20.0, 'decode': 1.0}
    began_s = time.monotonic()
    with Stepped(costs_s=costs_s, replan_hz=0.1) as robot:
        robot.look()
        robot.pass_ms(59_999)
        assert not robot.heard.chunks
        robot.pass_ms(1)
        assert len(robot.heard.chunks) == 1
    assert time.monotonic() - began_s < 30


def test_a_look_during_work_waits_and_the_newest_is_taken():
    with Stepped(costs_s=COSTS_S, replan_hz=100) as robot:
        for _ in range(4):          # at 0, 25, 50 and 75 ms; the engine is busy for 60 ms
            robot.look()
            robot.pass_ms(25)
        robot.pass_ms(200)
    stamps_ms = [(chunk.stamp_ns - START_NS) / MS for chunk in robot.heard.chunks]
    assert stamps_ms == [0, 50, 75]
    assert robot.heard.chunk_ms == [60, 120, 180]


def test_looks_beyond_the_replan_rate_wait_and_are_replaced_by_newer_ones():
    with Stepped(replan_hz=5) as robot:
        for _ in range(10):
            robot.look()
            robot.pass_ms(0)
            robot.pass_ms(100)
    assert robot.heard.chunk_ms == [0, 200, 400, 600, 800]
    assert [(chunk.stamp_ns - START_NS) / MS for chunk in robot.heard.chunks] == [
        0, 200, 400, 600, 800]


def test_texts_run_in_the_time_between_looks_and_do_not_delay_chunks():
    heard, _ = drive(2.0, costs_s=COSTS_S, replan_hz=10, tasks=shipped_tasks())
    assert heard.chunk_ms == [60 + 100 * index for index in range(20)]
    assert len(heard.deltas) > 20
    between = [at_ms % 100 for at_ms in heard.delta_ms if at_ms < 2000]
    assert all(at_ms >= 60 or at_ms == 0 for at_ms in between), between


def test_every_text_ends_when_the_session_is_closed_amid_work():
    with Stepped(costs_s=COSTS_S, tasks=shipped_tasks()) as robot:
        robot.look()
        robot.session.ask('what is there?', request_id='mine')
        robot.look()
        robot.pass_ms(75)
    ends = {delta.request_id: delta.final for delta in robot.heard.deltas}
    assert ends['mine'] and all(ends.values())


def test_needs_a_clock_that_can_be_stepped():
    clock = ManualClock(1)
    with pytest.raises(ConfigError, match='SteppedClock'):
        Session(load_robot('so101'), ControlConfig(), EngineConfig(), clock=clock,
                node_clock_ns=clock.now_ns, host='lockstep')
    session = Session(load_robot('so101'), ControlConfig(), EngineConfig(),
                      node_clock_ns=time.time_ns)
    with pytest.raises(SessionError, match='lockstep'):
        session.run_until(1)
