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


class VisionEncoder(nn.Module):
    """SigLIP from transformers (5.6 or newer) and the projection to the backbone's width."""

    def __init__(self, size: VisionArchitecture, *, width: int):
        super().__init__()
        # Imported here: transformers takes seconds, and only a process with a model needs it.
        from transformers import SiglipVisionConfig
        from transformers import SiglipVisionModel

        self.size = size
        self.tower = SiglipVisionModel(SiglipVisionConfig(
            hidden_size=size.width, num_hidden_layers=size.depth,
            num_attention_heads=size.num_heads, intermediate_size=size.mlp_dim,
            image_size=size.image_size, patch_size=size.patch_size,
            layer_norm_eps=size.layer_norm_eps, hidden_act='gelu_pytorch_tanh',
            vision_use_head=False, attn_implementation='sdpa'))
        self.projector = Linear(size.width, width, bias=True)

    def encode(self, images: torch.Tensor) -> torch.Tensor:
        """Return [n * num_tokens, width] for images float32 [n, 3, size, size] in [-1, 1]."""
        rows = self.tower(pixel_values=images).last_hidden_state
        return self.projector(rows.flatten(0, 1))

    def restore_buffers(self) -> None:
        """Set what is no weight, after the module was made without memory."""
        for name, buffer in self.tower.named_buffers():
            if not name.endswith('position_ids'):
                raise NotImplementedError(f'buffer {name} of this transformers is not known')
            buffer.copy_(torch.arange(buffer.shape[-1], device=buffer.device).expand_as(buffer))
