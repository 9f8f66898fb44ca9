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
"""What openpi makes of the states and actions of three robots, and of pictures of any size."""

from pathlib import Path

import cv2
import numpy as np
import pytest

from oxygen_ros.checkpoint.directory import describe
from oxygen_ros.checkpoint.images import prepare_images
from oxygen_ros.checkpoint.images import resize_with_pad
from oxygen_ros.checkpoint.prompt import state_bins
from oxygen_ros.checkpoint.trained import open_prompt

DATA = Path(__file__).parent / 'data'
CASES = ('libero_0', 'libero_0_padded_stats', 'libero_1', 'droid_0', 'droid_1', 'aloha_0',
         'aloha_1', 'aloha_1_adapt_to_pi_off')
CARDS = {'640x480': (28, 28, 0, 0), '480x640': (0, 0, 28, 28), '1280x720': (49, 49, 0, 0),
         '301x300': (0, 1, 0, 0), '224x224': (0, 0, 0, 0)}   # bars top, bottom, left, right


@pytest.fixture(params=CASES)
def golden(request, shared_checkpoints, openpi_cases, asset_ids, arrays):
    """Return (description, case, its arrays by short name)."""
    case, data = openpi_cases[request.param], arrays('robot_transforms')
    own = {name.removeprefix(f'{case["id"]}/'): data[name] for name in data.files
           if name.startswith(f'{case["id"]}/')}
    description = describe(shared_checkpoints / 'openpi', asset_id=asset_ids[case['robot']])
    return description, case, own


def test_state_bins_prompt_and_tokens(golden):
    description, case, own = golden
    normalised = description.normalisation.state.normalise(own['in/state_robot'])
    np.testing.assert_allclose(normalised, own['in/state_normalised'], atol=1e-12)
    bins = state_bins(normalised)
    assert case['bins'] is None or bins == case['bins']
    prompt = open_prompt(description, '')
    text, ids = prompt.build(case['task'], bins)
    assert text == ''.join(case['strings'])
    assert ids == own['in/token_ids'][own['in/token_mask']].tolist()
    assert description.with_state == (case['robot'] != 'libero')


def test_actions_in_the_units_of_the_data(golden):
    description, _, own = golden
    size = description.normalisation.actions.size
    actions = description.normalisation.actions.restore(own['in/model_actions'][:, :size])
    np.testing.assert_allclose(actions, own['out/after_Unnormalize'][:, :size], atol=1e-6)


@pytest.mark.parametrize('card', CARDS)
def test_pictures_are_resized_as_by_openpi(card, arrays):
    picture = cv2.imread(str(DATA / 'image_resize' / f'{card}.png'))[:, :, ::-1]
    expected = arrays('image_resize')[card].astype(np.float32)
    resized = resize_with_pad(picture, 224, antialias=True).permute(1, 2, 0).numpy()
    difference = np.abs(resized - expected)
    assert difference.max() <= 2 and difference.mean() <= 0.3
    sampled = resize_with_pad(picture, 224, antialias=False).permute(1, 2, 0).numpy()
    assert card == '224x224' or np.abs(sampled - expected).max() > 100


@pytest.mark.parametrize('antialias', (True, False))
@pytest.mark.parametrize('card', CARDS)
def test_bars_are_black_and_nothing_leaves_the_range(card, antialias):
    picture = cv2.imread(str(DATA / 'image_resize' / f'{card}.png'))
    white, black = np.full_like(picture, 255), np.zeros_like(picture)
    top, bottom, left, right = CARDS[card]
    inside = slice(top, 224 - bottom), slice(left, 224 - right)
    for shown, value in ((white, 1.0), (black, -1.0), (picture, None)):
        prepared = prepare_images([shown], 224, antialias=antialias)[0].numpy()
        assert prepared.min() >= -1 and prepared.max() <= 1
        content, bars = prepared[(slice(None), *inside)], np.ones((224, 224), bool)
        bars[inside] = False
        assert value is None or np.abs(content - value).max() < 1e-6
        assert (prepared[:, bars] == -1).all()
