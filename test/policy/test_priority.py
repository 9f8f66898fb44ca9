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

"""Threads around a real-time tick are favoured, the processes they start are not."""

from contextlib import suppress
import os
import subprocess
import sys
import threading

import pytest

from oxygen_ros.policy.priority import favour_threads
from oxygen_ros.policy.priority import PRIORITY

SHOW_SCHEDULER = 'import os; print(os.sched_getscheduler(0))'


def test_every_ordinary_thread_is_favoured_but_not_its_children():
    """The engine is started by one of these threads and must not run at their priority."""
    seen = {}
    ready, done = threading.Barrier(2), threading.Event()

    def live():
        ready.wait()
        done.wait()
        seen['thread'] = os.sched_getscheduler(0) & ~os.SCHED_RESET_ON_FORK
        seen['priority'] = os.sched_getparam(0).sched_priority
        seen['child'] = int(subprocess.run([sys.executable, '-S', '-c', SHOW_SCHEDULER],
                                           capture_output=True, text=True).stdout)

    thread = threading.Thread(target=live)
    thread.start()
    ready.wait()
    try:
        num_changed = favour_threads()
    finally:
        done.set()
        thread.join()
        for thread_id in map(int, os.listdir('/proc/self/task')):
            with suppress(ProcessLookupError):   # a joined thread may be on its way out
                os.sched_setscheduler(thread_id, os.SCHED_OTHER, os.sched_param(0))
    if not num_changed:
        pytest.skip('raising priority is not permitted here')
    assert seen == {'thread': os.SCHED_RR, 'priority': PRIORITY, 'child': os.SCHED_OTHER}
