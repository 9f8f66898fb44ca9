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

"""The action expert: noise to actions in a fixed number of Euler steps (flow matching)."""

import math

import torch
from torch import nn
from torch.nn import functional

from oxygen_ros.models.architecture import Architecture
from oxygen_ros.models.attention import ViewAttention
from oxygen_ros.models.guidance import Guidance
from oxygen_ros.models.layers import Attention
from oxygen_ros.models.layers import DecoderLayer
from oxygen_ros.models.layers import Modulation
from oxygen_ros.models.layers import Rotary
from oxygen_ros.models.linear import Linear
from oxygen_ros.models.pool import KVPool
from oxygen_ros.models.segment import Segment


class ActionExpert(nn.Module):
    """A decoder whose rows are the actions of one chunk; reads the prefix, never writes it."""

    def __init__(self, architecture: Architecture):
        super().__init__()
        self.architecture = architecture
        self.size = size = architecture.expert
        width = size.width
        self.action_in = Linear(architecture.action_dim, width, bias=True)
        self.action_out = Linear(width, architecture.action_dim, bias=True)
        self.time_in = Linear(width, width, bias=True)
        self.time_out = Linear(width, width, bias=True)
        self.layers = nn.ModuleList(DecoderLayer(size) for _ in range(size.depth))
        # One per norm: two per layer, then the final one.
        self.modulations = nn.ModuleList(
            Linear(width, 3 * width, bias=True) for _ in range(2 * size.depth + 1))
        self.dtype = torch.float32   # of the decoder; all around it stays float32
        self._tables: dict[int, list[list[Modulation]]] = {}

    def set_dtype(self, dtype: torch.dtype) -> None:
        """Run the decoder's matrix products in another precision."""
        self.layers.to(dtype)
        self.dtype = dtype
        self._tables.clear()

    def tabulate(self, num_steps: int) -> None:
        """
        Compute everything that depends on the step only: time embedding and modulation.

        Called once per number of steps after the weights are final; new weights need a new call.
        """
        times = 1 - torch.arange(num_steps, dtype=torch.float64,
                                 device=self.action_in.bias.device) / num_steps
        steps: list[list[Modulation]] = [[] for _ in range(num_steps)]
        for modulation in self.modulations_at(times.float()):
            for step, parts in enumerate(zip(*(part.unbind() for part in modulation))):
                steps[step].append(Modulation(*(part.contiguous() for part in parts)))
        self._tables[num_steps] = steps

    def modulations_at(self, times: torch.Tensor) -> list[Modulation]:
        """Return one modulation per norm, its tensors [times, width], for times [times]."""
        condition = functional.silu(self.time_in(self._embed_time(times)))
        condition = functional.silu(self.time_out(condition))
        parts = [dense(condition).contiguous().chunk(3, dim=-1) for dense in self.modulations]
        # Scale and shift work on float32, the gate on the rows.
        return [Modulation(1 + scale, shift, gate.to(self.dtype)) for scale, shift, gate in parts]

    def denoise(self, noise: torch.Tensor, prefix: tuple[int, int], scratch: int, position: int,
                pool: KVPool, num_steps: int,
                guidance: Guidance | None = None) -> torch.Tensor:
        """
        Return actions [horizon, action_dim] for noise of the same shape.

        prefix: pool rows [begin, end) to read. scratch: first of `horizon` pool rows to use;
        directly behind the prefix the two are read as one view. position: of the first action.
        """
        rows = noise.shape[0]
        segment = Segment(rows, scratch, start=position, context=(prefix,),
                          num_bidirectional=rows)
        return self.run(noise, ViewAttention((segment,), pool, num_heads=self.size.num_heads),
                        num_steps, guidance)

    def run(self, noise: torch.Tensor, attention: Attention, num_steps: int,
            guidance: Guidance | None = None) -> torch.Tensor:
        """Denoise with any attention back end; no host synchronisation inside."""
        if num_steps not in self._tables:
            self.tabulate(num_steps)
        rotary = Rotary(attention.positions, self.size.head_dim, self.size.rope_theta)
        actions = noise
        for step, modulations in enumerate(self._tables[num_steps]):
            velocity = self.velocity(actions, attention, rotary, modulations)
            if guidance is not None:
                velocity = guidance.correct(velocity, actions, time=1 - step / num_steps)
            actions = actions - velocity / num_steps
        return actions

    def velocity(self, actions: torch.Tensor, attention: Attention, rotary: Rotary,
                 modulations: list[Modulation]) -> torch.Tensor:
        """Return the velocity of actions [rows, action_dim] under one step's modulations."""
        hidden = self.action_in(actions.float()).to(self.dtype)
        for index, layer in enumerate(self.layers):
            hidden = layer(hidden, index, attention, rotary,
                           (modulations[2 * index], modulations[2 * index + 1]))
        hidden = modulations[-1].norm(hidden, self.size.rms_norm_eps)
        return self.action_out(hidden.float()).to(actions.dtype)

    def _embed_time(self, times: torch.Tensor) -> torch.Tensor:
        """Return the sine-cosine embedding [steps, width]; float64 inside, as the model has it."""
        low, high = self.architecture.min_period, self.architecture.max_period
        fraction = torch.linspace(0, 1, self.size.width // 2, dtype=torch.float64,
                                  device=times.device)
        angles = times.double()[:, None] * (2 * math.pi / (low * (high / low) ** fraction))
        return torch.cat((angles.sin(), angles.cos()), dim=-1).float()
