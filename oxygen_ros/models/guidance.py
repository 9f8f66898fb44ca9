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
Guidance of the denoising loop: a new chunk that goes on from actions already committed.

Real-time chunking (Black, Galliker, Levine 2025, arXiv 2506.07339), which works with any
flow-matching model as it is. At every Euler step the chunk that the velocity points to is pulled
towards the committed actions. The pull is applied to the rows it is about and not carried back
through the network (the paper's vector-Jacobian product taken as the identity, as LeRobot does):
no gradient is computed and a guided chunk costs as much as any other. Rows with an old value
still reach their neighbours, because each step shows them to the model.
"""

from dataclasses import dataclass
import math

import torch

MAX_GAIN = 5.0    # beta of the paper: a stronger pull in the first steps only adds noise


@dataclass(frozen=True)
class Guidance:
    """What a new chunk has to go on from, in model space; all on the device of the expert."""

    target: torch.Tensor    # [horizon, action_dim] committed actions, any value where weight is 0
    weight: torch.Tensor    # [horizon, action_dim] 0 (free) to 1
    frozen: torch.Tensor    # bool [horizon, action_dim]: come out as in target

    def correct(self, velocity: torch.Tensor, actions: torch.Tensor, *,
                time: float) -> torch.Tensor:
        """
        Return the velocity to take instead, at `time` from 1 (noise) to 0 (actions).

        A frozen value goes straight from its noise to its target, which is what the model has
        been trained to see on the way.
        """
        error = actions - time * velocity - self.target
        gain = (self.weight * _gain(time)).masked_fill(self.frozen, 1 / time)
        return velocity + gain * error


def make_guidance(target: torch.Tensor, known: torch.Tensor, *, num_known: int,
                  num_frozen: int) -> Guidance:
    """
    Freeze the first num_frozen rows, which the robot does before the new chunk can arrive.

    known: bool [horizon, action_dim], where target has a value; its rows from num_known on have
    none. Between frozen and unknown rows the weight falls off, so that the model may change its
    mind about what is further away.
    """
    rows = torch.arange(len(target), dtype=target.dtype, device=target.device)
    share = ((num_known - rows) / (num_known - num_frozen + 1)).clamp(0, 1)
    weight = share * torch.expm1(share) / (math.e - 1)
    return Guidance(target, weight[:, None] * known, (rows < num_frozen)[:, None] & known)


def _gain(time: float) -> float:
    """Return the paper's step weight; its time runs the other way."""
    if time >= 1:
        return MAX_GAIN
    return min(MAX_GAIN, ((1 - time) ** 2 + time ** 2) / (time * (1 - time)))
