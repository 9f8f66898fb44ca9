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

"""Keep the tick on time: real-time priority, locked memory, no garbage collection inside it."""

import ctypes
import gc
import os
import resource
import sys
import time

_MCL_CURRENT, _MCL_FUTURE, _MCL_ONFAULT = 1, 2, 4
# Another Python thread may keep the interpreter for this long before the tick gets it.
_SWITCH_INTERVAL_S = 0.0005


def request_priority(priority: int) -> str:
    """
    Put the calling thread under SCHED_FIFO; return '' or why not, with the remedy.

    Threads and processes started by it later do not inherit the priority.
    """
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK,
                              os.sched_param(priority))
    except OSError as error:
        return (f'no real-time priority {priority} ({error.strerror}): ticks may be late by '
                f'milliseconds; allow it with "<user> - rtprio {priority}" in '
                f'/etc/security/limits.conf or LimitRTPRIO={priority} in the systemd unit')
    return ''


def lock_memory() -> str:
    """
    Keep this process's pages in memory once touched; return '' or why not, with the remedy.

    Not tried under a finite limit: there, a later allocation beyond it would fail instead.
    """
    soft, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    remedy = ('allow it with "<user> - memlock unlimited" in /etc/security/limits.conf or '
              'LimitMEMLOCK=infinity in the systemd unit')
    if soft != resource.RLIM_INFINITY and os.geteuid() != 0:
        return f'memory not locked (limit {soft // 1024} kB): a tick may wait for swap; {remedy}'
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mlockall(_MCL_CURRENT | _MCL_FUTURE | _MCL_ONFAULT):
        reason = os.strerror(ctypes.get_errno())
        return f'memory not locked ({reason}): a tick may wait for swap; {remedy}'
    return ''


def unlock_memory() -> None:
    """Undo lock_memory."""
    ctypes.CDLL(None).munlockall()


class QuietInterpreter:
    """
    Takes garbage collection off the tick and does it in the gaps between ticks.

    Collection otherwise starts at any allocation and holds up every thread of the process.
    `begin` and `end` may be called from any thread, `rest` by the tick thread between two ticks.
    """

    def begin(self) -> None:
        """Stop automatic collection and let threads take turns more often."""
        self._was_enabled = gc.isenabled()
        self._switch_interval_s = sys.getswitchinterval()
        gc.collect()
        gc.freeze()  # what exists now lives on: no need to look at it again
        gc.disable()
        sys.setswitchinterval(min(self._switch_interval_s, _SWITCH_INTERVAL_S))
        self._collector = SpareTimeCollector()

    def rest(self, free_s: float) -> None:
        """Use the free_s until the next tick."""
        self._collector.rest(free_s)

    def end(self) -> None:
        """Give collection back to the interpreter."""
        sys.setswitchinterval(self._switch_interval_s)
        gc.unfreeze()
        if self._was_enabled:
            gc.enable()


class SpareTimeCollector:
    """Collects garbage when there is time, for a process that has switched it off otherwise."""

    def __init__(self):
        self._chores = (_Collection(2, every_s=30.0), _Collection(1, every_s=1.0))

    def rest(self, free_s: float) -> None:
        """Do one collection that is due, if it fits well into free_s."""
        now_s = time.monotonic()
        for chore in self._chores:
            if now_s >= chore.due_s and chore.fits(free_s, now_s):
                chore.run(now_s)
                return


class _Collection:
    """Garbage collection up to one generation, and how long it takes here."""

    def __init__(self, generation: int, *, every_s: float):
        self._generation = generation
        self._every_s = every_s
        self._took_s = 0.0  # longest of late
        self.due_s = time.monotonic() + every_s

    def fits(self, free_s: float, now_s: float) -> bool:
        """Return whether to run in free_s; when long overdue always, for memory must not grow."""
        return 2 * self._took_s <= free_s or now_s > self.due_s + 10 * self._every_s

    def run(self, now_s: float) -> None:
        """Collect, and learn how long it takes."""
        gc.collect(self._generation)
        self._took_s = max(time.monotonic() - now_s, 0.9 * self._took_s)
        self.due_s = now_s + self._every_s
