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
"""Damaged, incomplete and foreign checkpoints: refused at load, by name and with the remedy."""

from dataclasses import replace
import json
import logging
import re

import numpy as np
import pytest
from safetensors.numpy import load_file
from safetensors.numpy import save_file

from oxygen_ros.checkpoint import load
from oxygen_ros.checkpoint.directory import describe
from oxygen_ros.config import Camera
from oxygen_ros.config import ConfigError
from oxygen_ros.config import EngineConfig
from oxygen_ros.config import Joint
from oxygen_ros.config import RobotProfile

SLOTS = ('base_0_rgb', 'left_wrist_0_rgb')
ARM = RobotProfile('arm', tuple(Camera(slot, f'{slot}/image') for slot in SLOTS),
                   tuple(Joint(f'joint{index}', -4, 4, 1) for index in range(8)))
PREPROCESSOR = 'policy_preprocessor.json'


def attempt(directory, *, robot=ARM, asset_id='droid', **options):
    """Load a directory for a robot."""
    return load(str(directory), EngineConfig(asset_id=asset_id, **options), robot)


def refused(directory, message: str, **options) -> None:
    """Check that loading is refused with a message."""
    with pytest.raises(ConfigError, match=message):
        attempt(directory, **options)


def edit(path, change) -> None:
    """Change a JSON file in place."""
    data = json.loads(path.read_text())
    change(data)
    path.write_text(json.dumps(data))


def test_the_whole_one_loads(shared_checkpoints):
    policy = attempt(shared_checkpoints / 'openpi')
    assert policy.trained and policy.normalisation.state.size == 8
    assert policy.max_prefix_rows == 3 * 256 + 200


@pytest.mark.parametrize('name, message', (
    ('model.safetensors', 'holds no model.safetensors; check the path'),
    ('config.json', 'holds no config.json')))
def test_a_missing_file_is_named(copy_of, name, message):
    folder = copy_of('openpi')
    (folder / name).unlink()
    refused(folder, message)


def test_directories_that_are_something_else(tmp_path, copy_of):
    refused(tmp_path / 'nowhere', 'does not exist')
    refused(copy_of('openpi') / 'config.json', 'is a file')
    empty = tmp_path / 'empty'
    empty.mkdir()
    refused(empty, 'is empty')
    (empty / 'adapter_config.json').write_text('{}')
    refused(empty, 'LoRA adapter: merge it')
    copy_of('quantiles').rename(tmp_path / 'run')
    (tmp_path / 'out').mkdir()
    (tmp_path / 'run').rename(tmp_path / 'out' / 'pretrained_model')
    refused(tmp_path / 'out', 'give .*pretrained_model')


def test_a_jax_checkpoint_is_told_how_to_convert(tmp_path):
    (tmp_path / 'params').mkdir()
    (tmp_path / 'params' / '_METADATA').write_text('{}')
    refused(tmp_path, 'JAX checkpoint.*convert_jax_model_to_pytorch.py --checkpoint_dir '
            + re.escape(str(tmp_path)))


@pytest.mark.parametrize('change, message', (
    (lambda data: data.update(type='act'), "is a 'act' policy"),
    (lambda data: data.pop('chunk_size'), 'lacks chunk_size'),
    (lambda data: data.update(image_resolution=[224, 320]), 'image_resolution is 224 x 320'),
    (lambda data: data.update(prefix_mode='causal_text'), 'bidirectional prefix'),
    (lambda data: data.update(chunk_size=50), 'horizon is 10, .* says 50')))
def test_a_configuration_that_contradicts_is_refused(copy_of, change, message):
    folder = copy_of('quantiles')
    edit(folder / 'config.json', change)
    refused(folder, message)


@pytest.mark.parametrize('change, message', (
    (lambda data: data.pop('action_horizon'), 'lacks action_horizon'),
    (lambda data: data.update(prefix_mode='causal_text'), 'prefix_mode is bidirectional, .* says '
     'causal_text')))
def test_an_openpi_configuration_that_contradicts_is_refused(copy_of, change, message):
    folder = copy_of('openpi')
    sizes = json.loads((folder / 'tiny_architecture.json').read_text())
    (folder / 'tiny_architecture.json').write_text(
        json.dumps({**sizes, 'prefix_mode': 'bidirectional'}))
    edit(folder / 'config.json', change)
    refused(folder, message)


def test_damaged_json_is_named(copy_of):
    folder = copy_of('quantiles')
    (folder / PREPROCESSOR).write_text('')
    refused(folder, 'policy_preprocessor.json is empty or damaged')
    (folder / 'config.json').write_text('[]')
    refused(folder, 'config.json holds list')


