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
"""Whole checkpoint directories, put together from golden weights and golden small files."""

import json
from pathlib import Path
import shutil

import numpy as np
import pytest
from safetensors.torch import load_file
from safetensors.torch import save_file
import torch

DATA = Path(__file__).parent / 'data'
MODEL_DATA = DATA.parents[1] / 'models' / 'data'
EMBEDDING = 'paligemma_with_expert.paligemma.model.language_model.embed_tokens.weight'
HEAD = 'paligemma_with_expert.paligemma.lm_head.weight'
torch.set_num_threads(1)


@pytest.fixture(scope='session')
def tensors():
    """Return the golden weights by openpi's names."""
    return load_file(str(MODEL_DATA / 'model.safetensors'))


@pytest.fixture(scope='session')
def shared_checkpoints(tmp_path_factory, tensors):
    """Return a folder with the directories openpi, quantiles and mean_std; do not change them."""
    folder = tmp_path_factory.mktemp('checkpoints')
    lerobot = {f'model.{key}': value for key, value in tensors.items()}
    lerobot[f'model.{EMBEDDING}'] = tensors[HEAD].clone()
    for name in ('openpi', 'quantiles', 'mean_std'):
        shutil.copytree(DATA / name, folder / name)
        shutil.copy(MODEL_DATA / 'tiny_architecture.json', folder / name)
        if name == 'openpi':
            shutil.copy(MODEL_DATA / 'model.safetensors', folder / name)
        else:
            save_file(lerobot, str(folder / name / 'model.safetensors'))
            (folder / name / 'tokenizer').mkdir()
            shutil.copy(DATA / 'tokenizer.json', folder / name / 'tokenizer')
    return folder


@pytest.fixture
def copy_of(shared_checkpoints, tmp_path):
    """Return a function: name -> a copy of that checkpoint to damage."""
    return lambda name: Path(shutil.copytree(shared_checkpoints / name, tmp_path / name))


@pytest.fixture(scope='session')
def lerobot_cases():
    """Return the golden LeRobot cases by id."""
    return cases_of('lerobot_cases.json')


@pytest.fixture(scope='session')
def openpi_cases():
    """Return the golden openpi cases by id."""
    return cases_of('openpi_cases.json')


@pytest.fixture(scope='session')
def language_cases():
    """Return the golden texts by id."""
    return cases_of('language_cases.json')


@pytest.fixture(scope='session')
def asset_ids():
    """Return robot -> asset id."""
    return json.loads((DATA / 'openpi_cases.json').read_text(encoding='utf-8'))['robots']


@pytest.fixture(scope='session')
def arrays():
    """Return a function: name of a golden file -> its arrays."""
    files = {}

    def load(name: str):
        if name not in files:
            folder = DATA if (DATA / f'{name}.npz').is_file() else MODEL_DATA
            files[name] = np.load(folder / f'{name}.npz')
        return files[name]
    return load


def cases_of(name: str) -> dict[str, dict]:
    """Return the cases of a golden file by id."""
    data = json.loads((DATA / name).read_text(encoding='utf-8'))
    return {case['id']: case for case in data['cases']}
