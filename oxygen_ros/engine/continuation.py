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

"""Real-time chunking: what the next chunk has to go on from."""

import math

import numpy as np
import torch

from oxygen_ros.checkpoint.base import LoadedPolicy
from oxygen_ros.config import RobotProfile
from oxygen_ros.models.guidance import Guidance
from oxygen_ros.models.guidance import make_guidance
from oxygen_ros.types import ActionChunk
from oxygen_ros.types import Observation


class Continuation:
    """
    Keeps the newest chunk, for that is the plan the robot follows when the next one arrives.

    Not the plan in force when the observation was taken: where inference is slower than the
    cameras, one more chunk leaves between the two.
    """

    def __init__(self, policy: LoadedPolicy, robot: RobotProfile, *, device: str):
        self._policy = policy
        self._robot = robot
        self._device = device
        self._newest: ActionChunk | None = None

    def sent(self, chunk: ActionChunk) -> None:
        """Note a chunk that has left."""
        self._newest = chunk

    def forget(self) -> None:
        """Note that chunks so far are void."""
        self._newest = None

    def guidance(self, observation: Observation) -> Guidance | None:
        """Return what the chunk about an observation must go on from, None if it is free."""
        newest, rate_hz = self._newest, self._robot.action_rate_hz
        if not observation.follows or newest is None or newest.epoch != observation.epoch:
            return None
        horizon = self._policy.horizon
        rows = committed(newest, observation.stamp_ns, dt_s=1 / rate_hz, horizon=horizon)
        if not len(rows) or not np.isfinite(rows).all():
            return None
        # Between two rows the robot goes on a line, so that the row after the delay counts too.
        num_frozen = min(len(rows), math.floor(observation.delay_s * rate_hz) + 2)
        target = np.zeros((horizon, self._policy.action_dim), np.float32)
        known = np.zeros(target.shape, bool)
        target[:len(rows)], known[:len(rows)] = self._policy.model_actions(
            rows, observation, self._robot)
        return make_guidance(
            torch.from_numpy(target).to(self._device), torch.from_numpy(known).to(self._device),
            num_known=len(rows), num_frozen=num_frozen)


def committed(chunk: ActionChunk, stamp_ns: int, *, dt_s: float, horizon: int) -> np.ndarray:
    """Return the rest of a chunk at stamp_ns + i * dt_s, [0 to horizon rows, num_joints]."""
    start = (stamp_ns - chunk.stamp_ns) / (chunk.dt_s * 1e9)
    at = start + np.arange(horizon) * (dt_s / chunk.dt_s)
    last = len(chunk.actions) - 1
    at = at[at <= last + 1e-6]
    if not len(at) or start < 0:
        return np.zeros((0, chunk.actions.shape[1]))
    below = np.minimum(at.astype(int), last)
    above = np.minimum(below + 1, last)
    share = (at - below)[:, None]
    actions = chunk.actions.astype(np.float64)
    return actions[below] + share * (actions[above] - actions[below])
