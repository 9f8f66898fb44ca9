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

"""Pictures to rows of the backbone: SigLIP and a linear projector."""

import torch
from torch import nn

from oxygen_ros.models.architecture import VisionArchitecture
from oxygen_ros.models.linear import Linear
from oxygen_ros.models.siglip import Siglip


class VisionEncoder(nn.Module):
    """SigLIP and the projection to the backbone's width."""

    def __init__(self, size: VisionArchitecture, *, width: int):
        super().__init__()
        self.size = size
        self.tower = Siglip(size)
        self.projector = Linear(size.width, width, bias=True)

    def encode(self, images: torch.Tensor) -> torch.Tensor:
        """Return [n * num_tokens, width] for images float32 [n, 3, size, size] in [-1, 1]."""
        return self.projector(self.tower(images).flatten(0, 1))
