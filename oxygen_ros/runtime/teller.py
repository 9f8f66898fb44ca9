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

"""Calls the listener from a thread of its own, so that it may take its time."""

from contextlib import suppress
import heapq
import itertools
import logging
import queue
import threading
import time
from typing import Any
from typing import Callable

logger = logging.getLogger(__name__)

Call = tuple[float, int, Callable[[Any], None], Any]   # when, and a number that keeps the order


class Teller:
    """
    Makes calls in order, one at a time; an exception of one is logged and counted.

    A call may be for later; those after it do not wait for it. While it runs, `tell`
    never waits: a subscriber that blocks delays what is published, not the chunks on their way
    to the controller. Before `start` and after `close` calls are made at once on the caller's
    thread.
    """

    def __init__(self):
        self._calls: queue.SimpleQueue[Call | None] = queue.SimpleQueue()
        self._numbers = itertools.count()
        self._thread: threading.Thread | None = None
        self.num_errors = 0

    def start(self) -> None:
        """Start the thread."""
        self._thread = threading.Thread(target=self._run, name='oxygen_listener', daemon=True)
        self._thread.start()

    def tell(self, method: Callable[[Any], None], argument: Any, *, at_s: float = 0.0) -> None:
        """Have method(argument) called, at a steady time if there is a thread."""
        if self._thread is None:
            self._call(method, argument)
        else:
            self._calls.put((at_s, next(self._numbers), method, argument))

    def close(self, *, timeout_s: float = 1.0) -> None:
        """Make all calls that wait, as far as the listener allows within timeout_s."""
        thread, self._thread = self._thread, None
        if thread is None:
            return
        self._calls.put(None)
        if thread is not threading.current_thread():
            thread.join(timeout_s)
            if thread.is_alive():
                logger.warning('the listener is stuck; what it was not told yet is lost')

    def _run(self) -> None:
        waiting: list[Call] = []    # a heap
        is_open = True
        while is_open or waiting:
            wait_s = waiting[0][0] - time.monotonic() if waiting else None
            if waiting and (wait_s <= 0 or not is_open):
                self._call(*heapq.heappop(waiting)[2:])
                continue
            with suppress(queue.Empty):
                call = self._calls.get(timeout=wait_s)
                if call is None:
                    is_open = False
                else:
                    heapq.heappush(waiting, call)

    def _call(self, method: Callable[[Any], None], argument: Any) -> None:
        try:
            method(argument)
        except Exception:
            self.num_errors += 1
            logger.exception('%s failed (%d so far)', method.__name__, self.num_errors)
