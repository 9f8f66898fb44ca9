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

"""Every shipped profile runs: state into the prompt, actions out as targets, and back."""

import numpy as np
import pytest

from oxygen_ros.checkpoint import load
from oxygen_ros.config import EngineConfig
from oxygen_ros.config import list_robots
from oxygen_ros.config import load_robot
from oxygen_ros.types import Observation


@pytest.mark.parametrize('name', list_robots())
def test_a_shipped_profile_runs(name):
    robot = load_robot(name)
    policy = load('builtin:tiny', EngineConfig(), robot)
    state = np.array([sum(joint.range) / 2 for joint in robot.joints], np.float32)
    images = {camera.slot: np.zeros((48, 64, 3), np.uint8) for camera in robot.cameras}
    seen = Observation(1, 1, images, state, 'pick up the red cube')
    assert policy.prepare(seen, robot).slots == robot.camera_slots
    model = np.random.default_rng(0).normal(scale=0.05, size=(10, 32)).astype(np.float32)
    targets = policy.robot_actions(model, seen, robot)
    assert targets.shape == (10, len(robot.joints)) and np.isfinite(targets).all()
    back, known = policy.model_actions(targets, seen, robot)
    assert known[:-1, :robot.num_columns].all() and not known[:, robot.num_columns:].any()
    # Five joints do not meet six numbers: there the rotation gives way.
    columns = [0, 1, 2, 6] if name == 'table_top' else range(robot.num_columns)
    np.testing.assert_allclose(back[:-1, columns], model[:-1, columns], atol=5e-3)
