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

"""What the commands that talk to a running node share: joining the domain, finding it, calling."""

from collections.abc import Callable
import os
import threading
import time

import rclpy
from rclpy.action import ActionClient
from rclpy.node import Node

from oxygen_ros.ros.absence import absence
from oxygen_ros.ros.command import complain
from oxygen_ros.ros.command import EXIT_FAILED
from oxygen_ros.ros.command import EXIT_USAGE
from oxygen_ros.ros.command import first_line
from oxygen_ros.ros.command import start_ros
from oxygen_ros.ros.executor import make_executor

FIND_S = 10.0        # discovery takes a second or two, on a busy machine more
ANSWER_S = 10.0
SPIN_S = 0.05


class NoAnswer(RuntimeError):
    """The node is not there or does not answer; the message says what to check."""


class Interrupted(Exception):
    """SIGINT or SIGTERM came while something was waited for."""


class Client(Node):
    """A short-lived node that calls one node by name; everything runs on the caller's thread."""

    def __init__(self, target: str, stopping: threading.Event):
        super().__init__(f'oxygen_client_{os.getpid()}', enable_rosout=False,
                         start_parameter_services=False)
        self.target = target
        self._stopping = stopping
        self._executor = make_executor()
        self._executor.add_node(self)

    def spin(self, condition: Callable[[], object], *, timeout_s: float = float('inf'),
             interruptible: bool = True) -> bool:
        """Spin until the condition is true; return whether it is. Raises Interrupted."""
        give_up_s = time.monotonic() + timeout_s
        while not condition():
            if interruptible and self._stopping.is_set():
                raise Interrupted
            if time.monotonic() > give_up_s:
                return False
            self._executor.spin_once(timeout_sec=SPIN_S)
        return True

    def call(self, kind, name: str, request):
        """Call a service of the node; raises NoAnswer."""
        client = self.create_client(kind, f'{self.target}/{name}')
        self.find(client.service_is_ready)
        future = client.call_async(request)
        if not self.spin(future.done, timeout_s=ANSWER_S):
            raise NoAnswer(f'node {self.target} does not answer within {ANSWER_S:g} s; see its '
                           'log')
        return future.result()

    def latched(self, kind, name: str, profile):
        """Return the newest message of a latched topic of the node; raises NoAnswer."""
        messages = []
        self.create_subscription(kind, f'{self.target}/{name}', messages.append, profile)
        self.find(lambda: messages)
        return messages[-1]

    def action(self, kind, name: str) -> ActionClient:
        """Return a client for an action of the node; raises NoAnswer."""
        client = ActionClient(self, kind, f'{self.target}/{name}')
        self.find(client.server_is_ready)
        return client

    def find(self, is_there: Callable[[], object]) -> None:
        """Wait until the node is there; raises NoAnswer that names those that are."""
        if not self.spin(is_there, timeout_s=FIND_S):
            raise NoAnswer(absence(self, self.target) or
                           f'node {self.target} is there but not ready within {FIND_S:g} s; see '
                           f'its log')

    def close(self) -> None:
        """Leave the network."""
        self._executor.shutdown()
        self.destroy_node()


def run_client(command: str, ros_arguments: list[str], target: str, stopping: threading.Event,
               work: Callable[[Client], int]) -> int:
    """Run a command against the node `target`; return its exit code, errors told in one line."""
    failure = start_ros(ros_arguments)
    if failure:
        return complain(command, failure, EXIT_USAGE)
    try:
        try:
            client = Client(target, stopping)
        except Exception as error:
            return complain(command, f'cannot join the ROS domain: {first_line(error)}; choose a '
                            'free ROS_DOMAIN_ID from 0 to 101', EXIT_FAILED)
        try:
            return work(client)
        except NoAnswer as error:
            return complain(command, str(error), EXIT_FAILED)
        finally:
            client.close()
    finally:
        rclpy.try_shutdown()
