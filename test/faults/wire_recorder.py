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

"""
An independent subscriber in a process of its own: writes down every command on the wire.

usage: python wire_recorder.py TOPIC FILE; a line per command: steady ns of arrival, positions.
It is a measuring instrument: where permitted it runs before everything but the control tick, so
that what it sees late or never was sent late or never.
"""

from contextlib import suppress
import os
import signal
import sys
import time

import rclpy
from rclpy.qos import QoSProfile
from rclpy.signals import SignalHandlerOptions
from trajectory_msgs.msg import JointTrajectory


def main(topic: str, path: str) -> None:
    """Record until SIGTERM."""
    stopping = []
    signal.signal(signal.SIGTERM, lambda *_: stopping.append(True))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(40))   # its threads inherit it
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    node = rclpy.create_node('wire_recorder')
    with open(path, 'w', encoding='utf-8') as file:
        def record(message):
            numbers = ' '.join(map(repr, message.points[0].positions))
            file.write(f'{time.monotonic_ns()} {len(message.points)} {numbers}\n')
            file.flush()
        node.create_subscription(JointTrajectory, topic, record, QoSProfile(depth=500))
        while not stopping:
            rclpy.spin_once(node, timeout_sec=0.1)
    rclpy.try_shutdown()


if __name__ == '__main__':
    main(*sys.argv[1:])
