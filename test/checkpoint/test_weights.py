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
"""Checkpoint files: both layouts load, anything incomplete or unknown is named."""

from pathlib import Path

import pytest
from safetensors.torch import load_file
from safetensors.torch import save_file
import torch

from oxygen_ros.checkpoint.weights import load_weights
from oxygen_ros.checkpoint.weights import read_architecture
from oxygen_ros.config import ConfigError
from oxygen_ros.models.pi05 import Pi05

DATA = Path(__file__).parents[1] / 'models' / 'data'
VLM = 'paligemma_with_expert.paligemma.'


@pytest.fixture(scope='module')
def tensors():
    """Return the tensors of the openpi file."""
    return load_file(str(DATA / 'model.safetensors'))


@pytest.fixture
def attempt(tmp_path):
    """Return a function that saves tensors, loads them and returns the model."""
    def load(tensors) -> Pi05:
        save_file({key: value.clone() for key, value in tensors.items()},
                  str(tmp_path / 'model.safetensors'))
        model = Pi05(read_architecture(DATA, horizon=10, prefix_mode='bidirectional'))
        load_weights(model, tmp_path / 'model.safetensors')
        return model
    return load


def test_openpi_and_lerobot_layouts_give_the_same_model(attempt, tensors):
    openpi = attempt(tensors)
    lerobot = {f'model.{key}': value for key, value in tensors.items()}
    lerobot[f'model.{VLM}model.language_model.embed_tokens.weight'] = tensors[
        f'{VLM}lm_head.weight']
    for (name, left), right in zip(openpi.named_parameters(), attempt(lerobot).parameters()):
        assert torch.equal(left, right), name


def test_every_weight_is_filled_from_the_file(attempt, tensors):
    unused = tensors['paligemma_with_expert.gemma_expert.lm_head.weight'].numel()
    model = attempt(tensors)
    assert sum(weight.numel() for weight in model.parameters()) == sum(
        tensor.numel() for tensor in tensors.values()) - unused
    total = sum(float(weight.double().sum()) for weight in model.parameters())
    expected = sum(float(tensor.double().sum()) for key, tensor in tensors.items()
                   if 'gemma_expert.lm_head' not in key)
    assert total == pytest.approx(expected, rel=1e-9)


def test_missing_unknown_and_wrong_tensors_are_named(attempt, tensors):
    lacking = {key: value for key, value in tensors.items() if 'time_mlp_in.bias' not in key}
    with pytest.raises(ConfigError, match='lacks 1 tensors, first time_mlp_in.bias'):
        attempt(lacking)
    with pytest.raises(ConfigError, match='unknown 1 tensors, first something.else'):
        attempt({**tensors, 'something.else': torch.zeros(1)})
    with pytest.raises(ConfigError, match=r'action_in_proj.bias is \[3\]'):
        attempt({**tensors, 'action_in_proj.bias': torch.zeros(3)})
    headless = {key: value for key, value in tensors.items() if key != f'{VLM}lm_head.weight'}
    with pytest.raises(ConfigError, match='holds no embedding'):
        attempt(headless)


def test_an_embedding_that_differs_from_the_head_is_refused(attempt, tensors):
    other = tensors[f'{VLM}lm_head.weight'] + 1
    with pytest.raises(ConfigError, match='one tensor for both'):
        attempt({**tensors, f'{VLM}model.language_model.embed_tokens.weight': other})
