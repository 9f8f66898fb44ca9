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
"""Same weights, same noise: the actions of LeRobot, openpi and OxyGen."""

import numpy as np
import pytest
import torch
from torch.nn import functional

LEROBOT = ('q_all_cameras', 'q_missing_middle_camera', 'q_long_prompt', 'q_over_limit_prompt',
           'ms_two_cameras_one_empty', 'ms_one_camera', 'ms_long_prompt')
OPENPI = ('libero_0', 'libero_1', 'droid_0', 'droid_1', 'aloha_0', 'aloha_1')
OXYGEN = ('three_cameras_prompt0', 'three_cameras_prompt1', 'third_camera_masked_actions_only')


def lerobot_image(picture: np.ndarray) -> torch.Tensor:
    """Prepare a picture as LeRobot does: plain bilinear on floats, centred on black."""
    pixels = torch.from_numpy(picture).float().permute(2, 0, 1)[None] / 255
    height, width = picture.shape[:2]
    ratio = max(width / 224, height / 224)
    size = int(height / ratio), int(width / ratio)
    pixels = functional.interpolate(pixels, size, mode='bilinear', align_corners=False)
    top, left = (224 - size[0]) // 2, (224 - size[1]) // 2
    pixels = functional.pad(pixels.clamp(0, 1), (left, 224 - size[1] - left,
                                                 top, 224 - size[0] - top))
    return pixels * 2 - 1


@pytest.mark.parametrize('case', LEROBOT)
def test_lerobot_actions(case, cases, golden, runner, pictures):
    data, slots = golden('lerobot_pi05_case'), cases['lerobot'][case]
    images = [lerobot_image(data[f'image/{slot["raw"]}']) for slot in slots if slot['valid']]
    for index, image in enumerate(images):
        np.testing.assert_allclose(image[0, :, ::8, ::8],
                                   data[f'{case}/image_prep_every8/{index}'], atol=1e-6)
    run = runner('bidirectional')
    run.encode(torch.cat(images), data[f'{case}/token_ids'][data[f'{case}/token_mask']])
    noise = data[f'{case}/noise']
    np.testing.assert_allclose(run.act(noise), data[f'{case}/model_actions'], atol=5e-5)
    np.testing.assert_allclose(run.act(noise, num_steps=1),
                               data[f'{case}/model_actions_one_step'], atol=5e-5)


@pytest.mark.parametrize('case', OPENPI)
def test_openpi_actions(case, cases, golden, runner, pictures):
    data = golden('openpi_pi05_case')
    run = runner('bidirectional')
    run.encode(pictures([data[f'{case}/image_224/{slot}'] for slot in cases['openpi'][case]]),
               data[f'{case}/token_ids'][data[f'{case}/token_mask']])
    # openpi adds up the time in float32; the difference to the exact schedule is a few 1e-5.
    np.testing.assert_allclose(run.act(data[f'{case}/noise']), data[f'{case}/model_actions'],
                               atol=5e-4)


@pytest.mark.parametrize('case', OXYGEN)
def test_oxygen_actions(case, cases, golden, runner, pictures):
    data = golden('oxygen_causal_case')
    run = runner('causal_text')
    run.encode(pictures([data[f'image_224/{slot}'] for slot in cases['oxygen'][case]]),
               data[f'{case}/token_ids'])
    np.testing.assert_allclose(run.act(data[f'{case}/noise']), data[f'{case}/model_actions'],
                               atol=5e-4)


def test_prefix_modes_are_not_interchangeable(cases, golden, runner, pictures):
    data, case = golden('oxygen_causal_case'), OXYGEN[0]
    run = runner('bidirectional')
    run.encode(pictures([data[f'image_224/{slot}'] for slot in cases['oxygen'][case]]),
               data[f'{case}/token_ids'])
    actions = run.act(data[f'{case}/noise'])
    assert np.abs(actions - data[f'{case}/model_actions']).max() > 1e-2
