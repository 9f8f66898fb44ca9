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
Real-time chunking: at the boundary between chunks the wire steps no more than inside them.

Two flow-matching models: the tiny builtin one behind the engine, and one in closed form whose
chunks are smooth and differ at random, on a recorded motion where the recordings are there.
Played tick by tick through the chunk buffer, without limits that would hide a jump.
"""

from functools import partial
from pathlib import Path

from engine_bench import Bench
from engine_bench import request
import numpy as np
import pytest
import torch

from oxygen_ros.config import ControlConfig
from oxygen_ros.engine.continuation import committed
from oxygen_ros.models.guidance import make_guidance
from oxygen_ros.policy import ChunkBuffer
from oxygen_ros.types import ActionChunk
from oxygen_ros.types import Observation

TICK_NS = 20_000_000
REPLAN_TICKS = 10
RECORDINGS = Path(__file__).parents[3] / 'shared' / 'data' / 'bridge_v2_sample' / 'episodes.npz'
NUM_STEPS = 10


def play(infer, num_joints, *, transition, delays, num_ticks=400):
    """
    Return (largest step at chunk boundaries, largest step inside chunks) of the wire.

    infer(frame_id, stamp_ns, follows, delay_s, wire) -> ActionChunk; it arrives delays[n] ticks
    after its observation. The delay told is the longest one seen, as the session tells it.
    """
    buffer = ChunkBuffer(num_joints, ControlConfig(transition=transition))
    waiting, seen_s, wire = [], 0.0, []
    for tick in range(num_ticks):
        now_ns = (tick + 1) * TICK_NS
        for due_tick, chunk in [item for item in waiting if item[0] <= tick]:
            buffer.add(chunk)
            seen_s = max(seen_s, (now_ns - chunk.stamp_ns) / 1e9)
            waiting.remove((due_tick, chunk))
        due = buffer.at(now_ns)
        if due is not None:
            wire.append((due[1].frame_id, due[0]))
        if tick % REPLAN_TICKS == 0:
            count = tick // REPLAN_TICKS
            is_rtc = transition == 'rtc' and seen_s > 0
            chunk = infer(count + 1, now_ns, buffer.followed_frame_id if is_rtc else 0,
                          seen_s + TICK_NS / 1e9, wire[-1][1] if wire else None)
            waiting.append((tick + delays[count % len(delays)], chunk))
    frames = np.array([frame_id for frame_id, _ in wire])
    steps = np.abs(np.diff([action for _, action in wire], axis=0)).max(axis=1)
    at_boundary = np.diff(frames) != 0
    at_boundary[:np.searchsorted(frames, 3)] = False    # before a delay was ever measured
    inside = np.diff(frames) == 0
    assert at_boundary.sum() >= num_ticks // REPLAN_TICKS - 5
    return steps[at_boundary].max(), steps[inside].max()


@pytest.fixture(scope='module')
def tiny():
    """Return an engine whose chunks are smooth in time and differ from frame to frame."""
    bench = Bench()

    def infer(frame_id, stamp_ns, follows, delay_s, wire, *, epoch=0):
        # The same in every row: random weights would carry noise between rows to the wire.
        noise = torch.randn(1, bench.engine.policy.action_dim,
                            generator=torch.Generator().manual_seed(frame_id)
                            ).expand(bench.engine.policy.horizon, -1)
        bench.engine._noise = lambda _: noise
        scene = bench.scene(frame_id)
        state = np.zeros(len(bench.robot.joints)) if wire is None else wire
        bench.engine.step(Observation(frame_id, stamp_ns, scene.images, np.float32(state),
                                      scene.instruction, epoch, follows, delay_s))
        return [event for event in bench.events if isinstance(event, ActionChunk)][-1]

    return bench, infer


@pytest.mark.parametrize('delays', [(1,), (3,), (6,), (1, 6, 3, 2, 5, 4)])
def test_the_tiny_model_goes_on_where_switch_jumps(tiny, delays):
    bench, infer = tiny
    bench.engine.reset(0)
    boundary, inside = play(infer, len(bench.robot.joints), transition='rtc', delays=delays,
                            num_ticks=160)
    assert boundary <= inside
    bench.engine.reset(0)
    jump, inside = play(infer, len(bench.robot.joints), transition='switch', delays=delays,
                        num_ticks=160)
    assert jump > 1.5 * inside
    assert boundary < 0.5 * jump


class SmoothFlow:
    """
    The exact flow to smooth chunks around a motion (a Gaussian process), 20 rows of 50 ms.

    Every chunk is as likely as the next: two in a row disagree, as those of a policy do that
    could pass an obstacle on either side.
    """

    def __init__(self, motion):
        self.motion = motion                      # seconds -> [num_joints]
        rows = np.arange(20)
        kernel = 0.1 ** 2 * np.exp(-0.5 * ((rows[:, None] - rows) / 6.0) ** 2)
        self.kernel = torch.from_numpy(kernel + 1e-8 * np.eye(20))

    def chunk(self, frame_id, stamp_ns, follows, delay_s, wire, *, memory):
        """Draw a chunk, guided by the newest one if the robot follows one."""
        mean = torch.from_numpy(np.stack(
            [self.motion(stamp_ns / 1e9 + 0.05 * row) for row in range(20)]))
        guidance = None
        if follows:
            rows = torch.from_numpy(
                committed(memory['newest'], stamp_ns, dt_s=0.05, horizon=20))
            target, known = torch.zeros_like(mean), torch.zeros(mean.shape, dtype=torch.bool)
            target[:len(rows)], known[:len(rows)] = rows, True
            guidance = make_guidance(target, known, num_known=len(rows),
                                     num_frozen=min(len(rows), int(delay_s * 20) + 2))
        noise = torch.Generator().manual_seed(frame_id)
        actions = torch.randn(mean.shape, generator=noise, dtype=torch.float64)
        for step in range(NUM_STEPS):
            time = 1 - step / NUM_STEPS
            spread = (1 - time) ** 2 * self.kernel + time ** 2 * torch.eye(20)
            end = mean + (1 - time) * self.kernel @ torch.linalg.solve(
                spread, actions - (1 - time) * mean)
            velocity = (actions - end) / time
            if guidance is not None:
                velocity = guidance.correct(velocity, actions, time=time)
            actions = actions - velocity / NUM_STEPS
        memory['newest'] = ActionChunk(frame_id, stamp_ns, actions.numpy().astype(np.float32),
                                       0.05)
        return memory['newest']


def circle(seconds):
    """Return a made-up motion of two joints."""
    return np.array([0.5 * np.sin(seconds), 0.5 * np.cos(seconds)])


def recorded():
    """Return a recorded motion of a real arm, clip after clip without the cuts."""
    if not RECORDINGS.exists():
        pytest.skip(f'the recordings are not in {RECORDINGS.parent}')
    with np.load(RECORDINGS) as data:
        moves = [np.diff(data[key][:, :3], axis=0) for key in sorted(data.files)
                 if key.endswith('/state')]
    path = np.cumsum(np.concatenate(moves), axis=0).astype(np.float64)
    times = np.arange(len(path)) / 5.0
    return lambda seconds: np.array([np.interp(seconds, times, axis) for axis in path.T])


@pytest.mark.parametrize('motion', ['made up', 'recorded'])
@pytest.mark.parametrize('delays', [(1,), (2,), (3,), (4,), (5,), (6,), (1, 6, 3, 2, 5, 4)])
def test_a_model_of_smooth_motion_goes_on_where_switch_jumps(motion, delays):
    motion = circle if motion == 'made up' else recorded()
    num_joints = len(motion(0.0))
    results = {transition: play(partial(SmoothFlow(motion).chunk, memory={}), num_joints,
                                transition=transition, delays=delays)
               for transition in ('rtc', 'switch')}
    boundary, inside = results['rtc']
    jump, inside_switch = results['switch']
    assert boundary <= inside
    assert jump > 2 * inside_switch
    assert inside < 0.5 * jump      # the jump is gone, not moved into the chunk


def test_frozen_rows_come_out_as_committed_and_far_ones_are_free(tiny):
    bench, infer = tiny
    bench.engine.reset(0)
    first = infer(1, 10 ** 9, 0, 0.0, None)
    free = infer(2, 1_100_000_000, 0, 0.0, first.actions[2])
    bench.engine.reset(0)
    first = infer(1, 10 ** 9, 0, 0.0, None)
    guided = infer(2, 1_100_000_000, 1, 0.12, first.actions[2])
    # 100 ms later is two rows on; 120 ms are 2.4 rows, so rows 0 to 3 are what the robot does.
    np.testing.assert_allclose(guided.actions[:4], first.actions[2:6], atol=1e-5)
    away = np.abs(guided.actions - free.actions).max(axis=1)
    assert away[-2:].max() < away[:4].max()


@pytest.mark.parametrize('change', ['not followed', 'another epoch', 'plan run out', 'reset'])
def test_without_a_plan_in_force_the_actions_are_those_without_rtc(tiny, change):
    bench, infer = tiny
    bench.engine.reset(0)
    infer(1, 10 ** 9, 0, 0.0, None)
    plain = infer(2, 5 * 10 ** 9, 0, 0.0, None)
    bench.engine.reset(0)
    infer(1, 10 ** 9, 0, 0.0, None)
    if change == 'reset':
        bench.engine.reset(0)
    stamp_ns = 5 * 10 ** 9 if change == 'plan run out' else 1_050_000_000
    follows = 0 if change == 'not followed' else 1
    again = infer(2, stamp_ns, follows, 0.1, None, epoch=int(change == 'another epoch'))
    np.testing.assert_array_equal(again.actions, plain.actions)


def test_text_changes_no_bit_of_a_guided_chunk(tiny):
    bench, infer = tiny
    chunks = []
    for texts in ((), (request('a'), request('b', 'What is there?'))):
        bench.engine.reset(0)
        infer(1, 10 ** 9, 0, 0.0, None)
        for text in texts:
            bench.engine.submit(text)
        chunks.append(infer(2, 1_100_000_000, 1, 0.12, None))
    np.testing.assert_array_equal(chunks[0].actions, chunks[1].actions)


def test_robot_units_and_model_units_convert_back_and_forth(tiny):
    bench, _ = tiny
    policy, scene = bench.engine.policy, bench.scene(3)
    model = np.random.default_rng(0).normal(size=(4, policy.action_dim)).astype(np.float32)
    targets = policy.robot_actions(model, scene, bench.robot)
    back, known = policy.model_actions(targets, scene, bench.robot)
    num_joints = len(bench.robot.joints)
    np.testing.assert_allclose(back[:, :num_joints], model[:, :num_joints], atol=1e-5)
    assert known[:, :num_joints].all() and not known[:, num_joints:].any()
