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

"""Writes what was learnt as a checkpoint directory, in LeRobot's layout."""

from pathlib import Path

import numpy as np
import torch

from oxygen_ros.checkpoint.normalise import MEAN_STD
from oxygen_ros.checkpoint.save import save
from oxygen_ros.models.pi05 import Pi05
from oxygen_ros.sim import CAMERAS
from oxygen_ros.training.dataset import Statistics

SHIPPED_DTYPE = torch.float16


def ship(model: Pi05, directory: Path, statistics: Statistics, tokenizer: Path) -> None:
    """Write model, statistics and tokenizer."""
    half = (statistics.state_high - statistics.state_low) / 2
    save(model, directory, layout='lerobot', normalisation=MEAN_STD,
         # In the prompt the ends of the range are the first and the last bin.
         statistics={'state': {'mean': statistics.state_low + half, 'std': half},
                     'actions': {'mean': statistics.action_mean, 'std': statistics.action_std}},
         tokenizer=tokenizer, cameras=[camera.slot for camera in CAMERAS], dtype=SHIPPED_DTYPE)


def directory_size(directory: Path) -> int:
    """Return the bytes of all files below a directory."""
    return int(np.sum([path.stat().st_size for path in directory.rglob('*') if path.is_file()]))
