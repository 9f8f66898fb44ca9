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

"""What training minimises: flow matching, next tokens, and read-outs that speed both up."""

from dataclasses import dataclass

import torch
from torch.nn import functional

from oxygen_ros.training.dataset import Dataset
from oxygen_ros.training.dataset import IGNORED
from oxygen_ros.training.dataset import TEXTS
from oxygen_ros.training.network import Batch
from oxygen_ros.training.network import NUM_COLORS
from oxygen_ros.training.network import Outputs

DETECTION_WEIGHT, POINTING_WEIGHT = 0.2, 0.3
# Denoising times: mostly noisy ones, as pi0 has it.
TIME_ALPHA, MAX_TIME, MIN_TIME = 1.5, 0.999, 0.001
# Texts that name no cube but the one that is asked for, so that colours can be exchanged.
EXCHANGEABLE = frozenset({'subtask'})
# Texts that speak of one cube after another, and of their places.
PLACING = frozenset({'narrate', 'memory'})
# A place said that is a step or two off is nearly right: the weights of the right one, then those.
NEAR_WEIGHTS = (0.4, 0.24, 0.06)
# Brightness and contrast of pictures vary by these.
GAIN, SHIFT = 0.12, 0.06


@dataclass(frozen=True)
class Sample:
    """A batch and the noise in it."""

    batch: Batch
    tasks: tuple[str, ...]      # of batch.texts
    targets: tuple[torch.Tensor, ...]   # of batch.texts, as in the dataset
    wanted: torch.Tensor        # [B, draws, horizon, action size]: the velocity
    pixels: torch.Tensor        # [B, cameras, colours, 2] as in the dataset
    shown: torch.Tensor         # [B, cameras, colours] likewise
    colors: torch.Tensor        # [B]: the colour that is asked for


@dataclass(frozen=True)
class Emphasis:
    """What a stage dwells on: weights beside the flow's 1, and whether near places count."""

    text: float
    placing: float
    near_places: bool


@dataclass(frozen=True)
class Losses:
    """Means over a batch."""

    flow: torch.Tensor
    text: torch.Tensor          # 0 without texts
    readout: torch.Tensor
    detection: torch.Tensor
    pointing: torch.Tensor      # where the cube is that is asked for
    placing: torch.Tensor       # where the cubes are that texts speak of; 0 without texts

    def total(self, emphasis: Emphasis) -> torch.Tensor:
        """Return what is minimised."""
        return (self.flow + emphasis.text * self.text + self.readout
                + DETECTION_WEIGHT * self.detection + POINTING_WEIGHT * self.pointing
                + emphasis.placing * self.placing)


def draw_sample(data: Dataset, rows: torch.Tensor, generator: torch.Generator, *,
                tasks: tuple[str, ...] = TEXTS, num_draws: int = 2,
                augment: bool = True) -> Sample:
    """Return the frames `rows` with noise drawn from the generator."""
    chunks = data.chunks[rows][:, None].expand(-1, num_draws, -1, -1)
    noise = torch.randn(chunks.shape, generator=generator)
    times = _times((len(rows), num_draws), generator)
    share = times[..., None, None]
    sizes = data.prompt_sizes[rows]
    images = pictures(data, rows, generator if augment else None)
    prompts = data.prompts[rows][:, :int(sizes.max())]
    pixels, shown, colors = data.pixels[rows], data.shown[rows], data.colors[rows]
    texts, targets = zip(*(_trimmed(data.texts[task][rows], data.targets[task][rows])
                           for task in tasks)) if tasks else ((), ())
    if augment and set(tasks) <= EXCHANGEABLE:
        # The same scene with the colours exchanged, in picture and words: six times the scenes.
        order = torch.randperm(NUM_COLORS, generator=generator)     # new colour <- old colour
        images, pixels, shown = images[:, :, order], pixels[:, :, order], shown[:, :, order]
        renamed = order.argsort()
        colors = renamed[colors]
        prompts, *words = (
            torch.where(torch.isin(ids, data.color_ids), data.color_ids[colors][:, None], ids)
            for ids in (prompts, *texts, *targets))
        texts, targets = tuple(words[:len(texts)]), tuple(words[len(texts):])
    batch = Batch(images=images, prompts=prompts, prompt_sizes=sizes, texts=texts,
                  noisy=share * noise + (1 - share) * chunks, times=times)
    return Sample(batch, tasks, targets, noise - chunks, pixels, shown, colors)


