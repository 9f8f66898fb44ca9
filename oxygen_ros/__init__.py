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
One look, three outputs: a vision-language-action model that acts, speaks and remembers.

Folders are stages of the data path; each may import only what stands above it:

    types, config, clock    nouns that cross boundaries
    rotations               the mathematics of orientations
    models                  what is computed (torch)
    spaces                  what a model's numbers mean on a robot (numpy, Pinocchio)
    checkpoint              bytes -> ready model
    engine                  when it is computed
    policy                  what the robot may be told (numpy only)
    runtime                 session, engine process, metrics
    sensing                 messages of sensors -> observations, live or recorded
    view                    what a person sees of it: a local page, or the rerun viewer
    bags                    recordings, without ROS
    evaluation              what a model would have done on a recording
    ros                     the only folder that imports rclpy or messages
    sim                     the demo robot (MuJoCo)
    training                demonstrations -> weights of the table-top model, and its examination
    tools                   command line tools

test/test_architecture.py enforces this table.
"""

from pkgutil import extend_path

# msg, srv and action are generated into the installed copy of this package.
__path__ = extend_path(__path__, __name__)

__version__ = '0.1.0'


def load_policy(path, dtype='float32', device='cpu', **options):
    """
    Load a checkpoint to use the model without ROS; needs torch and transformers.

    path: a directory in openpi's or LeRobot's layout, or a hub id. dtype: 'float32', 'bfloat16',
    'float16' (GPU) or 'int8' (CPU). device: 'cpu' or 'cuda'. Options, all with a default:

    - robot: name, path or RobotProfile. States and actions are then in the units of that robot;
      without it they are those of the data that the checkpoint was trained on.
    - asset_id: whose statistics, where an openpi checkpoint has those of several robots.
    - tokenizer: file, folder or hub id, where it is not beside the weights.
    - num_steps: of the action head, 10.
    - on_progress: called with a line of text per stage; without it a terminal shows a bar.

    Returns a policy with `act(images, state, instruction, noise=None)` and
    `speak(images, state, prompt, max_tokens)`; doc/reference/load_policy.md has an example.
    Raises oxygen_ros.config.ConfigError, which names what is wrong and the remedy.
    """
    # Imported here: the process with the control timer imports this package and must stay small.
    from oxygen_ros.checkpoint.standalone import load_policy as load

    return load(path, dtype=dtype, device=device, **options)
