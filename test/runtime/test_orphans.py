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

"""However the session's process ends, no engine process and no shared memory stays."""

import os
from pathlib import Path
import signal
import subprocess
import sys

import pytest
from runtime_helpers import is_running
from runtime_helpers import wait_until

_PARENT = """
import sys, time
from oxygen_ros.config import Camera, EngineConfig, Joint, RobotProfile
from oxygen_ros.runtime import process
from oxygen_ros.runtime.host import EngineHost
from oxygen_ros.runtime.protocol import Supervision
from runtime_helpers import Recorder
process.WORKER_MODULE = 'scripted_worker'
robot = RobotProfile('bench', (Camera('front', 'image'),), (Joint('a', -1, 1, 1),))
host = EngineHost(robot, EngineConfig(checkpoint=sys.argv[1]), Recorder(),
                  supervision=Supervision())
host.start()
if 'slow' not in sys.argv[1]:
    host.wait_ready()
while not host.status.pid:
    time.sleep(0.01)
print(host.status.pid, flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize('checkpoint, frozen', [
    ('scripted', False), ('scripted', True), ('scripted:slow 60', False)])
def test_a_killed_session_leaves_nothing(checkpoint, frozen):
    """SIGKILL of the parent with an engine that runs, is frozen, or still loads."""
    named = set(os.listdir('/dev/shm'))
    here = Path(__file__)
    environment = dict(os.environ, PYTHONPATH=f'{here.parents[2]}:{here.parent}')
    parent = subprocess.Popen([sys.executable, '-c', _PARENT, checkpoint], env=environment,
                              stdout=subprocess.PIPE, text=True)
    pid = int(parent.stdout.readline())
    assert is_running(pid)
    if frozen:
        os.kill(pid, signal.SIGSTOP)
    parent.kill()
    parent.wait()
    parent.stdout.close()
    wait_until(lambda: not is_running(pid), timeout_s=5, what='end of the engine process')
    assert not {name for name in set(os.listdir('/dev/shm')) - named if 'oxygen' in name}


def test_the_process_that_holds_the_tick_never_imports_torch():
    """Torch's threads and its interpreter lock would make ticks late."""
    code = ("import sys; import oxygen_ros.runtime.session, oxygen_ros.runtime.worker; "
            "sys.exit('torch' in sys.modules)")
    done = subprocess.run([sys.executable, '-c', code], cwd=Path(__file__).parents[2])
    assert done.returncode == 0
