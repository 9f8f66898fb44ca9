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

"""Actions against what was recorded: per joint, per index in the chunk, aligned in time."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from oxygen_ros.evaluation.notes import Notes
from oxygen_ros.evaluation.notes import Track

MAX_GAP_S = 0.5               # recorded samples further apart are not interpolated between
DELAYS_S = np.round(np.arange(0.0, 0.5001, 0.01), 3)    # tried when the delay is estimated
MAX_CHUNKS_FOR_DELAY = 400
CLEARLY = 0.9                 # an error below this share of another is clearly smaller
MOVED = 0.01                  # share of a joint's range that counts as a movement


@dataclass(frozen=True)
class ActionErrors:
    """
    How far the actions were from the recorded positions; robot units.

    Action i of a chunk is compared with what was recorded at its own time, stamp + i * dt, plus
    `delay_s`: how much the recorded side lags behind a command.
    """

    reference: str                     # 'commands' or 'joint_states'
    delay_s: float
    delay_estimated: bool
    delay_unknown: str                 # why it could not be estimated; delay_s is 0 then
    num_chunks: int                    # compared at least in part
    num_pairs: int                     # (action, recorded position) of all joints together
    mae: NDArray[np.float64]           # [num_joints]
    max: NDArray[np.float64]           # [num_joints]
    share_of_range: NDArray[np.float64]   # [num_joints], mae over upper - lower; nan: no limits
    direction: NDArray[np.float64]     # [num_joints], share of agreeing signs; nan: never moved
    mae_by_index: NDArray[np.float64]  # [horizon, num_joints], nan: nothing recorded then
    max_by_index: NDArray[np.float64]  # [horizon, num_joints]
    direction_by_index: NDArray[np.float64]   # [horizon], over the joints
    mae_without_delay: NDArray[np.float64]    # [num_joints], with delay_s = 0
    mae_standing_still: NDArray[np.float64]   # [num_joints], of staying at the observed state

    @property
    def moved(self) -> NDArray[np.bool_]:
        """Which joints went somewhere within the time of a chunk, [num_joints]."""
        return ~np.isnan(self.direction)

    @property
    def better_than_still(self) -> NDArray[np.bool_]:
        """Which of them the actions were nearer to than the observed state, [num_joints]."""
        return self.moved & (self.mae < self.mae_standing_still)


class Reference:
    """Recorded positions, to be asked for at any time."""

    def __init__(self, name: str, track: Track):
        self.name = name
        self.times_ns, self.values = track.arrays()
        self._origin_ns = int(self.times_ns[0])
        self._times_s = (self.times_ns - self._origin_ns) / 1e9

    def at(self, times_ns: NDArray[np.int64], *, delay_s: float = 0.0) -> NDArray[np.float64]:
        """Return the positions [..., num_joints] at some times [...]; nan where none is near."""
        times_s = (times_ns - self._origin_ns) / 1e9 + delay_s
        after = np.clip(np.searchsorted(self._times_s, times_s), 1, max(1, len(self._times_s) - 1))
        gap_s = self._times_s[np.minimum(after, len(self._times_s) - 1)] - self._times_s[after - 1]
        inside = ((times_s >= self._times_s[0]) & (times_s <= self._times_s[-1])
                  & (gap_s <= MAX_GAP_S))
        found = np.stack([np.interp(times_s, self._times_s, column) for column in self.values.T],
                         axis=-1)
        found[~inside] = np.nan
        return found


def choose_reference(notes: Notes, wanted: str) -> Reference | None:
    """Return what to compare with; 'auto': recorded commands, without them joint states."""
    tracks = {'commands': notes.command_track, 'joint_states': notes.measured_track}
    names = list(tracks) if wanted == 'auto' else [wanted]
    return next((Reference(name, tracks[name]) for name in names if len(tracks[name]) > 1), None)


def action_errors(notes: Notes, reference: Reference, *,
                  delay_s: float | None = None) -> ActionErrors | None:
    """
    Compare every chunk with the reference; None if no action falls into its time.

    delay_s None: the delay with the smallest error is taken, where it is clearly the best.
    """
    if not notes.chunks:
        return None
    chunks = [chunk for _, chunk in notes.chunks]
    actions = np.stack([chunk.actions for chunk in chunks]).astype(np.float64)    # [n, H, J]
    steps_ns = np.round(np.arange(actions.shape[1]) * chunks[0].dt_s * 1e9).astype(np.int64)
    times_ns = np.array([chunk.stamp_ns for chunk in chunks], np.int64)[:, None] + steps_ns
    states = np.stack([notes.looks[chunk.frame_id].state for chunk in chunks])[:, None, :]
    ranges = joint_ranges(notes)
    estimated, unknown = delay_s is None, ''
    if delay_s is None:
        delay_s, unknown = _best_delay(actions, states, times_ns, reference, ranges)
        estimated = not unknown
    truth = reference.at(times_ns, delay_s=delay_s)                               # [n, H, J]
    if np.isnan(truth).all():
        return None
    errors = np.abs(actions - truth)
    agree = _agreement(actions - states, truth - states, ranges)
    return ActionErrors(
        reference.name, float(delay_s), estimated, unknown,
        int((~np.isnan(truth).all(axis=(1, 2))).sum()), int((~np.isnan(truth)).sum()),
        _mean(errors, (0, 1)), _max(errors, (0, 1)), _mean(errors, (0, 1)) / ranges,
        _mean(agree, (0, 1)), _mean(errors, 0), _max(errors, 0), _mean(agree, (0, 2)),
        _mean(np.abs(actions - reference.at(times_ns)), (0, 1)),
        _mean(np.abs(states - truth), (0, 1)))


def joint_ranges(notes: Notes) -> NDArray[np.float64]:
    """Return upper - lower of every joint, nan without limits."""
    return np.array([np.nan if joint.upper is None or joint.lower is None
                     else joint.upper - joint.lower for joint in notes.robot.joints])


def _best_delay(actions: NDArray, states: NDArray, times_ns: NDArray, reference: Reference,
                ranges: NDArray) -> tuple[float, str]:
    """
    Return the delay with the smallest mean error and '', or 0 and why it cannot be told.

    Only where the actions follow the recording does their distance say when it happened; any
    others fit best somewhere too. Every delay is tried on the same pairs.
    """
    every = max(1, -(-len(actions) // MAX_CHUNKS_FOR_DELAY))
    actions, states, times_ns = actions[::every], states[::every], times_ns[::every]
    scale = np.where(np.isnan(ranges), 1.0, ranges)
    inside = np.all([~np.isnan(reference.at(times_ns, delay_s=delay)) for delay in DELAYS_S],
                    axis=0)
    if not inside.any():
        return 0.0, f'the recording is too short to try up to {DELAYS_S[-1]:g} s'
    errors, still = (
        np.array([np.mean((np.abs(positions - reference.at(times_ns, delay_s=delay))
                           / scale)[inside]) for delay in DELAYS_S])
        for positions in (actions, states))
    best = int(errors.argmin())
    if errors[best] >= CLEARLY * errors.max():
        return 0.0, 'every delay fits about as well'
    if errors[best] >= CLEARLY * still.min():
        return 0.0, 'at no delay are the actions clearly better than standing still'
    if best and errors[best] >= CLEARLY * errors[0]:
        return 0.0, 'no delay fits clearly better than none'
    if best and errors[best] >= CLEARLY * errors[-1]:
        return 0.0, f'the best lies too near the longest that is tried, {DELAYS_S[-1]:g} s'
    return float(DELAYS_S[best]), ''


def _agreement(wanted: NDArray, recorded: NDArray, ranges: NDArray) -> NDArray[np.float64]:
    """Return 1 where both go the same way from the observed state, 0 where not, nan: no way."""
    with np.errstate(invalid='ignore'):
        moved = np.abs(recorded) > MOVED * np.where(np.isnan(ranges), 1.0, ranges)
        return np.where(moved, (np.sign(wanted) == np.sign(recorded)).astype(np.float64), np.nan)


def _mean(values: NDArray, axis: int | Sequence[int]) -> NDArray[np.float64]:
    """Return the mean without nan; nan where nothing is left."""
    count = (~np.isnan(values)).sum(axis=axis)
    with np.errstate(invalid='ignore', divide='ignore'):
        return np.nansum(values, axis=axis) / count


def _max(values: NDArray, axis: int | Sequence[int]) -> NDArray[np.float64]:
    highest = np.nanmax(np.where(np.isnan(values), -np.inf, values), axis=axis)
    return np.where(np.isinf(highest), np.nan, highest)
