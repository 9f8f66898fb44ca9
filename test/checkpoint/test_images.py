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
"""Pictures of any size become square, undistorted, centred on black."""

import numpy as np
import pytest

from oxygen_ros.checkpoint.images import prepare_images
from oxygen_ros.checkpoint.images import resize_with_pad


@pytest.mark.parametrize('shape, bars', (
    ((480, 640), (slice(0, 28), slice(196, 224))), ((224, 224), ()), ((90, 224), (slice(0, 67),))))
def test_the_whole_picture_stays_visible_between_black_bars(shape, bars):
    image = np.full((*shape, 3), 200, np.uint8)
    resized = resize_with_pad(image, 224, antialias=True)
    assert resized.shape == (3, 224, 224)
    for rows in bars:
        assert resized[:, rows].max() == 0
    assert (resized == 200).sum() == pytest.approx(
        3 * 224 * 224 * min(shape) / max(shape), rel=0.01)


def test_shrinking_averages_instead_of_sampling():
    stripes = np.zeros((448, 448, 3), np.uint8)
    stripes[::2] = 255
    resized = resize_with_pad(stripes, 112, antialias=True)
    assert 110 < resized[:, 2:-2].min() and resized[:, 2:-2].max() < 145


def test_values_reach_from_minus_one_to_one_and_bars_are_minus_one():
    image = np.zeros((56, 112, 3), np.uint8)
    image[:, 56:] = 255
    prepared = prepare_images([image, image], 56)
    assert prepared.shape == (2, 3, 56, 56)
    assert prepared[:, :, :13].max() == -1
    assert prepared[:, :, 28, -1].min() == 1


def test_no_camera_is_an_empty_batch():
    assert prepare_images([], 56).shape == (0, 3, 56, 56)


@pytest.mark.parametrize('shape', ((10, 10), (10, 10, 4), (0, 10, 3)))
def test_anything_but_a_colour_picture_is_refused(shape):
    with pytest.raises(ValueError, match='height, width, 3'):
        resize_with_pad(np.zeros(shape, np.uint8), 56, antialias=True)
