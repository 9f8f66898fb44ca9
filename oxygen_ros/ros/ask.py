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

"""The ~/ask action: a question about what the robot sees now, answered token by token."""

from dataclasses import dataclass
from dataclasses import field
import itertools
import threading

from rclpy.action import ActionServer
from rclpy.action import CancelResponse
from rclpy.action import GoalResponse

from oxygen_ros.action import Ask
from oxygen_ros.ros import qos
from oxygen_ros.ros.faults import Faults
from oxygen_ros.ros.streams import time_message
from oxygen_ros.runtime.session import SessionError
from oxygen_ros.types import EndReason
from oxygen_ros.types import TokenDelta

MAX_QUESTIONS = 32           # open at once; more are refused
GOOD = (EndReason.EOS, EndReason.LENGTH, EndReason.STOP)


@dataclass
class Question:
    """One open goal."""

    goal_handle: object
    pieces: list[str] = field(default_factory=list)
    num_tokens: int = 0
    final: TokenDelta | None = None


class AskServer:
    """
    Serves questions without a waiting thread each.

    Every goal is accepted: one that cannot be answered is aborted at once with reason 'refused'
    and the detail in words, which a rejection could not carry. A goal is only noted; its feedback
    is published from the session's thread, and it is executed (which in rclpy means: finished)
    when its last piece has come.
    The result holds the whole text: a client may lose pieces that its result overtakes.
    """

    def __init__(self, node, *, faults: Faults):
        self._node = node
        self._faults = faults
        self._session = None
        self._lock = threading.Lock()
        self._questions: dict[str, Question] = {}
        self._numbers = itertools.count(1)
        self._server = ActionServer(
            node, Ask, '~/ask', execute_callback=self._finish,
            goal_callback=lambda request: GoalResponse.ACCEPT,
            cancel_callback=faults.guard('ask cancel', self._on_cancel),
            handle_accepted_callback=faults.guard('ask start', self._on_accepted),
            feedback_pub_qos_profile=qos.stream(),
            goal_service_qos_profile=qos.service(), result_service_qos_profile=qos.service(),
            cancel_service_qos_profile=qos.service())

    def attach(self, session) -> None:
        """Ask this session from now on; None: refuse questions."""
        self._session = session

    def destroy(self) -> None:
        """Take the action off the network."""
        self._server.destroy()

    def on_delta(self, delta: TokenDelta) -> None:
        """Pass a piece of an answer on; called from the session's thread."""
        with self._lock:
            question = self._questions.get(delta.request_id)
        if question is None:
            return
        if delta.text:
            question.goal_handle.publish_feedback(
                Ask.Feedback(text=delta.text, index=len(question.pieces)))
            question.pieces.append(delta.text)
        question.num_tokens += delta.num_tokens
        if delta.final:
            question.final = delta
            question.goal_handle.execute()

    def _on_accepted(self, goal_handle) -> None:
        request, session = goal_handle.request, self._session
        request_id = f'ask-{next(self._numbers)}'
        with self._lock:
            refusal = self._refusal(request, session)
            self._questions[request_id] = Question(goal_handle)
        try:
            if refusal:
                raise SessionError(refusal)
            session.ask(
                request.question, request_id=request_id, max_tokens=request.max_tokens,
                priority=request.priority, use_memory=request.use_memory,
                memory_tokens=request.memory_tokens,
                expiry_s=request.deadline if request.deadline > 0 else None)
        except Exception as error:  # the goal is accepted already: it must end with a reason
            self._faults.warn('question refused', f'question refused: {error}')
            self.on_delta(TokenDelta(
                request_id=request_id, task='ask', frame_id=0, stamp_ns=0, index=0, text='',
                num_tokens=0, final=True, reason=EndReason.REFUSED, detail=str(error)))

    def _refusal(self, request, session) -> str:
        """Return why a question cannot be asked, '' if it can."""
        if session is None or not session.active:
            return 'the node is not active; activate it first'
        if not request.question.strip():
            return 'the question is empty'
        if len(self._questions) >= MAX_QUESTIONS:
            return f'{MAX_QUESTIONS} questions are open; ask again when one has ended'
        return ''

    def _on_cancel(self, goal_handle) -> CancelResponse:
        with self._lock:
            found = [request_id for request_id, question in self._questions.items()
                     if question.goal_handle == goal_handle]
        session = self._session
        if not found or session is None:
            return CancelResponse.REJECT
        session.cancel(found[0])
        return CancelResponse.ACCEPT

    def _finish(self, goal_handle) -> Ask.Result:
        """Book the end of a goal whose last piece has come."""
        with self._lock:
            request_id, question = next(
                item for item in self._questions.items() if item[1].goal_handle == goal_handle)
            del self._questions[request_id]
        final = question.final
        if goal_handle.is_cancel_requested:   # booked by now: one thread runs all of rclpy
            goal_handle.canceled()
        elif final.reason in GOOD:
            goal_handle.succeed()
        else:
            goal_handle.abort()
        rate = question.num_tokens / final.duration_s if final.duration_s > 0 else 0.0
        return Ask.Result(
            text=''.join(question.pieces), reason=final.reason.value, detail=final.detail,
            frame_id=final.frame_id, observation_stamp=time_message(final.stamp_ns),
            time_to_first_token=float(final.ttft_s), tokens_per_second=rate,
            facts=list(final.facts))