def test_sizes_that_are_not_known_are_refused(copy_of):
    folder = copy_of('openpi')
    (folder / 'tiny_architecture.json').unlink()
    edit(folder / 'config.json', lambda data: data.update(paligemma_variant='gemma_2b_lora'))
    refused(folder, "paligemma_variant is 'gemma_2b_lora'.*merge LoRA")


def test_openpi_statistics(copy_of):
    folder = copy_of('openpi')
    wanted = re.escape(str(folder / 'assets' / 'nobody' / 'norm_stats.json'))
    refused(folder, f'{wanted} does not exist; set asset_id to one of: droid, '
                    'physical-intelligence/libero, trossen', asset_id='nobody')
    refused(folder, 'several robots; set asset_id to one of', asset_id='')
    path = folder / 'assets' / 'droid' / 'norm_stats.json'
    whole = path.read_text()
    edit(path, lambda data: data['norm_stats'].pop('actions'))
    refused(folder, f'{path} lacks norm_stats.actions')
    path.write_text(whole)
    edit(path, lambda data: data['norm_stats']['state'].pop('q99'))
    refused(folder, f"{path}, state lacks q99 for the normalisation 'quantiles'")
    path.write_text('')
    refused(folder, f'{path} is empty or damaged')
    for found in (folder / 'assets').rglob('norm_stats.json'):
        found.unlink()
    refused(folder, 'no normalisation statistics: .*assets/droid/norm_stats.json does not exist; '
                    'copy the assets folder')


def test_lerobot_statistics(copy_of):
    folder = copy_of('quantiles')
    path = folder / 'policy_preprocessor_step_3_normalizer_processor.safetensors'
    statistics = load_file(str(path))
    save_file({name: value for name, value in statistics.items() if 'state.q01' not in name},
              str(path))
    refused(folder, 'observation.state lacks q01')
    save_file({name: value for name, value in statistics.items() if 'state' not in name},
              str(path))
    refused(folder, f"{path} has no statistics of 'observation.state'")
    save_file({**statistics, 'observation.state.q01': np.zeros(5, np.float32)}, str(path))
    refused(folder, 'q01 has 5 entries, q99 8')
    path.write_bytes(b'')
    refused(folder, f'{path} is empty or damaged')
    path.unlink()
    refused(folder, f'no normalisation statistics: {path} does not exist')
    (folder / PREPROCESSOR).unlink()
    refused(folder, 'policy_preprocessor.json does not exist; train or fine-tune with LeRobot')


def test_a_step_that_would_be_left_out_is_refused(copy_of):
    folder = copy_of('quantiles')
    edit(folder / PREPROCESSOR,
         lambda data: data['steps'].insert(1, {'registry_name': 'smooth_actions', 'config': {}}))
    refused(folder, "the step 'smooth_actions', which this package does not reproduce")


def test_files_named_by_any_version_are_found(copy_of):
    folder = copy_of('quantiles')
    old = folder / 'policy_preprocessor_step_3_normalizer_processor.safetensors'
    old.rename(folder / 'another_name.safetensors')

    def rename(data):
        for step in data['steps']:
            if 'state_file' in step:
                step['state_file'] = 'another_name.safetensors'
    edit(folder / PREPROCESSOR, rename)
    assert not describe(folder).problems


def test_cameras_have_the_names_before_the_renaming_step(copy_of):
    folder = copy_of('quantiles')

    def rename(data):
        data['steps'][0]['config']['rename_map'] = {
            'observation.images.front': 'observation.images.top'}
    edit(folder / PREPROCESSOR, rename)
    assert describe(folder).cameras == ('front', 'left_wrist', 'right_wrist')


def test_statistics_of_another_robot_are_refused(shared_checkpoints):
    seven = replace(ARM, joints=ARM.joints[:7])
    refused(shared_checkpoints / 'openpi', 'statistics of 8 state entries, the robot profile has '
            '7; they are of another robot', robot=seven)
    refused(shared_checkpoints / 'openpi', 'statistics of 14 state', asset_id='trossen')


def test_statistics_padded_to_the_width_of_the_model_are_cut(copy_of):
    folder = copy_of('openpi')
    whole = attempt(folder).normalisation

    def pad(data):
        for entries in data['norm_stats'].values():
            for name, values in entries.items():
                entries[name] = values + [0.0] * (32 - len(values))
    edit(folder / 'assets' / 'droid' / 'norm_stats.json', pad)
    padded = attempt(folder).normalisation
    np.testing.assert_array_equal(padded.actions.offset, whole.actions.offset)
    np.testing.assert_array_equal(padded.state.divisor, whole.state.divisor)


