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

"""Threads around a real-time tick are favoured, the engine process is not."""

import os
import subprocess
import sys
import threading

import pytest

from oxygen_ros.policy.priority import ENGINE_STARTER
from oxygen_ros.policy.priority import favour_threads
from oxygen_ros.policy.priority import NICE


def test_every_thread_but_the_one_that_starts_the_engine_is_favoured():
    niceness = {}
    ready, done = threading.Barrier(3), threading.Event()

    def live(name):
        ready.wait()
        done.wait()
        niceness[name] = os.getpriority(os.PRIO_PROCESS, 0)
        niceness[f'child of {name}'] = int(subprocess.run(
            [sys.executable, '-S', '-c', 'import os; print(os.getpriority(os.PRIO_PROCESS, 0))'],
            capture_output=True, text=True).stdout)

    threads = [threading.Thread(target=live, args=(name,), name=name)
               for name in (ENGINE_STARTER, 'spin')]
    before = os.getpriority(os.PRIO_PROCESS, 0)
    for thread in threads:
        thread.start()
    ready.wait()
    try:
        num_changed = favour_threads()
    finally:
        done.set()
        for thread in threads:
            thread.join()
        restore(before)
    if not num_changed:
        pytest.skip('raising priority is not permitted here')
    assert niceness['spin'] == NICE
    assert niceness[ENGINE_STARTER] == niceness[f'child of {ENGINE_STARTER}'] == before


def restore(niceness: int) -> None:
    """Put all threads back."""
    for thread_id in map(int, os.listdir('/proc/self/task')):
        os.setpriority(os.PRIO_PROCESS, thread_id, niceness)
