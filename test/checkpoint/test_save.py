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
"""What save writes, load reads: every layout, normalisation and size."""

import numpy as np
import pytest
import torch

from oxygen_ros.checkpoint import load
from oxygen_ros.checkpoint.builtin import TOKENIZER_FILE
from oxygen_ros.checkpoint.directory import describe
from oxygen_ros.checkpoint.directory import open_tokenizer
from oxygen_ros.checkpoint.save import save
from oxygen_ros.checkpoint.weights import load_weights
from oxygen_ros.config import EngineConfig
from oxygen_ros.config import load_robot
from oxygen_ros.models.architecture import Architecture
from oxygen_ros.models.architecture import tiny
from oxygen_ros.models.pi05 import Pi05
from oxygen_ros.types import Observation

CAMERAS = ('front', 'wrist')
STATISTICS = {
    'state': {'q01': np.arange(6) - 9.0, 'q99': np.arange(6) + 2.0, 'mean': np.ones(6),
              'std': np.full(6, 3.0), 'min': np.zeros(6) - 5, 'max': np.ones(6)},
    'actions': {'q01': np.zeros(6) - 1, 'q99': np.full(6, 3.0), 'mean': np.zeros(6),
                'std': np.ones(6), 'min': np.zeros(6) - 2, 'max': np.ones(6)}}


@pytest.fixture(scope='module')
def model():
    """Return a tiny model with random weights."""
    made = Pi05(tiny())
    made.random_weights(3)
    return made


def write(model, directory, layout, **options):
    """Save a model of the SO-101."""
    save(model, directory, layout=layout, statistics=STATISTICS, tokenizer=TOKENIZER_FILE,
         cameras=CAMERAS, **options)
    return describe(directory)


@pytest.mark.parametrize('layout', ('lerobot', 'openpi'))
def test_weights_sizes_and_tokenizer_come_back(model, tmp_path, layout):
    description = write(model, tmp_path, layout, max_tokens=120)
    assert not description.problems
    modes = {path.stat().st_mode for path in tmp_path.rglob('*') if path.is_file()}
    assert modes == {(tmp_path / 'config.json').stat().st_mode}   # none for its writer alone
    assert description.family == layout
    assert description.architecture == model.architecture
    assert (description.cameras, description.max_tokens) == (CAMERAS, 120)
    assert open_tokenizer(description).encode('pick up') == [
        open_tokenizer(description).pieces.index(piece) for piece in ('pick', '\u2581up')]
    loaded = Pi05.empty(description.architecture)
    load_weights(loaded, tmp_path / 'model.safetensors')
    for (name, left), right in zip(model.named_parameters(), loaded.parameters()):
        assert torch.equal(left, right), name


@pytest.mark.parametrize('layout, mode', (
    ('lerobot', 'quantiles'), ('lerobot', 'mean_std'), ('lerobot', 'min_max'),
    ('lerobot', 'identity'), ('openpi', 'quantiles'), ('openpi', 'mean_std')))
def test_normalisation_comes_back(model, tmp_path, layout, mode):
    normalisation = write(model, tmp_path, layout, normalisation=mode).normalisation
    values = STATISTICS['actions']
    expected = {'quantiles': (values['q01'], values['q99'], -1.0),
                'mean_std': (values['mean'], values['mean'] + values['std'], 0.0),
                'min_max': (values['min'], values['max'], -1.0),
                'identity': (np.zeros(6), np.ones(6), 0.0)}[mode]
    low, high, first = expected
    np.testing.assert_allclose(normalisation.actions.normalise(low), first, atol=1e-6)
    np.testing.assert_allclose(normalisation.actions.normalise(high), 1.0, atol=1e-5)
    again = normalisation.state.restore(normalisation.state.normalise(np.arange(6.0)))
    np.testing.assert_allclose(again, np.arange(6.0), atol=1e-5)


def test_both_layouts_give_the_same_actions_on_a_robot(model, tmp_path):
    robot = load_robot('so101')
    chunks = {}
    for layout in ('lerobot', 'openpi'):
        write(model, tmp_path / layout, layout, max_tokens=64)
        policy = load(str(tmp_path / layout), EngineConfig(), robot)
        assert policy.trained and policy.normalisation.state.size == 6
        seen = Observation(1, 0, {slot: np.full((56, 56, 3), 90, np.uint8)
                                  for slot in robot.camera_slots}, np.ones(6, np.float32), 'go')
        inputs = policy.prepare(seen, robot)
        chunks[layout] = policy.robot_actions(np.full((10, 32), 0.5), seen, robot)
        assert inputs.token_ids[0] == policy.tokenizer.bos_id
    np.testing.assert_allclose(chunks['lerobot'], chunks['openpi'], atol=1e-5)
    scaled = (0.5 + 1) / 2 * 4 - 1
    np.testing.assert_allclose(chunks['openpi'][0], 1 + scaled * robot.scale, rtol=1e-5)


def test_prefix_mode_and_prompt_without_state_belong_to_the_openpi_layout(model, tmp_path):
    sizes = model.architecture
    causal = Pi05(Architecture(sizes.vision, sizes.text, sizes.expert, prefix_mode='causal_text'))
    causal.random_weights(0)
    assert write(causal, tmp_path, 'openpi',
                 with_state=False).architecture.prefix_mode == 'causal_text'
    assert not describe(tmp_path).with_state
    with pytest.raises(ValueError, match="choose the layout 'openpi'"):
        write(causal, tmp_path, 'lerobot')
    with pytest.raises(ValueError, match='without the state'):
        write(model, tmp_path, 'lerobot', with_state=False)


def test_what_cannot_be_written_is_refused(model, tmp_path):
    with pytest.raises(ValueError, match='choose one of: lerobot, openpi'):
        write(model, tmp_path, 'onnx')
    with pytest.raises(ValueError, match="normalisation 'min_max'"):
        write(model, tmp_path, 'openpi', normalisation='min_max')
