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
What ends or changes a motion from outside: stop, reset, clocks, the end, other parameters.

Pinned: SCH-01, SCH-03, TIM-01, TIM-03.
"""

import numpy as np
import pytest

from oxygen_ros.config import ControlConfig
from oxygen_ros.types import Cause
from oxygen_ros.types import Verdict

S = 1_000_000_000
HERE = [0.0, 1.0]      # where the rig's arm stands
THERE = [0.015, 1.0]   # one step away


def test_stop_is_latched_and_holds_until_resume(rig):
    rig.follow()
    rig.controller.stop('operator')
    rig.controller.stop('second')
    for _ in range(5):
        rig.chunk([0.9, 1.0])
        result = rig.tick()
        assert (result.verdict, result.cause) == (Verdict.STOPPED, Cause.STOP_REQUESTED)
        assert result.command == pytest.approx(HERE)
    assert rig.controller.describe(Cause.STOP_REQUESTED, rig.now_ns) == 'stopped: operator'
    rig.controller.deactivate()
    rig.controller.activate()
    assert rig.tick().verdict is Verdict.STOPPED
    rig.controller.resume()
    assert rig.tick().cause is Cause.STARTING  # chunks of during the stop are not caught up on
    rig.chunk(THERE)
    assert rig.tick().verdict is Verdict.FRESH
    assert rig.controller.stop_reason is None


def test_reset_voids_the_plan_and_chunks_on_their_way(rig):
    rig.follow()
    rig.controller.invalidate(1)
    assert not rig.chunk(THERE)  # of the epoch before
    assert rig.tick().cause is Cause.STARTING
    rig.epoch = 1
    rig.chunk(THERE)
    assert rig.tick().verdict is Verdict.FRESH


@pytest.mark.parametrize('end', ['deactivate', 'stop'])
def test_nothing_of_before_an_end_moves_the_robot_after_it(rig, end):
    rig.chunk([0.9, 1.0])
    rig.ticks(2)
    getattr(rig.controller, end)()
    rig.controller.resume()
    rig.controller.activate()
    assert rig.tick().cause is Cause.STARTING


def test_clock_that_jumps_back_voids_the_plan_once(rig):
    rig.follow()
    rig.now_ns -= 60 * S
    assert rig.tick().cause is Cause.STARTING
    rig.chunk(THERE)
    assert {result.verdict for result in rig.ticks(10)} == {Verdict.FRESH}
    assert rig.controller.num_clock_jumps == 1


def test_clock_slewed_back_a_little_changes_nothing(rig):
    rig.follow()
    rig.now_ns -= 30_000_000
    assert rig.tick().verdict is Verdict.FRESH
    assert rig.controller.num_clock_jumps == 0


def test_clock_that_jumps_ahead_expires_the_plan(rig):
    rig.follow()
    rig.now_ns += 60 * S
    assert rig.tick().cause is Cause.CHUNK_EXHAUSTED
    rig.chunk(THERE)
    assert rig.tick().verdict is Verdict.FRESH


def test_sim_time_before_the_first_clock_message_sends_nothing(rig):
    rig.controller.measured(rig.position, 1_700_000_000 * S, 0)
    rig.controller.seen('front', 1_700_000_000 * S, 0)
    for index in range(5):
        result = rig.controller.tick(0, index)
        assert (result.command, result.cause) == (None, Cause.WAITING_FOR_CLOCK)
    rig.now_ns, rig.index = 100 * S, 5
    assert rig.tick().cause is Cause.STARTING
    rig.chunk(THERE)
    assert rig.tick().verdict is Verdict.FRESH


def test_paused_sim_time_ends_the_stream_of_actions(rig):
    rig.chunk([0.9, 1.0])
    rig.ticks(5)
    results = [rig.controller.tick(rig.now_ns, rig.index + 1 + more) for more in range(100)]
    assert results[10].verdict is Verdict.FRESH  # clocks of simulators tick in coarse steps
    assert rig.verdicts(results[25:]) == [(Verdict.FALLBACK, Cause.WAITING_FOR_CLOCK)] * 75
    rig.index += 100
    rig.chunk(THERE)
    assert rig.tick().verdict is Verdict.FRESH


def test_activation_while_the_grid_runs_and_sim_time_is_coarse_does_not_look_like_a_pause(new_rig):
    rig = new_rig(is_active=False)
    rig.index = 5000
    rig.tick()
    rig.controller.activate()
    assert rig.controller.tick(rig.now_ns, rig.index + 1).cause is Cause.STARTING


def test_still_scene_moves_without_gaps(rig):
    """Same picture, same joints, same actions for a minute: replanned every 300 ms."""
    verdicts = []
    for tick in range(3000):
        if tick % 15 == 0:
            rig.chunk(THERE, age_s=0.3)
        verdicts.append(rig.tick().verdict)
    assert set(verdicts) == {Verdict.FRESH}


def test_inference_that_hangs_ends_in_a_fallback_within_the_chunk_and_recovers(rig):
    rig.follow()
    verdicts = rig.verdicts(rig.ticks(150))
    assert verdicts.index((Verdict.FALLBACK, Cause.CHUNK_EXHAUSTED)) <= 50
    rig.chunk(THERE)
    assert rig.tick().verdict is Verdict.FRESH


def test_final_command_is_one_step_towards_the_hold(rig):
    rig.chunk([0.9, 1.0])
    last = rig.ticks(10)[-1].command
    rig.controller.deactivate()
    final = rig.controller.final_command()
    assert final == pytest.approx(last - [0.02, 0])


def test_final_command_of_fallback_none_is_silence(new_rig):
    rig = new_rig(fallback='none')
    rig.follow()
    assert rig.controller.final_command() is None


def test_published_command_cannot_be_changed_by_its_reader(rig):
    command = rig.follow()[-1].command
    with pytest.raises(ValueError, match='read-only'):
        command[0] = 5.0


def test_behaviour_changed_in_motion_holds_from_the_next_tick(rig):
    rig.chunk([0.5, 1.0])
    rig.ticks(5)
    rig.controller.change(ControlConfig(limit_mode='reject', fallback='zero_velocity'))
    rig.chunk([5.0, 1.0])
    before = rig.tick()                      # 5.0 is beyond the limit, now refused
    assert before.cause is Cause.LIMIT
    np.testing.assert_array_equal(rig.tick().command, before.command)
    rig.controller.change(ControlConfig(fallback='none'))
    rig.controller.stop()
    assert rig.tick().command is None


def test_after_a_silent_fallback_another_one_starts_from_where_the_robot_is(new_rig):
    rig = new_rig(fallback='none')
    rig.chunk([0.5, 1.0])
    rig.ticks(10)
    rig.controller.stop()
    rig.ticks(3)
    rig.position = np.array([-0.8, 0.2])     # moved by hand meanwhile
    rig.ticks(2)
    rig.controller.change(ControlConfig(fallback='hold'))
    command = rig.tick().command
    np.testing.assert_allclose(command, rig.position, atol=0.11)
