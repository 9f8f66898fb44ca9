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
Build backend: setuptools, asking for ROS 2's wheels where no ROS 2 is sourced.

On a machine with ROS 2 from apt the sourced one is used and nothing is downloaded for it.
"""

import os
from pathlib import Path

from setuptools import build_meta
from setuptools.build_meta import *  # noqa: F403

WHEELS = Path(__file__).with_name('build-wheels.txt')


def get_requires_for_build_wheel(config_settings=None):
    """Return setuptools' own requirements, and the wheels that build messages if needed."""
    required = build_meta.get_requires_for_build_wheel(config_settings)
    if not os.environ.get('AMENT_PREFIX_PATH'):
        lines = WHEELS.read_text(encoding='utf-8').splitlines()
        required += [line for line in lines if line and not line.startswith('#')]
    return required
