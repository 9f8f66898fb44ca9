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
_COLLECT_EVERY_S = 1.0
_COLLECT_ALL_EVERY = 30  # in collections of the young generations


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
        self._next_s = time.monotonic() + _COLLECT_EVERY_S
        self._num_collections = 0
        self._took_s = [0.0, 0.0]  # longest of late, young generations and all

    def rest(self, free_s: float) -> None:
        """Collect if it is time to and the last such collection fitted well into free_s."""
        now_s = time.monotonic()
        if now_s < self._next_s:
            return
        is_full = self._num_collections % _COLLECT_ALL_EVERY == _COLLECT_ALL_EVERY - 1
        overdue = now_s > self._next_s + 10 * _COLLECT_EVERY_S  # memory must stay bounded
        if 2 * self._took_s[is_full] > free_s and not overdue:
            is_full = False
            if 2 * self._took_s[is_full] > free_s:
                return
        gc.collect(2 if is_full else 1)
        took_s = time.monotonic() - now_s
        self._took_s[is_full] = max(took_s, 0.9 * self._took_s[is_full])
        self._num_collections += 1
        self._next_s = now_s + _COLLECT_EVERY_S

    def end(self) -> None:
        """Give collection back to the interpreter."""
        sys.setswitchinterval(self._switch_interval_s)
        gc.unfreeze()
        if self._was_enabled:
            gc.enable()
