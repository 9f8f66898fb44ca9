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

"""The whole model: vision encoder, backbone, action expert."""

import torch
from torch import nn

from oxygen_ros.models.architecture import Architecture
from oxygen_ros.models.backbone import Backbone
from oxygen_ros.models.expert import ActionExpert
from oxygen_ros.models.linear import pack_all
from oxygen_ros.models.segment import Segment
from oxygen_ros.models.vision import VisionEncoder

OUTPUTS = ('out.weight', 'down.weight')   # what a layer adds to the residual stream


class Pi05(nn.Module):
    """A pi0.5-style vision-language-action model of any size; for inference only."""

    def __init__(self, architecture: Architecture):
        super().__init__()
        self.architecture = architecture
        self.vision = VisionEncoder(architecture.vision, width=architecture.text.width)
        self.backbone = Backbone(architecture.text)
        self.expert = ActionExpert(architecture)
        self.requires_grad_(False)
        self.eval()

    @classmethod
    def empty(cls, architecture: Architecture, *, dtype: torch.dtype = torch.float32,
              device: torch.device | str = 'cpu') -> 'Pi05':
        """Return a model without weights, never larger in memory than it will be with them."""
        with torch.device('meta'):
            model = cls(architecture)
        model.set_dtype(dtype)
        if torch.device(device).type != 'meta':
            model.to_empty(device=device)
            model.vision.restore_buffers()
        return model

    def set_dtype(self, dtype: torch.dtype) -> None:
        """
        Run the large matrix products in another precision.

        Norms, what depends on the denoising time, and the way in and out of the action expert
        stay float32, as in openpi: they are small and the actions feel them most.
        """
        self.vision.to(dtype)
        self.backbone.layers.to(dtype)
        self.backbone.embedding.data = self.backbone.embedding.data.to(dtype)
        self.expert.set_dtype(dtype)

    def prefix_segment(self, num_rows: int, *, num_image_rows: int, write: int) -> Segment:
        """Return the segment of a whole prefix under this model's mask mode."""
        bidirectional = self.architecture.prefix_mode == 'bidirectional'
        return Segment(num_rows, write,
                       num_bidirectional=num_rows if bidirectional else num_image_rows)

    def embed_prefix(self, images: torch.Tensor, token_ids: list[int]) -> torch.Tensor:
        """Return the prefix rows [image rows + tokens, width]."""
        text = self.backbone.embed(token_ids)
        if not images.shape[0]:
            return text
        return torch.cat((self.vision.encode(images).to(text.dtype), text))

    def optimize(self, *, num_steps: int, weights: str = 'float32') -> None:
        """Lay out and tabulate for speed, once the weights are final and on their device."""
        self.expert.tabulate(num_steps)
        if weights == 'int8':
            # Backbone only: 8-bit pictures would double the error of the actions, and that of
            # the expert enters every step (doc/explanation/precision.md).
            self.backbone.quantise()
        pack_all(self)
        self.backbone.pack_head()

    def random_weights(self, seed: int) -> None:
        """
        Fill every weight from a seed so that outputs depend visibly on all inputs.

        Modulation starts at zero in training, which makes the expert ignore the prefix; here
        it is random too. Queries and keys are scaled up: a flat attention over hundreds of
        rows would average every picture to the same value.
        """
        generator = torch.Generator().manual_seed(seed)
        for name, weight in self.named_parameters():
            value = torch.randn(weight.shape, generator=generator)
            fan_in = weight[0].numel() if weight.dim() > 1 else 1
            if name.endswith('norms') or 'norm' in name.split('.')[-2]:
                value = value * 0.1 + (1 if name.startswith('vision') and 'weight' in name else 0)
            elif weight.dim() == 1:
                value = value * 0.1
            elif 'q_proj' in name or 'k_proj' in name or 'qkv' in name:
                value = value * 2 * fan_in ** -0.5
            else:
                # The head is tied to the embedding: layers must outweigh the residual stream,
                # or every token predicts itself.
                gain = 6 if name.startswith('backbone') and name.endswith(OUTPUTS) else 1
                value = value * gain * fan_in ** -0.5
            weight.copy_(value)
        for dense in self.expert.modulations:
            # Gates around one keep every layer in play.
            dense.bias[-self.architecture.expert.width:] += 1
