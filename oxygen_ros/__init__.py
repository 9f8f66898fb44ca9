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
    ros                     the only folder that imports rclpy or messages
    tools, sim              command line tools and the demo robot

test/test_architecture.py enforces this table.
"""

from pkgutil import extend_path

# msg, srv and action are generated into the installed copy of this package.
__path__ = extend_path(__path__, __name__)

__version__ = '0.1.0'
