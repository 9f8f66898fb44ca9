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

"""Engine processes for the runtime tests."""

from pathlib import Path

import pytest
from runtime_helpers import QUICK
from runtime_helpers import Recorder

from oxygen_ros.config import Camera
from oxygen_ros.config import EngineConfig
from oxygen_ros.config import Joint
from oxygen_ros.config import RobotProfile
from oxygen_ros.runtime import process
from oxygen_ros.runtime.host import EngineHost
from oxygen_ros.runtime.protocol import EngineState


@pytest.fixture
def robot():
    """Return a robot of two joints and one camera."""
    joints = tuple(Joint(name, -1.0, 1.0, 2.0) for name in ('shoulder', 'elbow'))
    return RobotProfile('bench', (Camera('front', 'front/image', max_age_s=5.0),), joints,
                        joints_max_age_s=5.0)


@pytest.fixture
def scripted(monkeypatch):
    """Have engine processes run scripted_worker instead of a model."""
    monkeypatch.setattr(process, 'WORKER_MODULE', 'scripted_worker')
    monkeypatch.setenv('PYTHONPATH', str(Path(__file__).parent))


@pytest.fixture
def make_host(robot, scripted):
    """Return a function that starts a host of scripted engines and waits until it settled."""
    hosts = []

    def make(*, checkpoint='scripted', supervision=QUICK, ready=True):
        recorder = Recorder()
        host = EngineHost(robot, EngineConfig(checkpoint=checkpoint), recorder,
                          supervision=supervision)
        hosts.append(host)
        host.start()
        if ready:
            status = host.wait_ready()
            assert status.state is EngineState.READY, status
        return host, recorder

    yield make
    for host in hosts:
        host.close()
