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

"""The batched forward of training computes what the engine computes, and learning moves it."""

import numpy as np
import pytest
import torch

from oxygen_ros.checkpoint import load
from oxygen_ros.config import EngineConfig
from oxygen_ros.config import load_robot
from oxygen_ros.models.pool import KVPool
from oxygen_ros.models.segment import Segment
from oxygen_ros.sim import TableTop
from oxygen_ros.training import losses
from oxygen_ros.training.dataset import load_dataset
from oxygen_ros.training.dataset import STANDING
from oxygen_ros.training.learn import EMPHASIS
from oxygen_ros.training.recipe import dataset_file
from oxygen_ros.training.recipe import DEMONSTRATIONS
from oxygen_ros.training.ship import directory_size
from oxygen_ros.training.ship import ship
from oxygen_ros.training.vocabulary import PROMPTS
from oxygen_ros.types import Observation

TOLERANCE = 2e-5


@pytest.fixture
def lively(student):
    """Return the student with weights that make every output depend on every input."""
    with torch.no_grad():
        student.model.random_weights(1)
    return student


def sample_of(data, rows):
    return losses.draw_sample(data, torch.tensor(rows), torch.Generator().manual_seed(0),
                              augment=False)


def test_outputs_equal_those_of_the_engine_path(lively, data):
    rows = [0, len(data) // 2, len(data) - 1]      # prompts of different lengths
    sample = sample_of(data, rows)
    assert len(set(sample.batch.prompt_sizes.tolist())) > 1
    with torch.no_grad():
        outputs = lively(sample.batch)
    model = lively.model
    for index in range(len(rows)):
        size = int(sample.batch.prompt_sizes[index])
        ids = sample.batch.prompts[index, :size].tolist()
        with torch.inference_mode():
            hidden = model.embed_prefix(sample.batch.images[index], ids)
            count = len(hidden)
            pool = KVPool(model.architecture, 400)
            model.backbone.forward(hidden, (model.prefix_segment(
                count, num_image_rows=count - size, write=0),), pool)
            for text, logits in zip(sample.batch.texts, outputs.logits):
                segment = Segment(text.shape[1], 200, start=count, context=((0, count),))
                said = model.backbone.logits(model.backbone.forward(
                    model.backbone.embed(text[index]), (segment,), pool))
                assert torch.allclose(said, logits[index], atol=TOLERANCE * said.abs().max())
            for draw in range(sample.batch.noisy.shape[1]):
                velocity = engine_velocity(model, sample.batch, index, draw, count, pool)
                told = outputs.velocity[index, draw]
                assert torch.allclose(velocity, told, atol=TOLERANCE * told.abs().max())


def engine_velocity(model, batch, index, draw, count, pool):
    """Return the velocity of one noisy chunk as denoise computes it."""
    from oxygen_ros.models.attention import ViewAttention
    from oxygen_ros.models.layers import Modulation
    from oxygen_ros.models.layers import Rotary

    expert, noisy = model.expert, batch.noisy[index, draw]
    segment = Segment(len(noisy), count, start=count, context=((0, count),),
                      num_bidirectional=len(noisy))
    attention = ViewAttention((segment,), pool, num_heads=expert.size.num_heads)
    modulations = [Modulation(*(part[0] for part in modulation))
                   for modulation in expert.modulations_at(batch.times[index, draw:draw + 1])]
    rotary = Rotary(attention.positions, expert.size.head_dim, expert.size.rope_theta)
    return expert.velocity(noisy, attention, rotary, modulations)


def test_every_weight_gets_a_gradient(lively, data):
    sample = sample_of(data, [0, 1])
    found = losses.compute(lively(sample.batch), sample, data, torch.tensor([0, 1]))
    found.total(EMPHASIS['tell']).backward()
    idle = [name for name, weight in lively.named_parameters()
            if weight.grad is None or not weight.grad.abs().max() > 0]
    assert not idle


def test_what_follows_a_padded_prompt_does_not_change_the_outputs(lively, data):
    sample = sample_of(data, [0, 1])
    with torch.no_grad():
        before = lively(sample.batch)
        short = int(sample.batch.prompt_sizes.min())
        row = int(sample.batch.prompt_sizes.argmin())
        if short < sample.batch.prompts.shape[1]:
            sample.batch.prompts[row, short:] = 7
        after = lively(sample.batch)
    assert torch.equal(before.velocity, after.velocity)
    assert all(torch.equal(a, b) for a, b in zip(before.logits, after.logits))


def test_texts_do_not_change_what_the_expert_says(lively, data):
    rows = torch.tensor([0, 1])
    with_texts = sample_of(data, [0, 1])
    without = losses.draw_sample(data, rows, torch.Generator().manual_seed(0), tasks=(),
                                 augment=False)
    with torch.no_grad():
        told = lively(with_texts.batch).velocity
        assert torch.allclose(told, lively(without.batch).velocity,
                              atol=TOLERANCE * told.abs().max())


def test_targets_are_the_texts_moved_by_one(run, data):
    from oxygen_ros.training.recipe import load_tokenizer

    tokenizer = load_tokenizer(run)
    for task in STANDING:
        inputs, targets = data.texts[task][0].tolist(), data.targets[task][0].tolist()
        start = tokenizer.encode(PROMPTS[task])
        assert inputs[:len(start)] == start and len(start) == 1
        spoken = [token for token in targets if token >= 0]
        assert spoken[-1] == tokenizer.eos_id
        assert inputs[1:len(spoken)] == spoken[:-1]


def test_detection_finds_the_patch_and_the_place_in_it():
    cells, inside = losses.locate(torch.tensor([[0.0, 0.0], [0.999, 0.5], [0.3, 0.6]]), 4)
    assert cells.tolist() == [0, 11, 9]
    assert inside[2].tolist() == pytest.approx([-0.6, -0.2], abs=1e-5)


def test_a_shipped_checkpoint_prepares_and_acts_like_the_data_say(student, run, data, tmp_path):
    """The loader's prompt, bins and units are those of the training."""
    _, statistics = load_dataset(dataset_file(run, DEMONSTRATIONS))
    ship(student.model, tmp_path / 'checkpoint', statistics, run / 'tokenizer.json')
    assert directory_size(tmp_path / 'checkpoint') < 10_000_000
    robot = load_robot('table_top')
    policy = load(str(tmp_path / 'checkpoint'), EngineConfig(), robot)
    table = TableTop(seed=1)
    images = {camera: table.render(camera) for camera in policy.cameras}
    joints = table.joint_positions.astype(np.float32)
    observation = Observation(1, 1, images, joints, 'pick up the red cube')
    inputs = policy.prepare(observation, robot)
    assert len(inputs.token_ids) == 16           # every word and every number is one token
    assert inputs.num_image_rows == 32
    targets = np.tile(joints, (len(statistics.action_mean), 1))
    targets[:, 0] += np.linspace(0, 0.2, len(targets))
    normalised, known = policy.model_actions(targets, observation, robot)
    assert known.all()
    again = policy.robot_actions(normalised, observation, robot)
    assert again == pytest.approx(targets, abs=2e-3)
    few, _ = policy.model_actions(targets[:3], observation, robot)
    assert np.allclose(few, normalised[:3])
    table.close()
