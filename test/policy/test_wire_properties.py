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
Whatever the model, the sensors, the clock and the operator do, the wire stays right.

Random histories of faults; after every tick the command, if there is one, is finite, inside the
position limits and at most one step from the one before it (from the measured state after an
activation).
"""

from hypothesis import example
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st
import numpy as np
import pytest

from oxygen_ros.types import Cause
from oxygen_ros.types import Verdict

STEP = np.array([0.02, 0.05])
LOWER, UPPER = np.array([-1.0, 0.0]), np.array([1.0, 2.0])
START_JUMP = 0.1
ROUNDING = 1e-9

_bad_number = st.sampled_from([np.nan, np.inf, -np.inf, 3e38, -3e38, 1e9])
_number = st.floats(-3, 3, width=32) | _bad_number
_small = st.floats(-1, 1, width=32)
_actions = st.one_of(
    st.tuples(_small, st.floats(0, 2, width=32)).map(
        lambda pair: np.tile(np.float32(pair), (20, 1))),
    st.lists(st.tuples(_number, _number), max_size=12).map(
        lambda rows: np.float32(rows).reshape(-1, 2)),
    st.sampled_from([(0, 2), (5, 1), (5, 3), (4,), (2, 2, 2)]).map(
        lambda shape: np.ones(shape, np.float32)))
_events = st.one_of(
    st.tuples(st.just('tick'), st.integers(1, 12)),
    st.tuples(st.just('tick'), st.integers(1, 12)),
    st.tuples(st.just('stall'), st.integers(1, 400)),
    st.tuples(st.just('chunk'), _actions, st.floats(-1, 3), st.integers(-3, 2),
              st.integers(-1, 1)),
    st.tuples(st.just('chunk'), _actions, st.floats(0, 0.2), st.just(0), st.just(0)),
    st.tuples(st.just('move'), st.floats(-1, 1), st.floats(0, 2)),
    st.tuples(st.just('bad_joints'), st.lists(_number, max_size=4)),
    st.tuples(st.just('joints'), st.booleans()),
    st.tuples(st.just('cameras'), st.sets(st.sampled_from(['front', 'wrist']))),
    st.tuples(st.just('clock'), st.sampled_from([-60.0, -0.15, -0.05, 0.3, 60.0, -3e9])),
    st.tuples(st.just('engine'), st.booleans()),
    st.tuples(st.just('invalidate')),
    st.tuples(st.sampled_from(['stop', 'resume', 'activate', 'deactivate'])))


class Watcher:
    """Looks at the wire and knows nothing of how commands are made."""

    def __init__(self, rig, fallback):
        self.rig = rig
        self.is_silent_fallback = fallback == 'none'
        self.last = None
        self.was_silent = False
        self.verdicts = set()

    def look(self, result):
        self.verdicts.add(result.verdict)
        assert (result.cause is Cause.NONE) == (result.verdict in (Verdict.FRESH, Verdict.CARRIED))
        command = result.command
        if command is None:
            assert result.verdict in (Verdict.FALLBACK, Verdict.STOPPED)
            self.was_silent = True
            return
        self.check(command)
        self.last, self.was_silent = command.copy(), False

    def check(self, command):
        assert command.shape == (2,) and np.isfinite(command).all()
        assert (command >= LOWER).all() and (command <= UPPER).all()
        if self.last is None:
            assert (np.abs(command - self.rig.position) <= START_JUMP + ROUNDING).all()
        elif self.is_silent_fallback and self.was_silent and (
                np.abs(self.last - self.rig.position).max() > START_JUMP):
            assert (np.abs(command - self.rig.position) <= STEP + ROUNDING).all()
        else:
            assert (np.abs(command - self.last) <= STEP + ROUNDING).all()


def _play(rig, watcher, event):
    kind, *values = event
    controller = rig.controller
    if kind == 'tick':
        for _ in range(values[0]):
            watcher.look(rig.tick())
    elif kind == 'stall':
        watcher.look(rig.tick(skipped=values[0]))
    elif kind == 'chunk':
        actions, age_s, frame_offset, epoch_offset = values
        rig.chunk(actions, age_s=age_s, frame_id=rig.frame_id + 1 + frame_offset,
                  epoch=rig.epoch + epoch_offset)
    elif kind == 'move':
        rig.position = np.array(values)
    elif kind == 'bad_joints':
        positions = np.float64(values[0])
        if positions.shape != (2,) or not (np.abs(positions) <= 4).all():
            assert not controller.measured(positions, rig.now_ns, rig.now_ns)
    elif kind == 'joints':
        rig.joints_report = values[0]
    elif kind == 'cameras':
        rig.reporting_cameras = values[0]
    elif kind == 'clock':
        rig.now_ns = max(0, rig.now_ns + round(values[0] * 1e9))
    elif kind == 'engine':
        controller.engine_state(values[0])
    elif kind == 'invalidate':
        rig.epoch += 1
        controller.invalidate(rig.epoch)
    else:
        if kind == 'activate':
            watcher.last = None
        getattr(controller, kind)()


_control = st.fixed_dictionaries({
    'fallback': st.sampled_from(['hold', 'ramp_down', 'zero_velocity', 'none']),
    'limit_mode': st.sampled_from(['clamp', 'reject']),
    'transition': st.sampled_from(['switch', 'blend']),
    'interpolation': st.sampled_from(['linear', 'hold'])})


@settings(max_examples=400, deadline=None)
@given(control=_control, events=st.lists(_events, min_size=1, max_size=40))
@example(control={'fallback': 'ramp_down'}, events=[
    ('chunk', np.float32([[1, 2]] * 12), 0.0, 0, 0), ('tick', 12), ('stall', 300), ('tick', 12)])
def test_every_command_is_finite_inside_the_limits_and_one_step_away(new_rig, control, events):
    rig = new_rig(**control)
    watcher = Watcher(rig, control['fallback'])
    for event in events:
        _play(rig, watcher, event)
        # One more tick after every event: each of them may be the one that breaks the wire.
        watcher.look(rig.tick())
    final = rig.controller.final_command()
    if final is not None:
        watcher.check(final)


@settings(max_examples=60, deadline=None)
@given(control=_control, events=st.lists(_events, max_size=25))
def test_the_robot_moves_again_whatever_happened_before(new_rig, control, events):
    rig = new_rig(**control)
    watcher = Watcher(rig, control['fallback'])
    for event in events:
        _play(rig, watcher, event)
    rig.controller.engine_state(True)
    rig.controller.activate()
    rig.controller.resume()
    rig.joints_report, rig.reporting_cameras = True, {'front', 'wrist'}
    rig.frame_id += 100
    rig.now_ns += 10**9
    rig.tick()
    rig.chunk(rig.position.tolist())
    assert [result.verdict for result in rig.ticks(5)] == [Verdict.FRESH] * 5


@settings(max_examples=60, deadline=None)
@given(events=st.lists(_events, max_size=25))
def test_a_latched_stop_lets_no_action_through(new_rig, events):
    rig = new_rig()
    rig.controller.stop()
    watcher = Watcher(rig, 'hold')
    for event in events:
        if event[0] != 'resume':
            _play(rig, watcher, event)
            watcher.look(rig.tick())
    assert watcher.verdicts <= {Verdict.STOPPED}


@settings(max_examples=100, deadline=None)
@given(position=st.tuples(st.floats(-3, 3), st.floats(-2, 4)), control=_control,
       target=st.tuples(_small, st.floats(0, 2, width=32)))
def test_from_anywhere_outside_the_limits_it_comes_in_without_a_leap(
        new_rig, position, control, target):
    rig = new_rig(**control)
    rig.position = np.array(position)
    rig.chunk(target)
    last = rig.position
    for result in rig.ticks(60):
        if result.command is not None:
            step = result.command - last
            assert (np.abs(step) <= STEP + ROUNDING).all()
            assert (step[last > UPPER] <= 0).all() and (step[last < LOWER] >= 0).all()
            inside = (last >= LOWER) & (last <= UPPER)
            assert ((result.command >= LOWER) & (result.command <= UPPER))[inside].all()
            last = result.command


@pytest.mark.parametrize('transition', ['switch', 'blend'])
def test_a_model_that_jumps_about_is_smoothed_by_the_limits(new_rig, transition):
    rig = new_rig(transition=transition)
    watcher = Watcher(rig, 'hold')
    rng = np.random.default_rng(0)
    for _ in range(200):
        rig.chunk(rng.normal(0, 5, (20, 2)).astype(np.float32))
        watcher.look(rig.tick())
        watcher.look(rig.tick())
    assert watcher.verdicts == {Verdict.FRESH}
