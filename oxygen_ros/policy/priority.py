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

"""Gives the threads around the tick enough of the processor to get out of its way."""

import os
import threading

NICE = -10
# The engine process is started by this thread and would inherit its niceness.
ENGINE_STARTER = 'oxygen_host'


def favour_threads() -> int:
    """
    Lower the niceness of this process's threads; return how many were changed.

    The tick has real-time priority, but to run Python it needs the interpreter lock. A callback
    that holds the lock and is pushed off the processor by other programs holds up the tick for
    as long as it waits: measured beside twelve busy processes, three ticks in a hundred were
    missed without this and one with it. Only useful where the tick is real-time; needs the same
    permission.
    """
    spared = {thread.native_id for thread in threading.enumerate()
              if thread.name == ENGINE_STARTER}
    num_changed = 0
    for thread_id in map(int, os.listdir('/proc/self/task')):
        if thread_id in spared:
            continue
        try:
            os.setpriority(os.PRIO_PROCESS, thread_id, NICE)
            num_changed += 1
        except OSError:   # not permitted, or the thread has just ended
            pass
    return num_changed