def test_cameras_must_be_those_of_the_checkpoint(shared_checkpoints, caplog):
    other = replace(ARM, cameras=(Camera('front', 'front/image'),))
    refused(shared_checkpoints / 'openpi', 'camera slots front that the checkpoint does not know; '
            'it knows base_0_rgb', robot=other)
    with caplog.at_level(logging.WARNING):
        attempt(shared_checkpoints / 'openpi')
    assert 'does not have: right_wrist_0_rgb' in caplog.text


def test_relative_actions_need_a_profile_that_says_so(copy_of):
    folder = copy_of('quantiles')

    def enable(data):
        next(step for step in data['steps']
             if step['registry_name'] == 'relative_actions_processor')['config']['enabled'] = True
    edit(folder / PREPROCESSOR, enable)
    robot = replace(ARM, cameras=(Camera('top', 'top/image'),))
    refused(folder, 'actions relative to the state.*choose one of: joint_delta', robot=robot)


def test_tokenizers(copy_of, shared_checkpoints, monkeypatch, tmp_path):
    monkeypatch.setenv('OPENPI_DATA_HOME', str(tmp_path))
    monkeypatch.setattr('huggingface_hub.constants.HF_HUB_OFFLINE', True)
    folder = copy_of('openpi')
    path = folder / 'tiny_sentencepiece.model'
    path.rename(tmp_path / 'elsewhere.model')
    refused(folder, 'tokenizer google/paligemma-3b-pt-224 is neither here nor in the local cache.*'
                    'copy tokenizer.json')
    assert attempt(folder, tokenizer=str(tmp_path / 'elsewhere.model')).trained
    (tmp_path / 'big_vision').mkdir()
    (tmp_path / 'elsewhere.model').rename(tmp_path / 'big_vision' / 'paligemma_tokenizer.model')
    assert attempt(folder).tokenizer.vocab_size == 600
    refused(folder, 'tokenizer .* holds none of tokenizer.json', tokenizer=str(folder))
    damaged = folder / 'tokenizer.json'
    damaged.write_text('{}')
    refused(folder, f'tokenizer {damaged} cannot be read')
    other, robot = copy_of('quantiles'), replace(ARM, cameras=(Camera('top', 'top/image'),))
    (other / 'tokenizer' / 'tokenizer.json').unlink()
    (tmp_path / 'big_vision' / 'paligemma_tokenizer.model').unlink()
    refused(other, "names the tokenizer 'tokenizer', which is not there", robot=robot)


def test_a_tokenizer_of_another_model_is_refused(copy_of):
    folder = copy_of('openpi')
    sizes = json.loads((folder / 'tiny_architecture.json').read_text())
    sizes['text']['vocab_size'] = 300
    (folder / 'tiny_architecture.json').write_text(json.dumps(sizes))
    refused(folder, 'gives token [3-5].., the model knows 300; it belongs to another model')


def test_a_model_that_does_not_fit_into_memory_says_what_it_needs(shared_checkpoints, monkeypatch):
    monkeypatch.setattr('oxygen_ros.checkpoint.device.free_bytes', lambda device: 1e8)
    refused(shared_checkpoints / 'openpi', 'needs 0.5 GB of memory on cpu and 0.1 GB are free')


def test_hardly_moving_entries_are_told_and_never_give_nan(copy_of, caplog):
    folder = copy_of('openpi')

    def freeze(data):
        for entries in data['norm_stats'].values():
            entries['q01'][3] = entries['q99'][3] = 0.25
    edit(folder / 'assets' / 'droid' / 'norm_stats.json', freeze)
    with caplog.at_level(logging.WARNING):
        policy = attempt(folder)
    assert 'state: entries 3 hardly moved' in caplog.text
    assert 'actions: entries 3 hardly moved' in caplog.text
    for value in (0.25, -1e6, 1e6):
        bins = policy.bins(np.full(8, value))
        assert all(-1 <= number <= 255 for number in bins)
    restored = policy.normalisation.actions.restore(np.full((2, 8), 30.0))
    assert np.isfinite(restored).all() and abs(restored[0, 3] - 0.25) < 1e-4


@pytest.mark.parametrize('value, message', ((float('nan'), 'not finite'),
                                            (-9.0, 'entry 2 has a negative range')))
def test_impossible_statistics_are_refused(copy_of, value, message):
    folder = copy_of('openpi')
    edit(folder / 'assets' / 'droid' / 'norm_stats.json',
         lambda data: data['norm_stats']['state']['q99'].__setitem__(2, value))
    refused(folder, message)
