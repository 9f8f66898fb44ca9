#!/usr/bin/env python3
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
"""
Measures how far each precision moves the actions from float32: the table of doc/explanation.

    .venv/bin/python scripts/measure_precision.py --model tiny --weights bfloat16 int8
    .venv/bin/python scripts/measure_precision.py --checkpoint DIR --weights float16 --device cuda

Root mean square and largest change over that of the actions themselves, model units, the same
noise, several pictures.
"""

import argparse
import sys

import numpy as np

from oxygen_ros import load_policy


def actions_of(policy, num_pictures: int) -> np.ndarray:
    """Return model actions [pictures, horizon, action_dim] for smooth random pictures."""
    rng, rows = np.random.default_rng(0), []
    for _ in range(num_pictures):
        images = {camera: rng.integers(0, 256, (6, 8, 3), np.uint8).repeat(40, 0).repeat(40, 1)
                  for camera in policy.cameras}
        state = rng.uniform(-1, 1, policy.state_size)
        rows.append(policy.act(images, state, 'pick up the red cube').model_actions)
    return np.stack(rows)


def main() -> int:
    """Print one line per precision."""
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument('--model', default='tiny', help='a builtin size')
    parser.add_argument('--checkpoint', default='', help='a directory instead')
    parser.add_argument('--robot', default='so101')
    parser.add_argument('--weights', nargs='+', default=['bfloat16', 'int8'])
    parser.add_argument('--device', default='cpu')
    parser.add_argument('--pictures', type=int, default=16)
    options = parser.parse_args()
    name = options.checkpoint or f'builtin:{options.model}'
    robot = '' if options.checkpoint else options.robot
    exact = actions_of(load_policy(name, robot=robot, device=options.device), options.pictures)
    size = np.sqrt(np.square(exact).mean())
    for weights in options.weights:
        policy = load_policy(name, weights, options.device, robot=robot)
        change = actions_of(policy, options.pictures) - exact
        print(f'{name} {weights}: {np.sqrt(np.square(change).mean()) / size:.2%} root mean '
              f'square, {np.abs(change).max() / size:.2%} at most')
    return 0


if __name__ == '__main__':
    sys.exit(main())
