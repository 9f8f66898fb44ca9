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
What the robot is told tick by tick, with the cause of every command that is not the model's.

Pinned: IMG-06, JS-01 (short or not finite joint states), SCH-01, SCH-03, TIM-01, TIM-03.
"""

import numpy as np
import pytest

from oxygen_ros.config import ConfigError
from oxygen_ros.config import Joint
from oxygen_ros.policy import JOINTS
from oxygen_ros.types import Cause
from oxygen_ros.types import Verdict

S = 1_000_000_000
HERE = [0.0, 1.0]      # where the rig's arm stands
THERE = [0.015, 1.0]   # one step away


def test_limits_must_be_there(new_rig, new_profile):
    with pytest.raises(ConfigError, match='lift.max_velocity'):
        new_rig(new_profile(joints=(Joint('lift', lower=-1.0, upper=1.0),)))


def test_nothing_is_sent_before_activation_and_after_deactivation(new_rig):
    rig = new_rig(is_active=False)
    rig.chunk(THERE)
    assert rig.verdicts(rig.ticks(2)) == [(Verdict.STOPPED, Cause.INACTIVE)] * 2
    assert rig.controller.final_command() is None
    rig.controller.activate()
    rig.follow()
    rig.controller.deactivate()
    assert [result.command for result in rig.ticks(2)] == [None, None]


def test_holds_where_it_stands_until_the_first_chunk(rig):
    results = rig.ticks(3)
    assert rig.verdicts(results) == [(Verdict.FALLBACK, Cause.STARTING)] * 3
    assert all(result.command.tolist() == HERE for result in results)


def test_nothing_is_sent_as_long_as_it_does_not_know_where_it_stands(rig):
    rig.joints_report = False
    rig.chunk(THERE)
    result = rig.tick()
    assert (result.command, result.cause) == (None, Cause.JOINTS_STALE)
    rig.joints_report = True
    assert rig.tick().verdict is Verdict.FRESH


def test_joint_states_of_long_before_activation_are_no_place_to_start(rig):
    rig.report()
    rig.joints_report = False
    rig.now_ns += 10 * S
    assert rig.tick().command is None


def test_fresh_action_names_its_frame(rig):
    rig.chunk(THERE)
    rig.chunk(THERE)
    result = rig.tick()
    assert (result.verdict, result.cause, result.frame_id) == (Verdict.FRESH, Cause.NONE, 2)
    assert result.command.tolist() == pytest.approx(THERE)


def test_first_command_starts_from_the_measured_state(rig):
    rig.position = np.array([0.5, 0.2])
    rig.chunk([-1.0, 2.0])
    result = rig.tick()
    assert result.command == pytest.approx([0.48, 0.25])
    assert result.clamped == 2


@pytest.mark.parametrize('has_chunk', [True, False])
def test_first_command_keeps_to_a_small_start_jump(new_rig, new_profile, has_chunk):
    rig = new_rig(new_profile(start_jump=0.003))
    rig.position = np.array([1.5, 1.0])
    if has_chunk:
        rig.chunk([0.5, 1.5])
    commands = np.array([result.command for result in rig.ticks(3)])
    assert commands[:, 0] == pytest.approx([1.497, 1.477, 1.457])


def test_second_activation_starts_from_the_new_measured_state(rig):
    rig.follow()
    rig.controller.deactivate()
    rig.position = np.array([0.7, 0.3])  # moved by hand meanwhile
    rig.tick()
    rig.controller.activate()
    assert rig.tick().command == pytest.approx([0.7, 0.3])


def test_stall_gives_one_step_and_skips_the_actions_it_missed(rig):
    ramp = np.linspace([0.0, 1.0], [0.9, 1.0], 31).astype(np.float32)
    rig.chunk(ramp[:, :2])
    before = rig.ticks(5)[-1]
    after = rig.tick(skipped=20)
    assert after.verdict is Verdict.FRESH
    assert after.command[0] - before.command[0] == pytest.approx(0.02)


def test_chunk_runs_out_and_the_robot_holds_the_measured_position(rig):
    rig.chunk(np.tile(np.float32(THERE), (4, 1)))  # 200 ms
    rig.ticks(5)
    rig.position = np.array([0.011, 1.0])
    results = rig.ticks(8)
    assert rig.verdicts(results[4:]) == [(Verdict.FALLBACK, Cause.CHUNK_EXHAUSTED)] * 4
    assert results[-1].command == pytest.approx([0.011, 1.0])


def test_hold_does_not_follow_an_arm_that_sags(rig):
    rig.follow()
    rig.controller.engine_state(False, Cause.ENGINE_DEAD)
    held = rig.tick().command
    for _ in range(50):
        rig.position = rig.position - 0.01
        command = rig.tick().command
    assert command == pytest.approx(held)
    assert held == pytest.approx(HERE)


def test_every_fallback_holds_where_it_began(rig):
    for place in ([0.0, 1.0], [0.4, 0.5]):
        rig.chunk(place)
        rig.ticks(45)
        rig.position = np.array(place)
        rig.controller.engine_state(False)
        assert rig.ticks(5)[-1].command == pytest.approx(place)
        rig.controller.engine_state(True)


def test_hold_of_a_position_outside_the_limits_goes_inside_slowly(rig):
    rig.position = np.array([1.3, 1.0])
    commands = [result.command[0] for result in rig.ticks(40)]
    assert commands[0] == pytest.approx(1.28)
    assert np.diff(commands).min() >= -0.02 - 1e-12
    assert commands[-1] == 1.0


def test_leaving_the_fallback_is_rate_limited(rig):
    rig.ticks(3)
    rig.chunk([0.8, 1.0])
    commands = [result.command[0] for result in rig.ticks(10)]
    assert np.diff([0.0, *commands]) == pytest.approx(np.full(10, 0.02))


def test_zero_velocity_repeats_the_last_command(new_rig):
    rig = new_rig(fallback='zero_velocity')
    last = rig.follow()[-1].command
    rig.controller.engine_state(False)
    assert all(result.command == pytest.approx(last) for result in rig.ticks(5))


def test_ramp_down_goes_on_and_comes_to_rest(new_rig):
    rig = new_rig(fallback='ramp_down', ramp_down_s=0.2)
    rig.chunk([0.9, 1.0])
    rig.ticks(10)
    rig.controller.engine_state(False)
    commands = np.array([result.command[0] for result in rig.ticks(15)])
    steps = np.diff([0.2, *commands])
    assert steps[:10] == pytest.approx(0.02 * (1 - np.arange(1, 11) / 10))
    assert steps[10:] == pytest.approx(0)


def test_ramp_down_stays_inside_the_position_limits(new_rig):
    rig = new_rig(fallback='ramp_down', ramp_down_s=1.0)
    rig.position = np.array([0.9, 1.0])
    rig.chunk([1.0, 1.0])
    rig.ticks(4)
    rig.controller.engine_state(False)
    assert max(result.command[0] for result in rig.ticks(60)) <= 1.0


def test_fallback_none_sends_nothing_and_starts_again_from_the_measured_state(new_rig):
    rig = new_rig(fallback='none')
    rig.follow()
    rig.reporting_cameras = set()
    results = rig.ticks(40)
    assert results[-1].command is None
    assert results[-1].cause is Cause.CAMERA_STALE
    rig.position = np.array([0.6, 1.0])  # it sank: nobody held it
    rig.reporting_cameras = {'front'}
    rig.chunk([0.9, 1.0])
    assert rig.tick().command == pytest.approx([0.62, 1.0])


@pytest.mark.parametrize('cause', [Cause.ENGINE_DEAD, Cause.ENGINE_HUNG])
def test_engine_trouble_shows_on_the_next_tick_and_ends_with_a_new_chunk(rig, cause):
    rig.follow()
    rig.controller.engine_state(False, cause)
    assert (rig.tick().verdict, rig.tick().cause) == (Verdict.FALLBACK, cause)
    rig.controller.engine_state(True)
    assert rig.tick().cause is Cause.STARTING  # what it planned before it died is void
    rig.chunk(THERE)
    assert rig.tick().verdict is Verdict.FRESH


def test_stale_camera_is_named_and_recovers(rig):
    rig.follow()
    rig.reporting_cameras = {'wrist'}
    results = rig.ticks(20)
    rig.chunk(THERE)
    assert results[13].verdict is Verdict.FRESH
    assert rig.verdicts(results[15:]) == [(Verdict.FALLBACK, Cause.CAMERA_STALE)] * 5
    assert rig.controller.describe(Cause.CAMERA_STALE, rig.now_ns).startswith('front: 0.4')
    rig.reporting_cameras = {'front', 'wrist'}
    assert rig.tick().verdict is Verdict.FRESH


def test_frozen_camera_is_named(rig):
    rig.follow()
    rig.reporting_cameras = {'wrist'}
    stamp = rig.now_ns
    for _ in range(20):
        rig.controller.seen('front', stamp, rig.now_ns)
        result = rig.tick()
    assert result.cause is Cause.CAMERA_FROZEN


@pytest.mark.parametrize('positions', [
    [np.nan, 1.0], [np.inf, 1.0], [0.5], [0.5] * 3, [], [0.0, 57.3]])
def test_unusable_joint_states_change_neither_value_nor_age(rig, positions):
    rig.follow()
    rig.joints_report = False
    results = []
    for _ in range(15):
        assert not rig.controller.measured(positions, rig.now_ns, rig.now_ns)
        results.append(rig.tick())
    assert results[8].verdict is Verdict.FRESH
    assert results[-1].cause is Cause.JOINTS_STALE
    assert results[-1].command == pytest.approx(HERE)
    assert rig.controller.num_refused_states == 15


def test_state_in_another_unit_is_named_and_never_a_place_to_start(rig):
    rig.position = np.array([-45.0, 1.0])
    rig.chunk(THERE)
    assert [result.command for result in rig.ticks(5)] == [None] * 5
    assert rig.controller.describe(Cause.JOINTS_STALE, rig.now_ns) == (
        'joints: nothing received yet; the newest are refused: lift measured at -45, '
        'limits -1 to 1')


def test_joint_states_cannot_be_reported_unchecked(rig):
    with pytest.raises(ValueError, match='measured'):
        rig.controller.seen(JOINTS, rig.now_ns, rig.now_ns)


@pytest.mark.parametrize('bad, cause', [
    (np.full((20, 2), np.nan), Cause.NOT_FINITE), (np.zeros((20, 3)), Cause.WRONG_SIZE)])
def test_broken_chunks_leave_the_good_one_running_and_then_name_themselves(rig, bad, cause):
    rig.chunk(np.tile(np.float32(THERE), (4, 1)))
    rig.tick()
    verdicts = []
    for _ in range(12):
        rig.chunk(bad.astype(np.float32))
        verdicts.append(rig.verdicts([rig.tick()])[0])
    assert verdicts[0] == (Verdict.CARRIED, Cause.NONE)
    assert verdicts[-1] == (Verdict.FALLBACK, cause)


def test_reject_falls_back_until_another_chunk_comes(new_rig):
    rig = new_rig(limit_mode='reject')
    rig.follow()
    jump = np.tile(np.float32(THERE), (20, 1))
    jump[2:4, 0] = 0.5
    rig.chunk(jump)
    results = rig.ticks(12)  # the jump is over after 200 ms, yet the chunk is not trusted again
    assert results[0].verdict is Verdict.FRESH
    assert rig.verdicts(results[4:]) == [(Verdict.FALLBACK, Cause.LIMIT)] * 8
    assert rig.controller.describe(Cause.LIMIT, rig.now_ns) == 'lift: 1 times beyond a limit'
    rig.chunk([0.05, 1.0])
    results = rig.ticks(4)
    assert {result.verdict for result in results} == {Verdict.FRESH}
    assert results[-1].command == pytest.approx([0.05, 1.0])


def test_reject_does_not_blame_an_action_for_missed_ticks(new_rig):
    rig = new_rig(limit_mode='reject')
    rig.chunk(np.linspace([0.0, 1.0], [0.6, 1.0], 25).astype(np.float32))
    rig.ticks(5)
    assert rig.tick(skipped=4).verdict is Verdict.FRESH


def test_blend_after_a_fallback_starts_from_the_wire_not_from_an_old_plan(new_rig):
    rig = new_rig(transition='blend', blend_ticks=10)
    rig.chunk([0.3, 1.0])
    rig.ticks(10)
    rig.reporting_cameras = set()
    rig.ticks(30)
    rig.reporting_cameras = {'front'}
    rig.chunk([-0.3, 1.0])
    commands = [result.command[0] for result in rig.ticks(5)]
    assert commands == pytest.approx([-0.02, -0.04, -0.06, -0.08, -0.1])
