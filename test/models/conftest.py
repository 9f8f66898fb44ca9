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
"""The tiny model of the golden values, and one way to run it."""

from dataclasses import replace
import json
from pathlib import Path

import numpy as np
import pytest
import torch

from oxygen_ros.checkpoint.weights import load_weights
from oxygen_ros.models.architecture import from_json
from oxygen_ros.models.pi05 import Pi05
from oxygen_ros.models.pool import KVPool
from oxygen_ros.models.segment import Segment

DATA = Path(__file__).parent / 'data'
torch.set_num_threads(1)


class Runner:
    """Runs one observation through a model, everything in a fresh pool."""

    def __init__(self, model: Pi05, *, num_rows: int = 1200):
        self.model = model
        self.pool = KVPool(model.architecture, num_rows)
        self.rows = 0

    def encode(self, images: torch.Tensor, token_ids, *, write: int = 0) -> torch.Tensor:
        """Return the hidden rows of the prefix."""
        hidden = self.model.embed_prefix(images, list(token_ids))
        self.rows = hidden.shape[0]
        segment = self.model.prefix_segment(
            self.rows, num_image_rows=self.rows - len(token_ids), write=write)
        return self.model.backbone(hidden, [segment], self.pool)

    def act(self, noise, *, num_steps: int = 10) -> np.ndarray:
        """Return the actions for a prefix encoded at row 0."""
        return self.model.expert.denoise(
            torch.as_tensor(noise), (0, self.rows), self.rows, self.rows, self.pool,
            num_steps).numpy()

    def greedy(self, hidden: torch.Tensor, num_tokens: int) -> tuple[list[int], np.ndarray]:
        """Return (ids, logits before each) continuing the prefix."""
        first, tokens, logits = self.rows + 100, [], []
        for step in range(num_tokens):
            logits.append(self.model.backbone.logits(hidden[-1:])[0])
            tokens.append(int(logits[-1].argmax()))
            segment = Segment(1, first + step, start=self.rows + step,
                              context=((0, self.rows), (first, first + step)))
            hidden = self.model.backbone(
                self.model.backbone.embed(tokens[-1:]), [segment], self.pool)
        return tokens, torch.stack(logits).numpy()


@pytest.fixture(scope='session')
def cases():
    """Return the cameras of every golden case."""
    return json.loads((DATA / 'cases.json').read_text(encoding='utf-8'))


@pytest.fixture(scope='session')
def golden():
    """Return a function name -> npz."""
    files = {}

    def load(name: str):
        if name not in files:
            files[name] = np.load(DATA / f'{name}.npz')
        return files[name]
    return load


@pytest.fixture(scope='session')
def models():
    """Return the golden model under both prefix modes."""
    architecture = from_json(DATA / 'tiny_architecture.json')
    found = {}
    for mode in ('bidirectional', 'causal_text'):
        found[mode] = Pi05(replace(architecture, prefix_mode=mode))
        load_weights(found[mode], DATA / 'model.safetensors')
    return found


@pytest.fixture
def runner(models):
    """Return a function mode -> Runner."""
    return lambda mode: Runner(models[mode])



@pytest.fixture(scope='session')
def pictures():
    """Return a function: uint8 [H, W, 3] pictures -> [n, 3, H, W] in [-1, 1]."""
    def stack(images) -> torch.Tensor:
        stacked = torch.from_numpy(np.stack(images)).permute(0, 3, 1, 2)
        return stacked.float() / 255 * 2 - 1
    return stack
