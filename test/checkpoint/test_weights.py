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
"""Weights: every layout loads, anything incomplete, unknown or damaged is refused by name."""

from pathlib import Path
import re

import pytest
from safetensors.torch import load_file
from safetensors.torch import save_file
import torch

from oxygen_ros.checkpoint.tensor_file import CHUNK_BYTES
from oxygen_ros.checkpoint.tensor_file import TensorFile
from oxygen_ros.checkpoint.tensor_file import write_tensors
from oxygen_ros.checkpoint.weights import load_weights
from oxygen_ros.config import ConfigError
from oxygen_ros.models.architecture import from_json
from oxygen_ros.models.pi05 import Pi05

DATA = Path(__file__).parents[1] / 'models' / 'data'
VLM = 'paligemma_with_expert.paligemma.'
HEAD, EMBEDDING = f'{VLM}lm_head.weight', f'{VLM}model.language_model.embed_tokens.weight'
UNUSED = 'paligemma_with_expert.gemma_expert.lm_head.weight'
PROJECTION = 'action_in_proj.weight'


@pytest.fixture
def attempt(tmp_path):
    """Return a function that saves tensors, loads them and returns the model."""
    def load(tensors, *, dtype=torch.float32) -> Pi05:
        save_file({key: value.clone() for key, value in tensors.items()},
                  str(tmp_path / 'model.safetensors'))
        model = Pi05.empty(from_json(DATA / 'tiny_architecture.json'), dtype=dtype)
        load_weights(model, tmp_path / 'model.safetensors')
        return model
    return load


def same(left: Pi05, right: Pi05) -> bool:
    """Return whether two models have the same weights and buffers."""
    pairs = zip(left.state_dict(keep_vars=True).items(), right.state_dict().values())
    return all(torch.equal(mine, other) for (_, mine), other in pairs) and all(
        torch.equal(mine, other) for mine, other in zip(left.buffers(), right.buffers()))


def test_embedding_under_either_name_or_both(attempt, tensors):
    openpi = attempt(tensors)
    assert same(openpi, attempt({**tensors, EMBEDDING: tensors[HEAD]}))
    assert same(openpi, attempt({EMBEDDING if key == HEAD else key: value
                                 for key, value in tensors.items()}))
    with pytest.raises(ConfigError, match=f'{EMBEDDING} and {HEAD} differ'):
        attempt({**tensors, EMBEDDING: tensors[HEAD] + 1})
    neither = {key: value for key, value in tensors.items() if key != HEAD}
    with pytest.raises(ConfigError, match=re.escape(f'{EMBEDDING} or {HEAD}')):
        attempt(neither)


def test_names_of_other_versions(attempt, tensors):
    openpi = attempt(tensors)
    assert same(openpi, attempt({f'model.{key}': value for key, value in tensors.items()}))
    assert same(openpi, attempt({key.replace('vision_tower.vision_model.', 'vision_tower.')
                                 .replace('time_mlp_', 'action_time_mlp_'): value
                                 for key, value in tensors.items()}))
    with pytest.raises(ConfigError, match=f'model.{PROJECTION} .besides {PROJECTION}'):
        attempt({**tensors, f'model.{PROJECTION}': tensors[PROJECTION]})


def test_every_weight_is_filled_from_the_file(attempt, tensors):
    model = attempt(tensors)
    assert sum(weight.numel() for weight in model.parameters()) == sum(
        tensor.numel() for tensor in tensors.values()) - tensors[UNUSED].numel()
    total = sum(float(weight.double().sum()) for weight in model.parameters())
    expected = sum(float(tensor.double().sum()) for key, tensor in tensors.items()
                   if key != UNUSED)
    assert total == pytest.approx(expected, rel=1e-9)


def test_what_no_model_uses_is_ignored(attempt, tensors):
    lean = {key: value for key, value in tensors.items() if key != UNUSED}
    assert same(attempt(tensors), attempt({**lean, 'state_proj.weight': torch.zeros(3)}))


