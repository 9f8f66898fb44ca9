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

"""Who listens to a player, and whether they take in yet what it is going to play."""

from collections.abc import Sequence
import threading
import time

from lifecycle_msgs.srv import GetState
from rclpy.client import Client
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.task import Future

from oxygen_ros.ros.executor import make_executor

POLL_S, ANSWER_S = 0.05, 0.2
WAIT_HELP = ('wait this long for a listener, and for one that is not active; one that is loading '
             'is always waited for (default: 10)')
UNNAMED = '_NODE_NAME_UNKNOWN_'              # of rmw: the name is still on its way
_PASSING = ('configuring', 'activating')     # end by themselves, after minutes with a large model
_GET_STATE = 'lifecycle_msgs/srv/GetState'


class Audience:
    """
    The nodes that subscribe to what a player publishes.

    A lifecycle node subscribes when it is made and takes nothing in until it is active, for as
    long as its model loads: what is played meanwhile is lost to it.
    """

    def __init__(self, parts: Sequence[Sequence[Publisher]]):
        """Take publishers; of each part one must be listened to."""
        self._parts = parts
        self._asker = Node('player_audience', use_global_arguments=False, enable_rosout=False,
                           start_parameter_services=False)
        self._asked: dict[str, tuple[Client, Future]] = {}    # node -> who asks, and the answer
        self._states: dict[str, str] = {}

    def wait(self, timeout_s: float, stopping: threading.Event) -> str:
        """
        Wait until somebody listens and is active; return '' or what is still missing.

        Gives up when nothing has changed for timeout_s, but not on a node that is on its way.
        """
        executor = make_executor()
        executor.add_node(self._asker)
        missing, since_s = '', time.monotonic()
        try:
            while not stopping.is_set():
                before, missing = missing, self._missing()
                now_s = time.monotonic()
                if missing != before or missing.endswith(_PASSING):
                    since_s = now_s
                if not missing or now_s - since_s >= timeout_s:
                    break
                executor.spin_once(timeout_sec=0)
                stopping.wait(POLL_S)
            return missing
        finally:
            for _, answer in self._asked.values():      # a node should not answer to nobody
                executor.spin_until_future_complete(answer, timeout_sec=ANSWER_S)
            executor.shutdown()
            self._asker.destroy_node()

    def _missing(self) -> str:
        if not all(any(publisher.get_subscription_count() for publisher in part)
                   for part in self._parts):
            return 'nobody listens'
        services = {name for name, kinds in self._asker.get_service_names_and_types()
                    if _GET_STATE in kinds}
        for name in sorted(self._names()):
            state = self._state(name) if f'{name}/get_state' in services else 'active'
            if state != 'active' or name.endswith(UNNAMED):
                return f'{name} is {state}'
        return ''

    def _names(self) -> set[str]:
        """Return the full names of the nodes that listen."""
        infos = [info for part in self._parts for publisher in part
                 for info in self._asker.get_subscriptions_info_by_topic(publisher.topic_name)]
        return {f'{info.node_namespace.rstrip("/")}/{info.node_name}' for info in infos}

    def _state(self, name: str) -> str:
        """Return the newest state that a lifecycle node has told, and ask again if need be."""
        if name not in self._asked:
            client = self._asker.create_client(GetState, f'{name}/get_state')
        else:
            client, answer = self._asked[name]
            if answer.done():
                self._states[name] = answer.result().current_state.label
            if not answer.done() or self._states[name] == 'active':
                return self._states.get(name, 'silent')
        self._asked[name] = client, client.call_async(GetState.Request())
        return self._states.get(name, 'silent')
