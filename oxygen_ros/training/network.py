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
The model as it learns: the weights and layers of models.Pi05, whole batches at a time.

A sample is one row of the batch: prefix, then texts that each see the prefix and themselves, and
several noisy versions of its chunk for the expert. Only attention differs from models: one masked
product over the batch in place of views of a KV pool. What only training needs, the read-outs, is
kept apart from the model and is not shipped.
"""

from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional

from oxygen_ros.models.architecture import Architecture
from oxygen_ros.models.architecture import ExpertArchitecture
from oxygen_ros.models.architecture import TextArchitecture
from oxygen_ros.models.architecture import VisionArchitecture
from oxygen_ros.models.layers import Modulation
from oxygen_ros.models.layers import Rotary
from oxygen_ros.models.pi05 import Pi05

NUM_COLORS = 3
READOUT_WIDTH, PLACER_WIDTH = 128, 64
EMBEDDING_STD = 0.02
_OCTAVES = 9                 # of the sines that number tokens start from


def table_top_architecture(vocab_size: int, *, horizon: int, action_dim: int) -> Architecture:
    """Return the sizes of the table-top model."""
    return Architecture(
        vision=VisionArchitecture(128, 3, 4, 384, image_size=96, patch_size=24),
        text=TextArchitecture(128, 4, 320, 4, 2, 32, vocab_size=vocab_size),
        expert=ExpertArchitecture(96, 4, 224, 4, 2, 32),
        action_dim=action_dim, horizon=horizon)


@dataclass(frozen=True)
class Batch:
    """What the model reads; B samples, padded at the end of each row."""

    images: torch.Tensor        # float32 [B, cameras, 3, size, size] in [-1, 1]
    prompts: torch.Tensor       # int64 [B, prompt tokens]
    prompt_sizes: torch.Tensor  # int64 [B], tokens that are no padding
    texts: tuple[torch.Tensor, ...]   # int64 [B, tokens] each: private prompt and text
    noisy: torch.Tensor         # float32 [B, draws, horizon, action_dim]
    times: torch.Tensor         # float32 [B, draws], 1 is all noise


@dataclass(frozen=True)
class Outputs:
    """What the model says."""

    velocity: torch.Tensor             # [B, draws, horizon, action_dim]
    logits: tuple[torch.Tensor, ...]   # [B, tokens, vocab] per text: of the token that follows
    chunk: torch.Tensor                # [B, horizon, action_dim] read out of the state tokens
    aim: torch.Tensor                  # [B, 2] likewise: where the cube of the task lies
    detected: torch.Tensor             # [B, cameras, patches, 9] as Student.detect
    pointed: torch.Tensor              # [B, cameras, patches]: score of holding the cube asked for
    placed: tuple[torch.Tensor, ...]   # [B, tokens, 2] per text: where the cube is it speaks of


class BatchAttention:
    """Attention of a batch as models.layers wants it: rows are flattened samples."""

    def __init__(self, batch_size: int, positions: torch.Tensor, mask: torch.Tensor, *,
                 context: 'BatchAttention | None' = None, num_context: int = 0):
        self.positions = positions.flatten()      # [B * rows]
        self._batch_size, self._mask = batch_size, mask     # [B, 1, rows, context + rows]
        self._context, self._num_context = context, num_context
        self._stored: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}

    def write(self, layer: int, keys: torch.Tensor, values: torch.Tensor) -> None:
        """Keep keys and values [rows, kv heads, head_dim] of a layer."""
        self._stored[layer] = (self._by_sample(keys), self._by_sample(values))

    def attend(self, layer: int, queries: torch.Tensor) -> torch.Tensor:
        """Return [rows, heads * head_dim] for queries [rows, heads, head_dim]."""
        keys, values = self._stored[layer]
        if self._context is not None:
            seen = slice(0, self._num_context)
            before = self._context._stored[layer]
            keys = torch.cat((before[0][:, :, seen], keys), dim=2)
            values = torch.cat((before[1][:, :, seen], values), dim=2)
        queries = self._by_sample(queries)
        fold = queries.shape[1] // keys.shape[1]
        out = functional.scaled_dot_product_attention(
            queries, keys.repeat_interleave(fold, dim=1), values.repeat_interleave(fold, dim=1),
            attn_mask=self._mask)
        return out.transpose(1, 2).flatten(0, 1).flatten(1)

    def _by_sample(self, rows: torch.Tensor) -> torch.Tensor:
        """Return [B, heads, rows, head_dim]."""
        return rows.unflatten(0, (self._batch_size, -1)).transpose(1, 2)


class Student(nn.Module):
    """A model with gradients, and the read-outs that make its state tokens learn to act."""

    def __init__(self, architecture: Architecture, *, num_state: int):
        super().__init__()
        self.model = Pi05(architecture)
        self.model.requires_grad_(True)
        self._num_read = num_state + 1       # the last tokens of a prompt: state and cue
        width, num_out = architecture.text.width, architecture.horizon * architecture.action_dim
        self.readout = nn.Sequential(nn.Linear(self._num_read * width, READOUT_WIDTH),
                                     nn.GELU(),
                                     nn.Linear(READOUT_WIDTH, num_out + 2))
        self.detector = nn.Linear(width, 3 * NUM_COLORS)
        self.pointer = nn.Linear(width, 1)
        self.placer = nn.Sequential(nn.Linear(width, PLACER_WIDTH), nn.GELU(),
                                    nn.Linear(PLACER_WIDTH, 2))

    def forward(self, batch: Batch) -> Outputs:
        """Return all outputs."""
        model, count = self.model, len(batch.images)
        pictures = model.vision.encode(batch.images.flatten(0, 1)).unflatten(0, (count, -1))
        words = model.backbone.embed(torch.cat((batch.prompts, *batch.texts), dim=1))
        rows = torch.cat((pictures, words), dim=1)
        num_pictures, num_prompt = pictures.shape[1], batch.prompts.shape[1]
        sizes = num_pictures + batch.prompt_sizes          # [B] rows of the prefix
        num_prefix = num_pictures + num_prompt
        attention = BatchAttention(count, *self._layout(batch, sizes, num_prefix))
        hidden, late, early = self._backbone(rows, attention)
        ends = sizes[:, None] - torch.arange(self._num_read, 0, -1)
        features = late.gather(1, ends[..., None].expand(-1, -1, late.shape[-1]))
        velocity = self._expert(batch, attention, sizes, num_prefix)
        logits, placed, start = [], [], num_prefix
        for text in batch.texts:
            own = slice(start, start + text.shape[1])
            logits.append(model.backbone.logits(hidden[:, own]))
            placed.append(self.placer(late[:, own]))
            start = own.stop
        read = self.readout(features.flatten(1))
        chunk = read[:, :-2].unflatten(1, batch.noisy.shape[2:])
        by_camera = (batch.images.shape[1], -1)
        detected = self.detector(pictures).unflatten(1, by_camera)
        pointed = self.pointer(early[:, :num_pictures])[..., 0].unflatten(1, by_camera)
        return Outputs(velocity, tuple(logits), chunk, read[:, -2:], detected, pointed,
                       tuple(placed))

    def detect(self, images: torch.Tensor) -> torch.Tensor:
        """Return [pictures, patches, 9]: per colour a score, then column and row in the patch."""
        rows = self.model.vision.encode(images)
        return self.detector(rows).unflatten(0, (len(images), -1))

    def _backbone(self, rows: torch.Tensor,
                  attention: BatchAttention) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return [B, rows, width]: the output, the last layer's input, the rows half way up."""
        backbone = self.model.backbone
        count, size = len(rows), backbone.size
        rotary = Rotary(attention.positions, size.head_dim, size.rope_theta)
        norms = [Modulation(weight) for weight in (1 + backbone.norms).unbind()]
        hidden = rows.flatten(0, 1)
        for index, layer in enumerate(backbone.layers):
            whole = hidden.unflatten(0, (count, -1))
            if index == len(backbone.layers) // 2:
                early = whole
            if index == len(backbone.layers) - 1:
                late = whole
            hidden = layer(hidden, index, attention, rotary,
                           (norms[2 * index], norms[2 * index + 1]))
        hidden = norms[-1].norm(hidden, size.rms_norm_eps)
        return hidden.unflatten(0, (count, -1)), late, early

    def _expert(self, batch: Batch, prefix: BatchAttention, sizes: torch.Tensor,
                num_prefix: int) -> torch.Tensor:
        expert = self.model.expert
        count, draws, horizon, _ = batch.noisy.shape
        num_rows = draws * horizon
        steps = torch.arange(horizon).repeat(draws)
        own = torch.arange(draws).repeat_interleave(horizon)
        mask = torch.zeros(count, 1, num_rows, num_prefix + num_rows, dtype=torch.bool)
        mask[..., :num_prefix] = (torch.arange(num_prefix) < sizes[:, None])[:, None, None]
        mask[..., num_prefix:] = own[:, None] == own
        attention = BatchAttention(count, sizes[:, None] + steps, mask, context=prefix,
                                   num_context=num_prefix)
        rotary = Rotary(attention.positions, expert.size.head_dim, expert.size.rope_theta)
        modulations = [Modulation(*(part.repeat_interleave(horizon, dim=0) for part in modulation))
                       for modulation in expert.modulations_at(batch.times.flatten())]
        hidden = expert.velocity(batch.noisy.flatten(0, 2), attention, rotary, modulations)
        return hidden.view_as(batch.noisy)

    @staticmethod
    def _layout(batch: Batch, sizes: torch.Tensor,
                num_prefix: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Return positions [B, rows] and mask [B, 1, rows, rows] of prefix and texts."""
        count, lengths = len(sizes), [text.shape[1] for text in batch.texts]
        total = num_prefix + sum(lengths)
        mask = torch.zeros(count, total, total, dtype=torch.bool)
        mask[:, :, :num_prefix] = (torch.arange(num_prefix) < sizes[:, None])[:, None]
        positions, start = [torch.arange(num_prefix).expand(count, -1)], num_prefix
        for length in lengths:
            rows = slice(start, start + length)
            mask[:, rows, rows] = torch.ones(length, length, dtype=torch.bool).tril()
            positions.append(sizes[:, None] + torch.arange(length))
            start = rows.stop
        return torch.cat(positions, dim=1), mask[:, None]


def initialise(student: Student, numbers: dict[int, int], *, seed: int) -> None:
    """
    Fill every weight from a seed; numbers maps the id of each number's token to the number.

    Number tokens start from sines of their value, so that near numbers look alike: otherwise
    learning that 117 lies between 116 and 118 takes most of the training.
    """
    generator = torch.Generator().manual_seed(seed)

    def normal(weight: torch.Tensor, std: float) -> None:
        weight.copy_(torch.randn(weight.shape, generator=generator) * std)

    with torch.no_grad():
        model = student.model
        for name, weight in (*model.named_parameters(), *student.detector.named_parameters()):
            if 'norm' in name.split('.')[-2:][0] or name.endswith('norms'):
                weight.fill_(1.0 if name.startswith('vision') and 'weight' in name else 0.0)
            elif weight.dim() == 1:
                weight.zero_()
            elif name.endswith(('position_embedding.weight', 'backbone.embedding')):
                normal(weight, EMBEDDING_STD)
            else:
                normal(weight, weight[0].numel() ** -0.5)
        for dense in model.expert.modulations:
            dense.weight.zero_()
            dense.bias.zero_()
            dense.bias[-model.architecture.expert.width:] = 1   # gates start open
        value = torch.tensor(list(numbers.values())) / max(numbers.values())    # within [-1, 1]
        angles = value[:, None] * torch.pi / 2 * 2.0 ** torch.arange(_OCTAVES)
        waves = torch.cat((angles.sin(), angles.cos(), value[:, None]), dim=1)
        mix = torch.randn(waves.shape[1], model.architecture.text.width, generator=generator)
        model.backbone.embedding[list(numbers)] = (
            waves @ mix * EMBEDDING_STD * (2 / waves.shape[1]) ** 0.5)
