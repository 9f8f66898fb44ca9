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

"""Spins an executor beside a test."""

from contextlib import contextmanager
import threading

from rclpy.exceptions import InvalidHandle


@contextmanager
def spinning(executor):
    """Spin in a thread, then end the thread and the executor."""
    stopping = threading.Event()

    def spin():
        while not stopping.is_set():
            try:
                executor.spin_once(timeout_sec=0.1)
            except InvalidHandle:      # a test destroyed something in this moment
                pass

    thread = threading.Thread(target=spin, daemon=True)
    thread.start()
    try:
        yield executor
    finally:
        stopping.set()
        thread.join(timeout=5)
        executor.shutdown()
