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

"""Demonstrations as tensors: prompts, texts, normalised chunks."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
import torch

from oxygen_ros.checkpoint.prompt import PromptBuilder
from oxygen_ros.checkpoint.prompt import state_bins
from oxygen_ros.checkpoint.tokenizer import TextTokenizer
from oxygen_ros.sim import CUBE_COLORS
from oxygen_ros.training.questions import ask_about
from oxygen_ros.training.vocabulary import LOCATIONS_MM
from oxygen_ros.training.vocabulary import PAD_ID
from oxygen_ros.training.vocabulary import PROMPTS

IGNORED = -100               # as target of a token: padding, and what the prompt fixes
STANDING = ('subtask', 'narrate', 'memory')  # in the order of Frames.texts, after the instruction
TEXTS = (*STANDING, 'question')
_AIM_SCALE_M = np.array([0.06, 0.08])
_PLACE_CENTER_M, _PLACE_SCALE_M = np.array([0.22, 0.0]), np.array([0.06, 0.1])
_MIN_STD = np.array([1e-3] * 3 + [0.01] * 4)    # m, rad


@dataclass(frozen=True)
class Statistics:
    """How model numbers are scaled."""

    state_low: NDArray[np.float64]      # [state size] becomes -1
    state_high: NDArray[np.float64]     # [state size] becomes 1
    action_mean: NDArray[np.float64]    # [horizon, action size]
    action_std: NDArray[np.float64]     # [horizon, action size]


@dataclass(frozen=True)
class Dataset:
    """All frames, in order of the episodes."""

    images: torch.Tensor         # uint8 [N, cameras, size, size, 3]
    prompts: torch.Tensor        # int64 [N, tokens], padded with 0
    prompt_sizes: torch.Tensor   # int64 [N]
    texts: dict[str, torch.Tensor]      # per task int64 [N, tokens], private prompt included
    targets: dict[str, torch.Tensor]    # the token that follows each, or IGNORED
    chunks: torch.Tensor         # float32 [N, horizon, action size], normalised
    colors: torch.Tensor         # int64 [N]: number of the colour that is asked for
    color_ids: torch.Tensor      # int64 [colours]: its token in a prompt
    first_color_ids: torch.Tensor       # int64 [colours]: likewise, at the start of a line
    number_ids: torch.Tensor     # int64 [numbers]: tokens of the places a fact can name, in order
    places: torch.Tensor         # float32 [N, colours, 2]: where each cube is, x and y, scaled
    aims: torch.Tensor           # float32 [N, 2]: cube of the task from the tool, x and y, scaled
    aims_known: torch.Tensor     # bool [N]: not while it is in the hand or out of sight
    pixels: torch.Tensor         # float32 [N, cameras, colours, 2], 0 to 1
    shown: torch.Tensor          # bool [N, cameras, colours]
    episodes: torch.Tensor       # int64 [N]

    def __len__(self) -> int:
        """Return the number of frames."""
        return len(self.images)


def load_shards(paths: Sequence[Path]) -> dict[str, NDArray]:
    """Return the frames of all files."""
    parts = []
    for path in paths:
        with np.load(path) as shard:
            parts.append({name: shard[name] for name in shard.files if name != 'num_done'})
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def measure(frames: dict[str, NDArray]) -> Statistics:
    """Return the statistics of all frames."""
    states, actions = frames['states'].astype(np.float64), frames['actions'].astype(np.float64)
    margin = 0.02 * (states.max(axis=0) - states.min(axis=0)) + 1e-3
    return Statistics(states.min(axis=0) - margin, states.max(axis=0) + margin,
                      actions.mean(axis=0), np.maximum(actions.std(axis=0), _MIN_STD))


def make_dataset(frames: dict[str, NDArray], statistics: Statistics,
                 tokenizer: TextTokenizer, *, seed: int) -> Dataset:
    """Return the frames as the model takes them; the seed draws the questions about them."""
    states, actions = frames['states'].astype(np.float64), frames['actions'].astype(np.float64)
    low, high = statistics.state_low, statistics.state_high
    instructions = frames['texts'][:, 0]
    prompt = PromptBuilder(tokenizer)
    prompts = [prompt.ids(str(text), state_bins((state - low) / (high - low) * 2 - 1))
               for text, state in zip(instructions, states)]
    texts, targets = {}, {}
    for task, pairs in (
            *((task, [(PROMPTS[task], str(text)) for text in frames['texts'][:, column]])
              for column, task in enumerate(STANDING, start=1)),
            ('question', ask_about(frames, seed=seed))):
        texts[task], targets[task] = _texts(tokenizer, pairs)
    colors = np.array([[color in str(text).split() for color in CUBE_COLORS].index(True)
                       for text in instructions])
    rows = np.arange(len(states))
    aims = (frames['cubes'][rows, colors, :2] - states[:, :2]) / _AIM_SCALE_M
    held = np.array([f'{tuple(CUBE_COLORS)[color]} in the gripper' in str(text)
                     for color, text in zip(colors, frames['texts'][:, 2])])
    chunks = (actions - statistics.action_mean) / statistics.action_std
    return Dataset(
        images=torch.from_numpy(frames['images']),
        prompts=_padded(prompts, PAD_ID),
        prompt_sizes=torch.tensor([len(ids) for ids in prompts]),
        texts=texts, targets=targets, chunks=torch.from_numpy(chunks).float(),
        colors=torch.from_numpy(colors),
        color_ids=torch.tensor([tokenizer.encode(f' {color}')[0] for color in CUBE_COLORS]),
        first_color_ids=torch.tensor([tokenizer.encode(color)[0] for color in CUBE_COLORS]),
        number_ids=torch.tensor([tokenizer.encode(f' {number}')[0] for number in LOCATIONS_MM]),
        places=torch.from_numpy((frames['cubes'][:, :, :2] - _PLACE_CENTER_M)
                                / _PLACE_SCALE_M).float(),
        aims=torch.from_numpy(aims).float(),
        aims_known=torch.from_numpy(frames['shown'][rows, :, colors].any(axis=1) & ~held),
        pixels=torch.from_numpy(np.nan_to_num(frames['pixels'], nan=-1.0)),
        shown=torch.from_numpy(frames['shown']), episodes=torch.from_numpy(frames['episodes']))


def save_dataset(path: Path, data: Dataset, statistics: Statistics) -> None:
    """Write both to a file that several processes can read without copies of it."""
    unfinished = path.with_suffix('.part')
    torch.save({'data': vars(data), 'statistics': {
        name: torch.from_numpy(value) for name, value in vars(statistics).items()}}, unfinished)
    os.replace(unfinished, path)


def load_dataset(path: Path) -> tuple[Dataset, Statistics]:
    """Read what save_dataset wrote; pictures stay in the file until they are used."""
    parts = torch.load(path, mmap=True, weights_only=True)
    return Dataset(**parts['data']), Statistics(
        **{name: value.numpy() for name, value in parts['statistics'].items()})


def _texts(tokenizer: TextTokenizer,
           pairs: Sequence[tuple[str, str]]) -> tuple[torch.Tensor, torch.Tensor]:
    """Return ids of prompt and text, and the id that follows each."""
    encode = lru_cache(maxsize=None)(tokenizer.encode)
    rows = [(encode(prompt), encode(text)) for prompt, text in pairs]
    inputs = _padded([prompt + text for prompt, text in rows], PAD_ID)
    targets = _padded([[IGNORED] * (len(prompt) - 1) + text + [tokenizer.eos_id]
                       for prompt, text in rows], IGNORED)
    return inputs, targets


def _padded(rows: Sequence[Sequence[int]], value: int) -> torch.Tensor:
    length = max(len(row) for row in rows)
    return torch.tensor([[*row, *[value] * (length - len(row))] for row in rows])
