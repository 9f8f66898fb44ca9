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

"""Errors of actions against a recording whose truth is known."""

from types import SimpleNamespace

import numpy as np
import pytest

from oxygen_ros.config import Joint
from oxygen_ros.evaluation.errors import action_errors
from oxygen_ros.evaluation.errors import choose_reference
from oxygen_ros.evaluation.notes import Look
from oxygen_ros.evaluation.notes import Track
from oxygen_ros.types import ActionChunk

S = 10 ** 9
JOINTS = (Joint('arm', lower=-2, upper=2), Joint('free'))


def truth(at_s):
    """Return where both joints were at some time."""
    at_s = np.asarray(at_s)
    return np.stack([np.sin(4 * at_s), 0.3 * at_s], axis=-1)


def notes(*, lag_s=0.0, wrong=0.0, from_s=1.0, to_s=4.0, flip=1.0):
    """Return a replay whose actions are the truth, and a recording that lags behind it."""
    track, chunks, looks = Track(), [], {}
    for index in range(500):
        track.add(index * S // 100, truth(index / 100 - lag_s))
    for frame_id, start_s in enumerate(np.arange(from_s, to_s, 0.1), start=1):
        state = truth(start_s - lag_s)
        actions = state + flip * (truth(start_s + np.arange(5) * 0.05) - state)
        actions[:, 0] += wrong * np.arange(5)
        stamp_ns = round(start_s * S)
        chunks.append((stamp_ns, ActionChunk(frame_id, stamp_ns, actions.astype(np.float32),
                                             0.05)))
        looks[frame_id] = Look(stamp_ns, state.astype(np.float32))
    return SimpleNamespace(robot=SimpleNamespace(joints=JOINTS), chunks=chunks, looks=looks,
                           measured_track=track, command_track=Track())


def errors_of(kept, **options):
    return action_errors(kept, choose_reference(kept, 'auto'), **options)


def test_true_actions_have_no_error_and_the_right_direction():
    errors = errors_of(notes())
    assert errors.reference == 'joint_states' and errors.delay_s == 0
    assert errors.mae.max() < 1e-4 and errors.max.max() < 1e-3
    assert errors.direction[0] == 1
    assert errors.num_chunks == 30 and errors.num_pairs == 30 * 5 * 2


@pytest.mark.parametrize('lag_s', [0.0, 0.1, 0.25])
def test_the_lag_of_the_recorded_side_is_found_stated_and_compensated(lag_s):
    errors = errors_of(notes(lag_s=lag_s))
    assert errors.delay_estimated and not errors.delay_unknown
    assert errors.delay_s == pytest.approx(lag_s, abs=0.011)
    assert errors.mae[0] < 0.02
    assert errors.mae_without_delay[0] >= errors.mae[0] - 1e-12
    if lag_s:
        assert errors.mae_without_delay[0] > 5 * errors.mae[0]


def still_arm(actions_of):
    """Return a replay over a recording that hardly moves; actions_of(chunk index) -> [5]."""
    kept = notes()
    kept.measured_track.values = [np.full(2, 0.3) + 1e-3 * np.sin(index / 7 + np.arange(2))
                                  for index in range(500)]
    for look in kept.looks.values():
        look.state[:] = 0.3
    for index, (_, chunk) in enumerate(kept.chunks):
        chunk.actions[:] = np.asarray(actions_of(index))[:, None]
    return kept


@pytest.mark.parametrize('kept', [
    still_arm(lambda index: np.full(5, 0.3)),
    still_arm(lambda index: 0.3 + np.sin(7.0 * index) * np.arange(5) * 0.1),
    notes(lag_s=0.1, flip=-1.0), notes(wrong=1.5), notes(from_s=4.6, to_s=4.9)],
    ids=['nothing moves', 'moves where nothing does', 'other way', 'far off', 'too short'])
def test_no_delay_is_invented_where_the_actions_do_not_follow_the_recording(kept):
    errors = errors_of(kept)
    assert errors.delay_s == 0 and not errors.delay_estimated and errors.delay_unknown
    assert errors.mae == pytest.approx(errors.mae_without_delay)


def test_a_mediocre_model_still_tells_the_lag():
    kept, rng = notes(lag_s=0.2), np.random.default_rng(1)
    for _, chunk in kept.chunks:
        chunk.actions[:] += rng.normal(0, 0.08, chunk.actions.shape)
    assert errors_of(kept).delay_s == pytest.approx(0.2, abs=0.05)


def test_a_given_delay_is_used_as_it_is():
    errors = errors_of(notes(lag_s=0.2), delay_s=0.0)
    assert not errors.delay_estimated and errors.delay_s == 0
    assert errors.mae[0] == pytest.approx(errors.mae_without_delay[0])


def test_errors_grow_with_the_index_in_the_chunk_and_are_shares_of_the_range():
    errors = errors_of(notes(wrong=0.1), delay_s=0.0)
    assert errors.mae_by_index[:, 0] == pytest.approx([0, 0.1, 0.2, 0.3, 0.4], abs=1e-3)
    assert errors.max_by_index[:, 0] == pytest.approx([0, 0.1, 0.2, 0.3, 0.4], abs=2e-3)
    assert errors.share_of_range[0] == pytest.approx(errors.mae[0] / 4)
    assert np.isnan(errors.share_of_range[1])      # has no limits


def test_actions_that_go_the_other_way_disagree():
    assert errors_of(notes(flip=-1.0), delay_s=0.0).direction[0] == 0


def test_what_was_not_recorded_is_not_counted():
    errors = errors_of(notes(from_s=4.8, to_s=5.0), delay_s=0.0)
    assert np.isfinite(errors.mae_by_index[0, 0]) and errors.num_pairs < 2 * 5 * 2
    assert errors_of(notes(from_s=6.0, to_s=6.5), delay_s=0.0) is None


def test_a_gap_in_the_recording_is_not_bridged():
    kept = notes(from_s=2.0, to_s=3.0)
    keep = [index for index, time_ns in enumerate(kept.measured_track.times_ns)
            if not 2 * S < time_ns < 3 * S]
    kept.measured_track.times_ns = [kept.measured_track.times_ns[index] for index in keep]
    kept.measured_track.values = [kept.measured_track.values[index] for index in keep]
    errors = errors_of(kept, delay_s=0.0)
    assert errors.num_chunks < 4     # only those that reach beyond the gap


def test_recorded_commands_come_before_joint_states():
    kept = notes()
    for index in range(500):
        kept.command_track.add(index * S // 100, truth(index / 100))
    assert choose_reference(kept, 'auto').name == 'commands'
    assert choose_reference(kept, 'joint_states').name == 'joint_states'
    kept.command_track = Track()
    assert choose_reference(kept, 'commands') is None
