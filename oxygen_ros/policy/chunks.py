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

"""Chunk buffer: which action is due at a time, whatever inference took to produce it."""

from dataclasses import dataclass
from dataclasses import replace
import threading

import numpy as np
from numpy.typing import NDArray

from oxygen_ros.config import ControlConfig
from oxygen_ros.types import ActionChunk
from oxygen_ros.types import Cause

_MAX_WAITING = 64  # chunks kept that are stamped ahead of the node clock


@dataclass(frozen=True)
class _Plan:
    """What the tick thread reads: replaced as one reference, never changed in place."""

    epoch: int
    generation: int                  # of the tick thread's `void` when this was written
    heard_frame_id: int              # newest frame whose chunk came, refused ones included
    chunks: tuple[ActionChunk, ...] = ()  # newest first; the last is the one due when written
    refused: Cause = Cause.NONE      # why the newest chunk that came is not in the plan


class ChunkBuffer:
    """
    Time-indexed actions: actions[i] is due at stamp + i * dt and expires one dt later.

    Ticks that pass during inference are therefore skipped, never replayed, and a newer chunk
    replaces the rest of an older one. `at`, `void`, `leave` and `adopt` belong to the tick
    thread, which takes no lock; the others may be called from any thread and lock only each
    other out.
    """

    def __init__(self, num_joints: int, control: ControlConfig):
        self._num_joints = num_joints
        self._writers = threading.Lock()
        self._plan = _Plan(epoch=0, generation=0, heard_frame_id=0)
        self.refused = {'not_finite': 0, 'wrong_size': 0, 'void_epoch': 0, 'out_of_order': 0}
        # Owned by the tick thread:
        self._generation = 0
        self._time_ns = 0  # of the newest `at`
        self._using: ActionChunk | None = None
        self._offset = np.zeros(num_joints)  # from the new chunk to where the old one had led
        self.adopt(control)

    def adopt(self, control: ControlConfig) -> None:
        """Behave as configured from the next `at` on."""
        self._is_linear = control.interpolation == 'linear'
        self._blend_ticks = control.blend_ticks if control.transition == 'blend' else 0
        self._blend_left = 0

    def add(self, chunk: ActionChunk) -> bool:
        """
        Take a chunk over; False if it may never be used (counted in `refused`).

        Order is that of the frames: a stamp may be wrong, and one in the far future must not
        shut out every chunk that follows.
        """
        actions = np.array(chunk.actions, np.float32)  # own copy: the sender may reuse its memory
        trouble = self._trouble(actions, chunk.dt_s)
        with self._writers:
            plan = self._plan
            if chunk.epoch != plan.epoch:
                self.refused['void_epoch'] += 1
                return False
            if chunk.frame_id <= plan.heard_frame_id:
                self.refused['out_of_order'] += 1
                return False
            if trouble is not Cause.NONE:
                self.refused[trouble.value] += 1
                self._plan = replace(plan, heard_frame_id=chunk.frame_id, refused=trouble)
                return False
            actions.flags.writeable = False
            generation = self._generation
            older = self._still_needed(plan) if plan.generation == generation else ()
            self._plan = _Plan(plan.epoch, generation, chunk.frame_id,
                               (replace(chunk, actions=actions), *older))
        return True

    def invalidate(self, epoch: int) -> None:
        """Drop everything, and from now on take chunks of this epoch only."""
        with self._writers:
            self._plan = _Plan(max(epoch, self._plan.epoch), self._generation, 0)

    def clear(self) -> None:
        """Drop every chunk; the next one of the same epoch is taken."""
        with self._writers:
            plan = self._plan
            self._plan = _Plan(plan.epoch, self._generation, plan.heard_frame_id)

    def void(self) -> None:
        """Drop every chunk from the tick thread, without a lock."""
        self._generation += 1

    def leave(self) -> None:
        """Tell that the wire no longer follows the chunks: the next one is not blended."""
        self._using = None
        self._blend_left = 0

    def at(self, time_ns: int) -> tuple[NDArray[np.float64], ActionChunk, bool] | None:
        """Return (action due at time_ns, its chunk, whether that is the newest), None if none."""
        self._time_ns = time_ns
        plan = self._plan
        chunk = self._due_chunk(plan, time_ns)
        action = None if chunk is None else self._action(chunk, time_ns)
        if action is None:
            self.leave()
            return None
        if self._blend_ticks:
            action = self._blend(chunk, action, time_ns)
        self._using = chunk
        return action, chunk, chunk.frame_id == plan.heard_frame_id

    @staticmethod
    def step(chunk: ActionChunk, time_ns: int, duration_s: float) -> NDArray[np.float64]:
        """Return how far a chunk leads from time_ns on in duration_s; 0 on its last row."""
        index = int((time_ns - chunk.stamp_ns) // round(chunk.dt_s * 1e9))
        rows = chunk.actions[index:index + 2].astype(np.float64)
        return (rows[-1] - rows[0]) * (duration_s / chunk.dt_s)

    @property
    def followed_frame_id(self) -> int:
        """Return the frame of the chunk that the newest tick took its action from; 0: none."""
        using = self._using
        return 0 if using is None else using.frame_id

    def missing(self) -> Cause:
        """Name why `at` has nothing."""
        plan = self._plan
        if plan.refused is not Cause.NONE:
            return plan.refused
        if not plan.chunks or plan.generation != self._generation:
            return Cause.STARTING
        return Cause.CHUNK_EXHAUSTED

    def _trouble(self, actions: NDArray[np.float32], dt_s: float) -> Cause:
        if (actions.ndim != 2 or len(actions) == 0 or actions.shape[1] != self._num_joints
                or not 1e-6 <= dt_s <= 3600):
            return Cause.WRONG_SIZE
        return Cause.NONE if np.isfinite(actions).all() else Cause.NOT_FINITE

    def _still_needed(self, plan: _Plan) -> tuple[ActionChunk, ...]:
        """Return the chunk due now and those before it; more than one if a sensor clock leads."""
        needed = []
        for chunk in plan.chunks[:_MAX_WAITING]:
            needed.append(chunk)
            if self._time_ns >= chunk.stamp_ns:
                break
        return tuple(needed)

    def _due_chunk(self, plan: _Plan, time_ns: int) -> ActionChunk | None:
        if plan.generation == self._generation:
            for chunk in plan.chunks:
                if time_ns >= chunk.stamp_ns:
                    return chunk
        return None

    def _action(self, chunk: ActionChunk, time_ns: int) -> NDArray[np.float64] | None:
        dt_ns = round(chunk.dt_s * 1e9)
        index, rest_ns = divmod(time_ns - chunk.stamp_ns, dt_ns)
        if index >= len(chunk.actions):
            return None
        action = chunk.actions[index].astype(np.float64)
        if self._is_linear and index + 1 < len(chunk.actions):
            weight = rest_ns / dt_ns
            action += weight * (chunk.actions[index + 1] - action)
        return action

    def _blend(self, chunk: ActionChunk, action, time_ns: int) -> NDArray[np.float64]:
        """Let the step from the old chunk to the new one fade over blend_ticks."""
        if chunk is not self._using:
            before = None if self._using is None else self._action(self._using, time_ns)
            if before is None:
                self._blend_left = 0
            else:
                fading = self._offset * (self._blend_left / (self._blend_ticks + 1))
                self._offset = before + fading - action
                self._blend_left = self._blend_ticks + 1
        if self._blend_left:
            self._blend_left -= 1
        return action + self._offset * (self._blend_left / (self._blend_ticks + 1))
