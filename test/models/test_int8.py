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

"""8-bit weights: rows stay independent, the error is bounded, float32 is as it was."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from oxygen_ros.checkpoint import load
from oxygen_ros.checkpoint.base import LoadedPolicy
from oxygen_ros.config import ConfigError
from oxygen_ros.config import EngineConfig
from oxygen_ros.config import load_robot
from oxygen_ros.models.pool import KVPool
from oxygen_ros.models.quantised import Int8Linear
from oxygen_ros.models.segment import Segment

# Stated in doc/explanation/precision.md: rms of the change over rms of the actions.
MAX_ACTION_ERROR = 0.05
NUM_PICTURES = 8


def can_quantise() -> bool:
    """Return whether this build of torch has the operator."""
    try:
        Int8Linear(torch.ones(8, 8))
    except ConfigError:
        return False
    return True


needs_int8 = pytest.mark.skipif(not can_quantise(), reason='this torch has no 8-bit products')


@pytest.fixture(scope='module')
def policies() -> dict[str, LoadedPolicy]:
    """Return builtin:tiny with both kinds of weights."""
    robot, config = load_robot('so101'), EngineConfig()
    return {weights: load('builtin:tiny', replace(config, weights=weights), robot)
            for weights in ('float32', 'int8')}


def encode(policy: LoadedPolicy, seed: int, pool: KVPool) -> tuple[torch.Tensor, int]:
    """Return (hidden rows of a prefix with two smooth pictures, their number)."""
    generator = torch.Generator().manual_seed(seed)
    images = torch.nn.functional.interpolate(
        torch.rand(2, 3, 7, 7, generator=generator) * 2 - 1, size=56, mode='bilinear')
    ids = torch.randint(4, 500, (20,), generator=generator).tolist()
    hidden = policy.model.embed_prefix(images, ids)
    num_rows = hidden.shape[0]
    segment = policy.model.prefix_segment(num_rows, num_image_rows=num_rows - 20, write=0)
    return policy.model.backbone(hidden, [segment], pool), num_rows


def act(policy: LoadedPolicy, seed: int) -> np.ndarray:
    """Return the actions for seeded pictures, text and noise."""
    model, pool = policy.model, KVPool(policy.model.architecture, 128)
    num_rows = encode(policy, seed, pool)[1]
    noise = torch.randn(policy.horizon, policy.action_dim,
                        generator=torch.Generator().manual_seed(seed))
    return model.expert.denoise(noise, (0, num_rows), num_rows, num_rows, pool, 10).numpy()


@needs_int8
@pytest.mark.parametrize('shape', ((512, 1536), (100, 65), (64, 7)))
def test_a_row_gives_the_same_bits_alone_and_beside_any_other(shape):
    generator = torch.Generator().manual_seed(0)
    num_in, num_out = shape
    layer = Int8Linear(torch.randn(num_out, num_in, generator=generator),
                       torch.randn(num_out, generator=generator))
    rows = torch.randn(150, num_in, generator=generator)
    rows[1] *= 1e4        # a scale common to the batch would wipe the others out
    rows[2] = 0
    alone = torch.cat([layer(row[None]) for row in rows])
    for num_rows in (2, 5, 16, 17, 64, 150):
        assert torch.equal(layer(rows[:num_rows]), alone[:num_rows])
    order = torch.randperm(150, generator=generator)
    assert torch.equal(layer(rows[order]), alone[order])


@needs_int8
def test_the_product_is_near_and_no_sum_saturates():
    generator = torch.Generator().manual_seed(0)
    weight = torch.randn(256, 512, generator=generator)
    weight[:2] = torch.tensor([[1.0], [-1.0]])      # every product at its limit
    rows = torch.randn(9, 512, generator=generator)
    rows[0], rows[1] = 1, -1
    exact = rows @ weight.t()
    result = Int8Linear(weight)(rows)
    torch.testing.assert_close(result[:2, :2], exact[:2, :2])
    assert (result - exact).norm() < 0.02 * exact.norm()


@needs_int8
def test_actions_stay_within_the_stated_error(policies):
    exact, near = ([act(policies[weights], seed) for seed in range(NUM_PICTURES)]
                   for weights in ('float32', 'int8'))
    change = np.sqrt(np.mean(np.subtract(near, exact) ** 2))
    assert 0 < change < MAX_ACTION_ERROR * np.sqrt(np.mean(np.square(exact)))


@needs_int8
def test_texts_are_words_and_do_not_depend_on_their_batch(policies):
    policy = policies['int8']
    alone = [write_texts(policy, (seed,))[0] for seed in (1, 2, 3)]
    assert write_texts(policy, (1, 2, 3)) == alone
    for ids in alone:
        text = policy.tokenizer.decode(ids)
        assert text.strip() and text.isprintable() and '\ufffd' not in text


def write_texts(policy: LoadedPolicy, seeds: tuple[int, ...]) -> list[list[int]]:
    """Return 8 greedy token ids per seed; texts about the same prefix decode in one batch."""
    model, pool = policy.model, KVPool(policy.model.architecture, 256)
    num_rows = encode(policy, 0, pool)[1]
    texts = [[4 + 40 * seed] for seed in seeds]
    for step in range(8):
        segments = [Segment(1, 100 + 10 * place + step, start=num_rows + step, context=(
            (0, num_rows), (100 + 10 * place, 100 + 10 * place + step)))
            for place in range(len(seeds))]
        hidden = model.backbone(model.backbone.embed([ids[-1] for ids in texts]), segments, pool)
        logits = model.backbone.logits(hidden)
        logits[:, list(policy.suppressed_ids)] = -torch.inf
        for ids, token in zip(texts, logits.argmax(-1).tolist()):
            ids.append(token)
    return [ids[1:] for ids in texts]


def test_float32_is_the_default_and_holds_nothing_of_8_bits():
    policy = load('builtin:tiny', EngineConfig(), load_robot('so101'))
    assert EngineConfig().weights == 'float32'
    assert not any(isinstance(part, Int8Linear) for part in policy.model.modules())


def test_other_weights_are_refused_with_the_choices():
    with pytest.raises(ConfigError, match="weights is 'int9'.*float32, .*int8"):
        EngineConfig(weights='int9')
    with pytest.raises(ConfigError, match="device is 'cuda'.*choose"):
        EngineConfig(weights='int8', device='cuda')


def test_a_torch_without_the_operator_is_told_apart(monkeypatch):
    def missing(*_):
        raise NotImplementedError('no such operator')

    monkeypatch.setattr(torch, '_make_per_channel_quantized_tensor', missing)
    with pytest.raises(ConfigError, match="torch .*no such operator.*choose 'float32'"):
        load('builtin:tiny', EngineConfig(weights='int8'), load_robot('so101'))
