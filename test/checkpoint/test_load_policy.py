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
"""oxygen_ros.load_policy: actions and words of the public implementations, from raw inputs."""

import json
import subprocess
import sys

import numpy as np
import pytest
import torch

import oxygen_ros
from oxygen_ros.config import ConfigError


@pytest.fixture(scope='module')
def lerobot(shared_checkpoints):
    """Return the two LeRobot policies by name."""
    return {name: oxygen_ros.load_policy(shared_checkpoints / name)
            for name in ('quantiles', 'mean_std')}


@pytest.fixture(scope='module')
def openpi(shared_checkpoints, asset_ids):
    """Return the openpi policy of each robot."""
    return {robot: oxygen_ros.load_policy(shared_checkpoints / 'openpi', asset_id=asset_id)
            for robot, asset_id in asset_ids.items()}


@pytest.mark.parametrize('name', (
    'q_all_cameras', 'q_missing_middle_camera', 'q_long_prompt', 'ms_two_cameras_one_empty',
    'ms_one_camera', 'ms_long_prompt'))
def test_lerobot_actions(name, lerobot, lerobot_cases, arrays):
    case, data = lerobot_cases[name], arrays('lerobot_pi05_case')
    images = {camera: data[f'image/{raw}'] for camera, raw in case['pictures'].items()}
    acted = lerobot[case['checkpoint']].act(images, data[f'{name}/state'], case['task'],
                                            data[f'{name}/noise'])
    np.testing.assert_allclose(acted.model_actions, data[f'{name}/model_actions'], atol=1e-4)
    np.testing.assert_allclose(acted.actions, data[f'{name}/final_actions'], atol=1e-4)
    assert acted.prompt == case['prompt']
    assert list(acted.token_ids) == data[f'{name}/token_ids'][data[f'{name}/token_mask']].tolist()


@pytest.mark.parametrize('name', ('libero_0', 'libero_1', 'droid_0', 'droid_1', 'aloha_0',
                                  'aloha_1'))
def test_openpi_actions(name, openpi, openpi_cases, arrays):
    case, data, robot = openpi_cases[name], arrays('openpi_pi05_case'), arrays('robot_transforms')
    images = {slot: data[f'{name}/image_224/{slot}'] for slot, shown in case['slots'].items()
              if shown}
    acted = openpi[case['robot']].act(images, robot[f'{name}/in/state_robot'], case['task'],
                                      data[f'{name}/noise'])
    np.testing.assert_allclose(acted.model_actions, data[f'{name}/model_actions'], atol=1e-4)
    assert list(acted.token_ids) == data[f'{name}/token_ids'][data[f'{name}/token_mask']].tolist()
    if case['robot'] != 'aloha':   # whose robot units need its profile
        np.testing.assert_allclose(acted.actions, data[f'{name}/final_actions'], atol=1e-4)


@pytest.mark.parametrize('name', ('two_cameras_prompt0', 'three_cameras_prompt1',
                                  'one_camera_prompt1'))
def test_text_equals_paligemma(name, shared_checkpoints, language_cases, arrays):
    case = language_cases[name]
    policy = oxygen_ros.load_policy(
        shared_checkpoints / 'openpi', asset_id='droid',
        tokenizer=str(shared_checkpoints / 'quantiles' / 'tokenizer'))
    pictures = arrays('oxygen_causal_case')
    spoken = policy.speak({slot: pictures[f'image_224/{slot}'] for slot in case['cameras']}, None,
                          case['prompt'], 12)
    assert list(spoken.token_ids) == case['greedy_tokens']
    assert spoken.text and '<bos>' not in spoken.text


def test_text_equals_oxygen_where_the_prefix_is_causal(copy_of, shared_checkpoints,
                                                       language_cases, arrays):
    folder = copy_of('openpi')
    sizes = json.loads((folder / 'tiny_architecture.json').read_text())
    (folder / 'tiny_architecture.json').write_text(
        json.dumps({**sizes, 'prefix_mode': 'causal_text'}))
    policy = oxygen_ros.load_policy(folder, asset_id='droid',
                                    tokenizer=str(shared_checkpoints / 'quantiles' / 'tokenizer'))
    pictures = arrays('oxygen_causal_case')
    for name in ('causal_three_cameras_prompt0', 'causal_three_cameras_prompt1'):
        case = language_cases[name]
        spoken = policy.speak({slot: pictures[f'image_224/{slot}'] for slot in case['cameras']},
                              None, case['prompt'], 12)
        assert list(spoken.token_ids) == case['greedy_tokens']


