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

"""ROS domains for tests: no two processes of any test run here ever share one."""

import fcntl
from pathlib import Path
import random
import tempfile

_held = []   # open lock files; a domain is given back when its process ends


def draw_domain() -> int:
    """Return a domain from 1 to 100 that no other test process on this machine has drawn."""
    numbers = list(range(1, 101))
    random.SystemRandom().shuffle(numbers)
    for number in numbers:
        lock = (Path(tempfile.gettempdir()) / f'oxygen_ros_test_domain_{number}.lock').open('w')
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.close()
            continue
        _held.append(lock)
        return number
    raise RuntimeError('all ROS domains from 1 to 100 are in use by tests; end some of them')
