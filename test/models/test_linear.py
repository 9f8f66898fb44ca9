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

"""Every way to multiply gives the same product; packing changes speed only."""

import pytest
import torch
from torch.nn import functional

from oxygen_ros.models import linear
from oxygen_ros.models.architecture import tiny
from oxygen_ros.models.linear import Linear
from oxygen_ros.models.pi05 import Pi05
from oxygen_ros.models.pool import KVPool


@pytest.mark.parametrize('num_rows', (1, 2, 5, 16, 65))
@pytest.mark.parametrize('bias', (False, True))
def test_all_products_agree(num_rows, bias):
    torch.manual_seed(0)
    layer = Linear(1024, 1100, bias=bias).requires_grad_(False)
    for weight in layer.parameters():
        weight.normal_()
    rows = torch.randn(num_rows, 1024)
    expected = functional.linear(rows.double(), layer.weight.double(),
                                 layer.bias.double() if bias else None).float()
    torch.testing.assert_close(layer(rows), expected, atol=2e-3, rtol=1e-4)
    layer.pack()
    torch.testing.assert_close(layer(rows), expected, atol=2e-3, rtol=1e-4)


@pytest.mark.skipif(not linear.can_pack(torch.empty(1, linear.MIN_PACKED_WEIGHTS)),
                    reason='this build of torch cannot pack weights')
def test_a_packed_model_acts_and_speaks_as_before(monkeypatch):
    torch.manual_seed(0)
    monkeypatch.setattr(linear, 'MIN_PACKED_WEIGHTS', 1)   # pack even the tiny model
    images, noise = torch.rand(2, 3, 56, 56) * 2 - 1, torch.randn(10, 32)
    results = []
    for packed in (False, True):
        model = Pi05(tiny())
        model.random_weights(0)
        if packed:
            model.optimize(num_steps=10)
            assert not any(name.endswith('proj.weight') or 'qkv' in name
                           for name, _ in model.named_parameters())
        pool = KVPool(model.architecture, 128)
        hidden = model.embed_prefix(images, [2, 5, 6])
        hidden = model.backbone(
            hidden, [model.prefix_segment(35, num_image_rows=32, write=0)], pool)
        results.append((model.backbone.logits(hidden),
                        model.expert.denoise(noise, (0, 35), 35, 35, pool, 10)))
    for left, right in zip(*results):
        torch.testing.assert_close(left, right, atol=1e-4, rtol=1e-4)