def test_the_state_reaches_a_prompt_where_it_is_asked_for(openpi, arrays):
    policy, state = openpi['droid'], arrays('robot_transforms')['droid_0/in/state_robot']
    marked = policy.speak({}, state, 'State: {state};', 3)
    assert marked == policy.speak({}, None, 'State: 150 0 127 93 177 43 209 141;', 3)
    with pytest.raises(ValueError, match='state is None'):
        policy.speak({}, None, 'State: {state};', 3)


def test_a_robot_profile_changes_states_and_actions_to_its_units(shared_checkpoints, openpi,
                                                                 tmp_path):
    joints = '\n'.join(f'  joint{index}: {{lower: -4, upper: 4, max_velocity: 1}}'
                       for index in range(8))
    profile = tmp_path / 'arm.yaml'
    profile.write_text('name: arm\ncameras:\n  base_0_rgb: {topic: image}\n'
                       f'joints:\n{joints}\nactions: {{space: joint_delta}}\n')
    state = np.linspace(-1, 1, 8)
    on_robot = oxygen_ros.load_policy(shared_checkpoints / 'openpi', asset_id='droid',
                                      robot=str(profile)).act({}, state, 'go')
    plain = openpi['droid'].act({}, state, 'go')
    np.testing.assert_array_equal(on_robot.model_actions, plain.model_actions)
    np.testing.assert_allclose(on_robot.actions, plain.actions + state, atol=1e-5)


def test_the_same_inputs_give_the_same_actions(openpi):
    policy, picture = openpi['droid'], np.full((90, 160, 3), 77, np.uint8)
    first = policy.act({'base_0_rgb': picture}, np.zeros(8), 'go')
    again = policy.act({'base_0_rgb': picture}, np.zeros(8), 'go')
    assert first.actions.shape == (10, 8) and first.model_actions.shape == (10, 32)
    assert first.actions.tobytes() == again.actions.tobytes()
    other = policy.act({'base_0_rgb': picture}, np.zeros(8), 'stop')
    assert np.abs(other.model_actions - first.model_actions).max() > 1e-3


def test_wrong_inputs_are_refused_by_name(openpi):
    policy, picture = openpi['droid'], np.zeros((10, 10, 3), np.uint8)
    with pytest.raises(ValueError, match="camera 'front' is not known; .*base_0_rgb"):
        policy.act({'front': picture}, np.zeros(8), 'go')
    with pytest.raises(ValueError, match='give uint8'):
        policy.act({'base_0_rgb': picture.astype(np.float32)}, np.zeros(8), 'go')
    with pytest.raises(ValueError, match=r'the state is \[7\]; give \[8\]'):
        policy.act({}, np.zeros(7), 'go')
    with pytest.raises(ValueError, match='not finite'):
        policy.act({}, np.full(8, np.nan), 'go')
    with pytest.raises(ValueError, match=r'noise is \[3, 3\]'):
        policy.act({}, np.zeros(8), 'go', noise=np.zeros((3, 3)))


def test_dtype_by_name_or_torch_dtype(shared_checkpoints, openpi):
    policy = oxygen_ros.load_policy(shared_checkpoints / 'openpi', torch.bfloat16, 'cpu',
                                    asset_id='droid')
    exact = openpi['droid'].act({}, np.zeros(8), 'go').model_actions
    rounded = policy.act({}, np.zeros(8), 'go').model_actions
    assert 0 < np.abs(rounded - exact).max() < 0.2
    with pytest.raises(ConfigError, match='float16 is for a GPU'):
        oxygen_ros.load_policy(shared_checkpoints / 'openpi', dtype='float16')


def test_builtin_models_need_a_robot():
    with pytest.raises(ConfigError, match='give robot='):
        oxygen_ros.load_policy('builtin:tiny')
    policy = oxygen_ros.load_policy('builtin:tiny', robot='so101')
    assert policy.act({}, np.zeros(6), 'go').actions.shape == (10, 6)
    assert policy.speak({}, None, 'Task:', 5).text.strip()


def test_importing_the_package_does_not_import_torch():
    code = ('import oxygen_ros, sys; assert callable(oxygen_ros.load_policy); '
            'sys.exit("torch" in sys.modules)')
    assert subprocess.run([sys.executable, '-c', code], timeout=60).returncode == 0


def test_progress_is_told(shared_checkpoints):
    lines = []
    oxygen_ros.load_policy(shared_checkpoints / 'quantiles', on_progress=lines.append)
    assert any('[####################]' in line for line in lines)