@pytest.mark.parametrize('damage, message', (
    ('drop', r'lacks \S*layers.1.mlp.down_proj.weight'),
    ('rename', r'lacks .*language_model.layers.0.*holds unknown .*language_modell'),
    ('unknown', 'holds unknown something.else'),
    ('dtype', 'action_in_proj.bias .I64 instead of one of F64, F32, F16, BF16')))
def test_every_wrong_tensor_is_named(attempt, tensors, damage, message):
    changed = dict(tensors)
    if damage == 'drop':
        del changed[f'{VLM}model.language_model.layers.1.mlp.down_proj.weight']
    elif damage == 'rename':
        changed = {key.replace('language_model.', 'language_modell.'): value
                   for key, value in tensors.items()}
    elif damage == 'unknown':
        changed['something.else'] = torch.zeros(1)
    else:
        changed['action_in_proj.bias'] = changed['action_in_proj.bias'].long()
    with pytest.raises(ConfigError, match=message):
        attempt(changed)


def test_a_transposed_matrix_is_named(attempt, tensors):
    key = f'{VLM}model.multi_modal_projector.linear.weight'
    with pytest.raises(ConfigError, match=re.escape(f'{key} ([48, 64] instead of [64, 48])')):
        attempt({**tensors, key: tensors[key].t().contiguous()})


def test_a_long_list_is_cut_and_counted(attempt, tensors):
    lacking = {key: value for key, value in tensors.items() if 'vision_tower' not in key}
    missing = len(tensors) - len(lacking)
    with pytest.raises(ConfigError, match=f'and {missing - 12} more'):
        attempt(lacking)


def test_nothing_is_loaded_from_a_file_that_does_not_fit(tmp_path, tensors):
    lacking = {key: value for key, value in tensors.items() if key != 'time_mlp_in.bias'}
    save_file(lacking, str(tmp_path / 'model.safetensors'))
    model = Pi05(from_json(DATA / 'tiny_architecture.json'))
    model.random_weights(0)
    before = {name: weight.clone() for name, weight in model.state_dict().items()}
    with pytest.raises(ConfigError, match='time_mlp_in.bias'):
        load_weights(model, tmp_path / 'model.safetensors')
    assert all(torch.equal(before[name], weight) for name, weight in model.state_dict().items())


@pytest.mark.parametrize('keep, message', ((0, 'no safetensors file'), (7, 'no safetensors'),
                                           (5000, 'damaged header'), (-4, 'is cut off')))
def test_a_truncated_file_is_refused(tmp_path, keep, message):
    path = tmp_path / 'model.safetensors'
    path.write_bytes((DATA / 'model.safetensors').read_bytes()[:keep])
    with pytest.raises(ConfigError, match=message):
        TensorFile(path)


def test_precision_of_file_and_model_are_independent(attempt, tensors):
    halves = {key: value.bfloat16() for key, value in tensors.items()}
    model = attempt(halves, dtype=torch.bfloat16)
    assert torch.equal(model.backbone.layers[0].down.weight,
                       halves[f'{VLM}model.language_model.layers.0.mlp.down_proj.weight'])
    assert model.backbone.norms.dtype == model.expert.modulations[0].weight.dtype == torch.float32
    wide = attempt({key: value.double() for key, value in tensors.items()})
    assert same(wide, attempt(tensors))


def test_tensors_larger_than_a_chunk_are_read_whole(tmp_path):
    path, numbers = tmp_path / 'file.safetensors', torch.arange(CHUNK_BYTES // 2 + 7.0)
    write_tensors(path, {'numbers': numbers, 'two': torch.ones(2, 3)}, torch.float32)
    target = torch.empty(len(numbers), dtype=torch.float64)
    with TensorFile(path) as file:
        file.read('numbers', target)
        assert file.equals('numbers', target)
        target[-1] += 1
        assert not file.equals('numbers', target)
    assert torch.equal(target[:-1].float(), numbers[:-1])
    assert torch.equal(load_file(str(path))['two'], torch.ones(2, 3))
