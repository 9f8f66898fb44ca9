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

"""Makes rclpy's lifecycle services safe: a wrong request is an answer, not the end of the node."""

from lifecycle_msgs.srv import ChangeState
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup

from oxygen_ros.ros.executor import aside
from oxygen_ros.ros.faults import Faults


def harden(node, *, faults: Faults) -> None:
    """
    Guard the lifecycle services of a node that was just made.

    Up to Humble an impossible transition raises out of the service callback and ends the process.
    And the queries share a callback group with change_state, so nobody can ask for the state
    while a checkpoint loads: change_state gets its own, and its thread.
    """
    for service in node.services:
        if service.srv_type is ChangeState:
            service.callback = aside(_answering(service.callback, faults))
            service.callback_group = MutuallyExclusiveCallbackGroup()
            service.callback_group.add_entity(service)


def _answering(callback, faults: Faults):
    def change_state(request, response):
        response.success = False
        try:
            return callback(request, response)
        except Exception as error:
            asked = request.transition.label or request.transition.id
            faults.warn('lifecycle', f'transition {asked} refused: {error}')
            return response
    return change_state
