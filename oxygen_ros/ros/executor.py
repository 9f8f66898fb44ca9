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

"""The executor of every node here, and how a callback that takes long stays out of its way."""

from collections.abc import Callable
from collections.abc import Generator
from concurrent.futures import Future
from concurrent.futures import wait
import threading

from rclpy.context import Context
from rclpy.executors import Executor
from rclpy.executors import SingleThreadedExecutor

try:
    from rclpy.experimental import EventsExecutor
except ImportError:  # Humble
    EventsExecutor = None

POLL_S = 0.002   # other callbacks wait this long at most for the look at an unfinished call


def make_executor(context: Context | None = None) -> Executor:
    """
    Return an executor of one thread: the cheapest that this rclpy has.

    The executors built on a wait set tell rcl of every entity again before each callback. For the
    node on the table-top robot that was 29 % of a core of its 45 %; with events it is 16 % in all,
    and the interpreter is free for the tick.
    """
    kind = EventsExecutor or SingleThreadedExecutor
    return kind(context=context)


def aside(serve: Callable) -> Callable:
    """
    Wrap a service's callback so that it runs in a thread of its own, one call after another.

    Everything else is served meanwhile. The service needs a callback group of its own: an executor
    built on a wait set counts it as busy until the answer is there.
    """
    turn = threading.Lock()

    async def callback(request, response):
        answer: Future = Future()

        def work():
            with turn:
                try:
                    answer.set_result(serve(request, response))
                except Exception as error:  # belongs to whoever called, as without a thread
                    answer.set_exception(error)

        # Not of a pool, whose threads would keep the process from ending.
        threading.Thread(target=work, name='oxygen_service', daemon=True).start()
        # rclpy resumes a coroutine as often as it can, whatever it waits for: so wait here.
        while not wait((answer,), timeout=POLL_S).done:
            await _NextRound()
        return answer.result()

    return callback


class _NextRound:
    """Awaited once: lets the executor do what else there is."""

    def __await__(self) -> Generator[None, None, None]:
        yield
