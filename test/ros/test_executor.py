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

"""One thread serves everything: what takes long must not hold up the rest, on any rclpy."""

import time

from background import spinning
import pytest
import rclpy
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from ros_domain import draw_domain
from ros_helpers import LIMIT_S
from std_srvs.srv import Trigger

from oxygen_ros.ros.executor import aside
from oxygen_ros.ros.executor import make_executor

SLOW_S = 0.6


@pytest.fixture(params=[make_executor, SingleThreadedExecutor], ids=['newest', 'humble'])
def served(request):
    """Return a spinning executor's context and what it serves: a slow and a fast service."""
    context = rclpy.Context()
    rclpy.init(context=context, domain_id=draw_domain())
    node, executor = Node('server', context=context), request.param(context=context)

    def slow(_, response):
        time.sleep(SLOW_S)
        response.message = f'{time.monotonic()}'
        return response

    def fast(_, response):
        response.message = f'{time.monotonic()}'
        return response

    node.create_service(Trigger, 'slow', aside(slow),
                        callback_group=MutuallyExclusiveCallbackGroup())
    node.create_service(Trigger, 'fast', fast)
    executor.add_node(node)
    with spinning(executor):
        yield context
    node.destroy_node()
    context.try_shutdown()


def test_a_slow_service_holds_up_no_other_and_is_called_one_at_a_time(served):
    node, executor = Node('caller', context=served), make_executor(served)
    executor.add_node(node)
    slow, fast = (node.create_client(Trigger, name) for name in ('slow', 'fast'))
    assert slow.wait_for_service(LIMIT_S) and fast.wait_for_service(LIMIT_S)
    start_s, start_cpu_s = time.monotonic(), time.process_time()
    slow_answers = [slow.call_async(Trigger.Request()) for _ in range(2)]
    fast_answer = fast.call_async(Trigger.Request())
    give_up_s = start_s + 10
    while not all(answer.done() for answer in slow_answers) and time.monotonic() < give_up_s:
        executor.spin_once(timeout_sec=0.1)
    first_s, second_s = sorted(float(answer.result().message) for answer in slow_answers)
    assert float(fast_answer.result().message) < first_s
    assert second_s - first_s >= SLOW_S, 'they ran at the same time'
    assert time.process_time() - start_cpu_s < 0.5 * (second_s - start_s), 'it waits busily'
    executor.shutdown()
    node.destroy_node()
