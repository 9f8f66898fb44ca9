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
Actions belong to times, not to a queue.

Pinned: ticks passed during inference are skipped and never replayed; an action is never sent
after its time (TIM-01); nothing of before a reset comes after it (SCH-01).
"""

import numpy as np
import pytest

from oxygen_ros.config import ControlConfig
from oxygen_ros.policy import ChunkBuffer
from oxygen_ros.types import ActionChunk
from oxygen_ros.types import Cause

MS = 1_000_000


def _chunk(frame_id, stamp_ms, values, *, dt_s=0.05, epoch=0):
    actions = np.asarray(values, np.float32)
    if actions.ndim == 1:
        actions = actions[:, None]
    return ActionChunk(frame_id, stamp_ms * MS, actions, dt_s, epoch)


def _buffer(**control):
    return ChunkBuffer(1, ControlConfig(**control))


def _value(buffer, time_ms):
    due = buffer.at(time_ms * MS)
    return None if due is None else float(due[0][0])


def test_action_due_now_is_given_whatever_inference_took():
    buffer = _buffer(interpolation='hold')
    buffer.add(_chunk(1, 1000, [0, 1, 2, 3]))
    # It came 120 ms after its picture: actions 0 and 1 are past and are not made up for.
    assert [_value(buffer, time) for time in (1120, 1149, 1150, 1199)] == [2, 2, 3, 3]


def test_action_expires_with_the_end_of_its_chunk():
    buffer = _buffer()
    buffer.add(_chunk(1, 1000, [0, 1]))
    assert _value(buffer, 1099) == 1
    assert _value(buffer, 1100) is None
    assert buffer.missing() is Cause.CHUNK_EXHAUSTED


def test_linear_interpolation_goes_evenly_between_actions():
    buffer = _buffer()
    buffer.add(_chunk(1, 1000, [0, 1, 3]))
    assert _value(buffer, 1025) == pytest.approx(0.5)
    assert _value(buffer, 1060) == pytest.approx(1.4)
    assert _value(buffer, 1140) == pytest.approx(3)


def test_newer_chunk_replaces_the_rest_of_the_older():
    buffer = _buffer(interpolation='hold')
    buffer.add(_chunk(1, 1000, [0] * 10))
    assert _value(buffer, 1100) == 0
    buffer.add(_chunk(2, 1050, [5] * 10))
    action, chunk, is_newest = buffer.at(1100 * MS)
    assert (action[0], chunk.frame_id, is_newest) == (5, 2, True)


def test_older_chunk_carries_until_the_newer_is_due():
    buffer = _buffer(interpolation='hold')
    buffer.add(_chunk(1, 1000, [0] * 10))
    buffer.add(_chunk(2, 1200, [5] * 10))
    assert buffer.at(1150 * MS)[1:] == (buffer.at(1150 * MS)[1], False)
    assert _value(buffer, 1150) == 0
    assert _value(buffer, 1200) == 5


def test_camera_clock_ahead_of_the_node_does_not_starve_the_robot():
    """Every chunk arrives before it is due; each must still get its turn."""
    buffer = _buffer(interpolation='hold')
    values = []
    for frame in range(1, 40):
        now_ms = 20 * frame
        buffer.add(_chunk(frame, now_ms + 90, [frame] * 10))
        values.append(_value(buffer, now_ms))
    assert None not in values[5:]
    assert values[5:] == sorted(values[5:])


def test_chunk_of_an_older_frame_is_refused():
    buffer = _buffer(interpolation='hold')
    assert buffer.add(_chunk(2, 1050, [5] * 10))
    assert not buffer.add(_chunk(1, 1000, [0] * 10))
    assert not buffer.add(_chunk(2, 1050, [7] * 10))
    assert _value(buffer, 1100) == 5
    assert buffer.refused['out_of_order'] == 2


def test_far_future_stamp_does_not_shut_out_the_frames_that_follow():
    buffer = _buffer(interpolation='hold')
    buffer.add(_chunk(1, 1000, [1] * 10))
    buffer.add(_chunk(2, 90_000, [2] * 10))
    assert _value(buffer, 1100) == 1
    buffer.add(_chunk(3, 1100, [3] * 10))
    assert _value(buffer, 1150) == 3


@pytest.mark.parametrize('actions, cause', [
    ([[np.nan]] * 5, Cause.NOT_FINITE),
    ([[0.0]] * 4 + [[np.inf]], Cause.NOT_FINITE),
    ([[0.0, 0.0]] * 5, Cause.WRONG_SIZE),
    (np.zeros((0, 1)), Cause.WRONG_SIZE),
    (np.zeros((5, 1, 1)), Cause.WRONG_SIZE),
])
def test_unusable_chunk_is_refused_as_a_whole_and_named(actions, cause):
    buffer = _buffer(interpolation='hold')
    buffer.add(_chunk(1, 1000, [1] * 4))
    assert not buffer.add(ActionChunk(2, 1050 * MS, np.asarray(actions, np.float32), 0.05))
    action, chunk, is_newest = buffer.at(1100 * MS)
    assert (action[0], chunk.frame_id, is_newest) == (1, 1, False)
    assert _value(buffer, 1300) is None
    assert buffer.missing() is cause
    assert buffer.add(_chunk(3, 1290, [3] * 4))
    assert _value(buffer, 1300) == 3


@pytest.mark.parametrize('dt_s', [0.0, -0.05, float('nan'), float('inf')])
def test_chunk_without_a_usable_time_step_is_refused(dt_s):
    buffer = _buffer()
    assert not buffer.add(_chunk(1, 1000, [1] * 4, dt_s=dt_s))
    assert _value(buffer, 1000) is None


def test_sender_may_reuse_its_memory():
    buffer = _buffer(interpolation='hold')
    chunk = _chunk(1, 1000, [1] * 4)
    buffer.add(chunk)
    chunk.actions[:] = 99
    assert _value(buffer, 1000) == 1


def test_invalidation_voids_what_is_there_and_what_is_still_on_its_way():
    buffer = _buffer(interpolation='hold')
    buffer.add(_chunk(7, 1000, [1] * 10))
    buffer.invalidate(1)
    assert _value(buffer, 1050) is None
    assert buffer.missing() is Cause.STARTING
    assert not buffer.add(_chunk(8, 1050, [2] * 10, epoch=0))
    assert buffer.add(_chunk(9, 1100, [3] * 10, epoch=1))
    assert _value(buffer, 1100) == 3
    assert buffer.refused['void_epoch'] == 1


def test_void_from_the_tick_thread_drops_every_chunk_once():
    buffer = _buffer(interpolation='hold')
    buffer.add(_chunk(1, 1000, [1] * 10))
    buffer.void()
    assert _value(buffer, 1050) is None
    assert buffer.add(_chunk(2, 1050, [2] * 10))
    assert _value(buffer, 1050) == 2


def test_blend_fades_the_step_between_chunks():
    buffer = _buffer(transition='blend', blend_ticks=4)
    buffer.add(_chunk(1, 1000, [0] * 20))
    assert _value(buffer, 1100) == 0
    buffer.add(_chunk(2, 1100, [1] * 20))
    values = [_value(buffer, 1120 + 20 * tick) for tick in range(6)]
    assert values == pytest.approx([0.2, 0.4, 0.6, 0.8, 1, 1])


def test_blend_interrupted_by_a_third_chunk_stays_smooth():
    buffer = _buffer(transition='blend', blend_ticks=9)
    buffer.add(_chunk(1, 1000, [0] * 40))
    values = [_value(buffer, 1000)]
    for frame in range(2, 12):
        buffer.add(_chunk(frame, 1000 + 60 * frame, [frame % 2] * 40))
        values += [_value(buffer, 1000 + 60 * frame + 20 * tick) for tick in range(3)]
    assert np.abs(np.diff(values)).max() <= 0.2
    assert max(values) <= 1 and min(values) >= 0


def test_first_chunk_after_a_pause_is_not_blended_from_the_past():
    buffer = _buffer(transition='blend', blend_ticks=5)
    buffer.add(_chunk(1, 1000, [0] * 4))
    assert _value(buffer, 1100) == 0
    assert _value(buffer, 1500) is None
    buffer.add(_chunk(2, 1500, [1] * 10))
    assert _value(buffer, 1520) == 1
