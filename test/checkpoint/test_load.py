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
"""load(): a ready builtin model whose outputs depend on all inputs, or a clear refusal."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from oxygen_ros.checkpoint import load
from oxygen_ros.config import ConfigError
from oxygen_ros.config import EngineConfig
from oxygen_ros.config import Joint
from oxygen_ros.config import load_robot
from oxygen_ros.models.pool import KVPool
from oxygen_ros.models.segment import Segment
from oxygen_ros.types import Observation

ROBOT = load_robot('so101')


@pytest.fixture(scope='module')
def policy():
    """Return the tiny builtin model."""
    torch.set_num_threads(1)
    return load('builtin:tiny', EngineConfig(), ROBOT)


def observation(*, picture: int = 0, joints: float = 0.0, instruction: str = 'pick up the cube'):
    """Return an observation with smooth pictures, as cameras have them."""
    generator = np.random.default_rng(picture)
    coarse = generator.integers(0, 255, (2, 4, 6, 3), dtype=np.uint8)
    images = dict(zip(ROBOT.camera_slots, coarse.repeat(16, axis=1).repeat(16, axis=2)))
    return Observation(1, 0, images, np.full(6, joints, np.float32), instruction)


def run(policy, seen: Observation, *, num_tokens: int = 0):
    """Return (robot actions, greedy text, prefix keys)."""
    inputs, model = policy.prepare(seen, ROBOT), policy.model
    pool, rows = KVPool(model.architecture, 512), inputs.num_rows
    hidden = model.embed_prefix(inputs.images, inputs.token_ids)
    segment = model.prefix_segment(rows, num_image_rows=inputs.num_image_rows, write=0)
    hidden = model.backbone(hidden, [segment], pool)
    noise = torch.randn(policy.horizon, policy.action_dim,
                        generator=torch.Generator().manual_seed(0))
    actions = model.expert.denoise(noise, (0, rows), rows, rows, pool, 10)
    tokens = []
    for step in range(num_tokens):
        logits = model.backbone.logits(hidden[-1:])[0]
        logits[list(policy.suppressed_ids)] = float('-inf')
        tokens.append(int(logits.argmax()))
        part = Segment(1, 400 + step, start=rows + step, context=((0, rows), (400, 400 + step)))
        hidden = model.backbone(model.backbone.embed(tokens[-1:]), [part], pool)
    text = policy.tokenizer.decode(tokens)
    return policy.robot_actions(actions, seen, ROBOT), text, pool.keys[:, :, :rows].clone()


def test_actions_depend_on_picture_state_and_instruction(policy):
    base = observation()
    actions, _, _ = run(policy, base)
    others = {'picture': observation(picture=1), 'instruction': observation(instruction='stop'),
              'state': observation(joints=0.05)}
    for name, other in others.items():
        moved = run(policy, other)[0] - other.state - (actions - base.state)
        assert np.abs(moved).max() > 1e-3, name


def test_one_small_patch_of_one_camera_changes_the_actions(policy):
    base = observation()
    images = {slot: picture.copy() for slot, picture in base.images.items()}
    images['wrist'][:8, :8] = 255 - images['wrist'][:8, :8]
    moved = run(policy, replace(base, images=images))[0] - run(policy, base)[0]
    assert np.abs(moved).max() > 1e-3


def test_the_same_observation_gives_the_very_same_bits(policy):
    actions, _, keys = run(policy, observation())
    run(policy, observation(picture=5), num_tokens=3)
    again, _, keys_again = run(policy, observation())
    assert actions.tobytes() == again.tobytes()
    assert torch.equal(keys, keys_again)


def test_the_seed_decides_the_weights(policy):
    same = load('builtin:tiny', EngineConfig(), ROBOT)
    other = load('builtin:tiny', EngineConfig(seed=1), ROBOT)
    actions = run(policy, observation())[0]
    assert np.array_equal(run(same, observation())[0], actions)
    assert np.abs(run(other, observation())[0] - actions).max() > 1e-3


def test_random_text_reads_as_words_and_depends_on_the_picture(policy):
    texts = {run(policy, observation(picture=seed), num_tokens=12)[1] for seed in range(4)}
    assert len(texts) == 4
    for text in texts:
        words = [word.strip('.,') for word in text.split()]
        assert all(word.isalpha() for word in words if word), text
        assert len(set(words)) > 3, text


def test_absent_cameras_are_dropped(policy):
    base = observation()
    inputs = policy.prepare(replace(base, images={'wrist': base.images['wrist']}), ROBOT)
    assert inputs.slots == ('wrist',)
    assert inputs.images.shape == (1, 3, 56, 56)
    assert inputs.num_image_rows == 16
    assert policy.prepare(replace(base, images={}), ROBOT).num_image_rows == 0


def test_actions_become_joint_targets(policy):
    seen = observation(joints=0.5)
    ones = np.ones((10, 32), np.float32)
    np.testing.assert_allclose(policy.robot_actions(ones, seen, ROBOT),
                               np.tile(0.5 + ROBOT.scale, (10, 1)), rtol=1e-6)
    absolute = replace(ROBOT, action_space='joint_position', action_scale=())
    targets = policy.robot_actions(torch.from_numpy(ones), seen, absolute)
    assert targets.shape == (10, 6)
    assert targets.dtype == np.float32
    assert (targets == 1).all()


def test_a_robot_may_use_only_the_first_rows_of_a_chunk(policy):
    seen, ones = observation(), np.ones((10, 32), np.float32)
    assert len(policy.robot_actions(ones, seen, replace(ROBOT, horizon=4))) == 4
    assert len(policy.robot_actions(ones, seen, replace(ROBOT, horizon=50))) == 10


@pytest.mark.parametrize('name, remedy', (
    ('builtin:huge', 'builtin:tiny'), ('/does/not/exist', 'does not exist')))
def test_unknown_checkpoints_are_refused_with_a_remedy(name, remedy):
    with pytest.raises(ConfigError, match=remedy):
        load(name, EngineConfig(), ROBOT)


def test_a_robot_with_too_many_joints_is_refused():
    joints = tuple(Joint(f'joint{index}') for index in range(33))
    with pytest.raises(ConfigError, match='33 actions'):
        load('builtin:tiny', EngineConfig(), replace(ROBOT, joints=joints, action_scale=()))


def test_progress_is_told():
    lines = []
    load('builtin:tiny', EngineConfig(), ROBOT, lines.append)
    assert lines
