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
"""The presets have the sizes they claim."""

from dataclasses import replace

import pytest
import torch

from oxygen_ros.config import ConfigError
from oxygen_ros.models.architecture import ExpertArchitecture
from oxygen_ros.models.architecture import full
from oxygen_ros.models.architecture import mid
from oxygen_ros.models.architecture import tiny
from oxygen_ros.models.pi05 import Pi05
from oxygen_ros.models.pool import KVPool


def num_parameters(architecture) -> int:
    """Count without allocating."""
    with torch.device('meta'):
        return sum(weight.numel() for weight in Pi05(architecture).parameters())


def test_the_full_size_is_the_public_one():
    assert num_parameters(full()) == 3_353_433_872
    with torch.device('meta'):
        pool = KVPool(full(), 1, device='meta', dtype=torch.bfloat16)
    assert pool.bytes_per_row == 18_432


def test_the_benchmark_size():
    assert num_parameters(mid()) == pytest.approx(72.2e6, rel=0.01)


def test_the_test_size_is_small():
    assert tiny().vision.num_tokens == 16
    assert num_parameters(tiny()) < 5e5


def test_an_expert_that_cannot_read_the_text_kv_is_refused():
    with pytest.raises(ConfigError, match='head_dim is 16 in text and 32 in expert'):
        replace(tiny(), expert=ExpertArchitecture(32, 2, 64, 8, 1, 32))
    with pytest.raises(ConfigError, match="'causal'"):
        replace(tiny(), prefix_mode='causal')


def test_clearing_the_pool_zeroes_only_those_rows():
    pool = KVPool(tiny(), 8)
    pool.keys.fill_(1)
    pool.values.fill_(1)
    pool.clear(2, 5)
    for store in (pool.keys, pool.values):
        assert store[:, :, 2:5].abs().max() == 0
        assert store.sum() == store.numel() * 5 / 8
