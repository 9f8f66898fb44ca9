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

"""Reads one message per 5 s from everything a node says: `python slow_reader.py NODE`."""

import sys
import time

import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node

from oxygen_ros.msg import Deadline
from oxygen_ros.msg import EngineStatus
from oxygen_ros.msg import MemoryFact
from oxygen_ros.msg import TokenDelta
from oxygen_ros.ros import qos


def main(name: str) -> None:
    """Read slowly until killed; say 'one' after the first message."""
    rclpy.init()
    node, executor = Node('slow_reader'), SingleThreadedExecutor()
    heard = []
    for kind, topic, profile in ((TokenDelta, 'language', qos.stream()),
                                 (MemoryFact, 'memory', qos.facts()),
                                 (Deadline, 'deadline', qos.status()),
                                 (EngineStatus, 'engine', qos.status())):
        node.create_subscription(kind, f'{name}/{topic}', heard.append, profile)
    executor.add_node(node)
    while not heard:
        executor.spin_once(timeout_sec=1.0)
    print('one', flush=True)
    while True:
        time.sleep(5.0)
        executor.spin_once(timeout_sec=0.0)


if __name__ == '__main__':
    main(sys.argv[1])