def _trimmed(ids: torch.Tensor, targets: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return both without the padding that all rows share."""
    length = int((targets != IGNORED).any(dim=0).nonzero().max()) + 1
    return ids[:, :length], targets[:, :length]


def pictures(data: Dataset, rows: torch.Tensor,
             generator: torch.Generator | None) -> torch.Tensor:
    """Return float32 [B, cameras, 3, size, size] in [-1, 1], varied if there is a generator."""
    images = data.images[rows].permute(0, 1, 4, 2, 3).float() / 127.5 - 1
    if generator is None:
        return images
    gain, shift = torch.rand((2, len(rows), 1, 1, 1, 1), generator=generator) * 2 - 1
    return images * (1 + GAIN * gain) + SHIFT * shift


def compute(outputs: Outputs, sample: Sample, data: Dataset, rows: torch.Tensor, *,
            near_places: bool = False) -> Losses:
    """Return the losses of what the model said about a sample."""
    text, placed = torch.zeros(()), torch.zeros(())
    for task, logits, targets, places, ids in zip(
            sample.tasks, outputs.logits, sample.targets, outputs.placed, sample.batch.texts):
        text = text + (near_cross_entropy(logits, targets, data.number_ids)
                       if near_places and task == 'memory' else
                       functional.cross_entropy(logits.flatten(0, 1), targets.flatten(),
                                                ignore_index=IGNORED))
        if task in PLACING:
            placed = placed + placing(places, ids, targets, data, rows)
    known = data.aims_known[rows].float()
    aim = ((outputs.aim - data.aims[rows]).square().sum(dim=-1) * known).sum()
    readout = ((outputs.chunk - data.chunks[rows]).square().mean()
               + aim / known.sum().clamp(min=1))
    pixels, shown = sample.pixels.flatten(0, 1), sample.shown.flatten(0, 1)
    return Losses((outputs.velocity - sample.wanted).square().mean(),
                  text / max(1, len(sample.targets)), readout,
                  detection(outputs.detected.flatten(0, 1), pixels, shown),
                  pointing(outputs.pointed.flatten(0, 1), pixels, shown,
                           sample.colors.repeat_interleave(sample.pixels.shape[1])),
                  placed)


def near_cross_entropy(logits: torch.Tensor, targets: torch.Tensor,
                       number_ids: torch.Tensor) -> torch.Tensor:
    """Return the cross entropy where a number's neighbours in number_ids are wanted a little."""
    wanted = targets != IGNORED
    chances, targets = logits[wanted].log_softmax(dim=-1), targets[wanted]
    exact = -chances.gather(1, targets[:, None])[:, 0]
    place = (targets[:, None] == number_ids).long().argmax(dim=1)
    near = torch.zeros_like(exact)
    for away in range(1 - len(NEAR_WEIGHTS), len(NEAR_WEIGHTS)):
        ids = number_ids[(place + away).clamp(0, len(number_ids) - 1)]
        near = near - NEAR_WEIGHTS[abs(away)] * chances.gather(1, ids[:, None])[:, 0]
    return torch.where(torch.isin(targets, number_ids), near, exact).mean()


def placing(places: torch.Tensor, ids: torch.Tensor, targets: torch.Tensor, data: Dataset,
            rows: torch.Tensor) -> torch.Tensor:
    """Return the loss of [B, tokens, 2]: where the cube is that each token speaks of."""
    colors = spoken_of(ids, torch.cat((data.color_ids, data.first_color_ids)))
    index = colors.clamp(min=0)
    truth = data.places[rows].gather(1, index[..., None].expand(-1, -1, 2))
    known = (colors >= 0) & (targets != IGNORED) & data.shown[rows].any(dim=1).gather(1, index)
    return ((places - truth).square().sum(dim=-1) * known).sum() / known.sum().clamp(min=1)


def spoken_of(ids: torch.Tensor, color_ids: torch.Tensor) -> torch.Tensor:
    """Return for tokens [B, tokens] the number of the colour named last, -1 before the first."""
    named = ids[..., None] == color_ids
    steps = torch.arange(ids.shape[1]).expand_as(ids)
    last = torch.where(named.any(dim=-1), steps, -1).cummax(dim=1).values
    colors = (named.long().argmax(dim=-1) % NUM_COLORS).gather(1, last.clamp(min=0))
    return torch.where(last >= 0, colors, -1)


def pointing(pointed: torch.Tensor, pixels: torch.Tensor, shown: torch.Tensor,
             colors: torch.Tensor) -> torch.Tensor:
    """Return the loss of [pictures, patches]: which one holds the cube of the given colour."""
    picture = torch.arange(len(pointed))
    cells, _ = locate(pixels[picture, colors], round(pointed.shape[1] ** 0.5))
    is_there = _in_picture(pixels, shown)[picture, colors]
    which = functional.cross_entropy(pointed, cells, reduction='none')
    return (which * is_there).sum() / is_there.sum().clamp(min=1)


def detection(detected: torch.Tensor, pixels: torch.Tensor, shown: torch.Tensor) -> torch.Tensor:
    """
    Return the loss of [pictures, patches, 9]: which patch holds a cube, and where in it.

    pixels [pictures, colours, 2] and shown [pictures, colours] say the truth.
    """
    side = round(detected.shape[1] ** 0.5)
    cells, inside = locate(pixels, side)
    shown = _in_picture(pixels, shown)
    scores = detected[..., :NUM_COLORS].transpose(1, 2)              # [P, colours, patches]
    which = functional.cross_entropy(scores.flatten(0, 1), cells.flatten(), reduction='none')
    offsets = detected[..., NUM_COLORS:].unflatten(-1, (NUM_COLORS, 2)).transpose(1, 2)
    index = cells[..., None, None].expand(-1, -1, 1, 2)
    where = (offsets.gather(2, index)[:, :, 0] - inside).abs().sum(dim=-1)
    return ((which.view_as(shown) + where) * shown).sum() / shown.sum().clamp(min=1)


def locate(pixels: torch.Tensor, side: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return patch [..] and place in it [.., 2] from -1 to 1, of columns and rows [.., 2]."""
    scaled = pixels.clamp(0, 1 - 1e-6) * side
    corner = scaled.floor()
    return (corner[..., 1] * side + corner[..., 0]).long(), (scaled - corner) * 2 - 1


def _in_picture(pixels: torch.Tensor, shown: torch.Tensor) -> torch.Tensor:
    """Return 1 for each cube that shows and whose centre lies in the picture, else 0."""
    return (shown & ((pixels >= 0) & (pixels < 1)).all(dim=-1)).float()


def _times(shape: tuple[int, int], generator: torch.Generator) -> torch.Tensor:
    """Draw from a beta distribution with beta 1, whose inverse is a power."""
    uniform = torch.rand(shape, generator=generator)
    return uniform ** (1 / TIME_ALPHA) * MAX_TIME + MIN_TIME
