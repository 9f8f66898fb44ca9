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

"""Services: ~/recall, ~/set_subtask, ~/stop, ~/resume, ~/reset."""

from collections.abc import Callable

from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from std_srvs.srv import Trigger

from oxygen_ros.ros.executor import aside
from oxygen_ros.ros.faults import Faults
from oxygen_ros.ros.streams import fact_message
from oxygen_ros.runtime.subtask import SubtaskError
from oxygen_ros.srv import Recall
from oxygen_ros.srv import SetSubtask

NOT_ACTIVE = 'the node is not active; activate it first'
NOT_CONFIGURED = 'the node is not configured; call its configure transition first'


class Services:
    """What other nodes and people may call. Every call answers, also while not configured."""

    def __init__(self, node, *, faults: Faults, on_reset: Callable[[str], None]):
        self._session = None
        self._faults = faults
        self._on_reset = on_reset
        # A stop must not wait behind a slow recall.
        node.create_service(Recall, '~/recall', aside(self._recall),
                            callback_group=MutuallyExclusiveCallbackGroup())
        node.create_service(SetSubtask, '~/set_subtask', self._set_subtask)
        for name, action in (('~/stop', self._stop), ('~/resume', self._resume),
                             ('~/reset', self._reset)):
            node.create_service(Trigger, name, self._trigger(action))

    def attach(self, session) -> None:
        """Serve this session from now on; None: answer that there is none."""
        self._session = session

    def _trigger(self, action: Callable) -> Callable:
        """Wrap a verb as a Trigger service; a failure is an answer, not an exception."""
        def serve(_, response):
            try:
                response.message = NOT_CONFIGURED if self._session is None else action()
                response.success = self._session is not None
            except Exception as error:
                self._faults.exception('service', error)
                response.success, response.message = False, str(error)
            return response
        return serve

    def _stop(self) -> str:
        self._session.stop('stop service')
        return 'stopped; call resume to go on'

    def _resume(self) -> str:
        self._session.resume()
        return 'goes on with the next observation'

    def _reset(self) -> str:
        self._on_reset('reset service')
        return 'frames, chunks and texts are forgotten'

    def _set_subtask(self, request, response):
        session = self._session
        if session is None or not session.active:
            response.success, response.message = False, NOT_ACTIVE
            return response
        try:
            if request.hold:
                subtask = session.subtasks.hold(request.text)
            else:
                subtask = session.subtasks.release()
        except SubtaskError as error:
            response.success, response.message = False, str(error)
            return response
        response.success = True
        response.message = (f'{"held" if subtask.held else "follows the model"}: '
                            f'{subtask.text or "no subtask, the instruction holds"}')
        return response

    def _recall(self, request, response):
        session = self._session
        if session is None:
            response.success, response.message = False, NOT_CONFIGURED
            return response
        try:
            facts = session.recall(
                subject=request.subject, relation=request.relation, text=request.text,
                after_ns=_time_ns(request.after), before_ns=_time_ns(request.before),
                history=request.history, limit=request.limit or 100)
        except Exception as error:
            self._faults.exception('recall', error)
            response.success, response.message = False, str(error)
            return response
        response.facts = [fact_message(fact) for fact in facts]
        response.success, response.message = True, f'{len(facts)} facts'
        return response


def _time_ns(stamp) -> int:
    return stamp.sec * 10 ** 9 + stamp.nanosec
