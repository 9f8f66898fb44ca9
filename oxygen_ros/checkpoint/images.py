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
"""Camera pictures to model pictures: aspect kept, centred on black, in [-1, 1]."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
import torch
from torch.nn import functional


def resize_with_pad(image: NDArray[np.uint8], size: int, *, antialias: bool) -> torch.Tensor:
    """
    Return float [3, size, size] in [0, 255] for a picture [height, width, 3].

    With antialias as openpi does it: shrinking averages and the result is whole numbers. Without
    it as LeRobot does: shrinking samples. A model has only learnt what its family does; on sharp
    edges the two differ by up to 199 of 255.
    """
    if image.ndim != 3 or image.shape[2] != 3 or 0 in image.shape:
        raise ValueError(f'a picture must be [height, width, 3], not {list(image.shape)}')
    height, width = image.shape[:2]
    pixels = torch.from_numpy(np.ascontiguousarray(image)).permute(2, 0, 1)[None].float()
    if (height, width) == (size, size):
        return pixels[0]
    ratio = max(width / size, height / size)
    new_height, new_width = max(1, int(height / ratio)), max(1, int(width / ratio))
    pixels = functional.interpolate(pixels, (new_height, new_width), mode='bilinear',
                                    align_corners=False, antialias=antialias)
    if antialias:
        pixels = pixels.round_()
    top, left = (size - new_height) // 2, (size - new_width) // 2
    return functional.pad(pixels.clamp_(0, 255), (left, size - new_width - left,
                                                  top, size - new_height - top))[0]


def prepare_images(images: Sequence[NDArray[np.uint8]], size: int, *,
                   antialias: bool = True) -> torch.Tensor:
    """Return float32 [n, 3, size, size] in [-1, 1]."""
    if not images:
        return torch.empty(0, 3, size, size)
    return torch.stack([resize_with_pad(image, size, antialias=antialias)
                        for image in images]) / 127.5 - 1
