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

"""What the session produces besides commands, onto topics."""

from array import array
from collections.abc import Sequence
import math

from builtin_interfaces.msg import Time
import numpy as np
from std_msgs.msg import String

from oxygen_ros.config import RobotProfile
from oxygen_ros.config import StandingTask
from oxygen_ros.config.tasks import tasks_to_yaml
from oxygen_ros.msg import ActionChunk
from oxygen_ros.msg import MemoryFact
from oxygen_ros.msg import Subtask
from oxygen_ros.msg import TokenDelta
from oxygen_ros.ros import qos
from oxygen_ros.ros.faults import Faults
from oxygen_ros.runtime.session import Listener


class Streams(Listener):
    """
    Publishes chunks, text, speech, subtasks and facts as they come, from the session's threads.

    A slow subscriber cannot hold up the tick: publishing happens outside the tick thread.
    """

    def __init__(self, node, robot: RobotProfile, *, faults: Faults):
        self._node = node
        self._robot = robot
        self._faults = faults
        self._chunks = node.create_publisher(ActionChunk, '~/action_chunk', qos.stream(depth=10))
        self._language = node.create_publisher(TokenDelta, '~/language', qos.stream())
        self._facts = node.create_publisher(MemoryFact, '~/memory', qos.facts())
        self._say = node.create_publisher(String, '~/say', qos.stream(depth=10))
        self._subtask = node.create_publisher(Subtask, '~/subtask', qos.latched())
        self._tasks = node.create_publisher(String, '~/tasks', qos.latched())
        self._instruction = node.create_publisher(
            String, '~/instruction_in_force', qos.latched())
        self._subtask.publish(Subtask())
        self.publish_tasks(())
        self.delta_listeners = []      # called with every types.TokenDelta

    def on_chunk(self, chunk) -> None:
        """Publish a chunk."""
        message = ActionChunk()
        message.header.stamp = self._node.get_clock().now().to_msg()
        message.header.frame_id = self._robot.name
        message.observation_stamp = time_message(chunk.stamp_ns)
        message.frame_id = chunk.frame_id
        message.joint_names = list(self._robot.joint_names)
        message.horizon = len(chunk.actions)
        message.dt = float(chunk.dt_s)
        message.positions = array('f', np.ascontiguousarray(chunk.actions, np.float32).tobytes())
        message.encode_time = float(chunk.encode_s)
        message.denoise_time = float(chunk.denoise_s)
        self._chunks.publish(message)

    def on_delta(self, delta) -> None:
        """Publish a piece of text and pass it on to whoever asked."""
        message = TokenDelta()
        message.stamp = self._node.get_clock().now().to_msg()
        message.observation_stamp = time_message(delta.stamp_ns)
        message.frame_id = delta.frame_id
        message.request_id = delta.request_id
        message.task = delta.task
        message.index = delta.index
        message.text = delta.text
        message.num_tokens = delta.num_tokens
        message.final = delta.final
        message.reason = delta.reason.value if delta.reason else ''
        message.detail = delta.detail
        message.full_text = delta.full_text
        message.time_to_first_token = float(delta.ttft_s)
        message.duration = float(delta.duration_s)
        self._language.publish(message)
        for listener in self.delta_listeners:
            listener(delta)

    def on_fact(self, fact) -> None:
        """Publish a fact."""
        self._facts.publish(fact_message(fact))

    def on_sentence(self, sentence) -> None:
        """Publish a sentence for a speech node."""
        self._say.publish(String(data=sentence.text))

    def on_subtask(self, subtask) -> None:
        """Publish and log what the actions are told from the next frame on."""
        self._subtask.publish(Subtask(
            stamp=self._node.get_clock().now().to_msg(), text=subtask.text, source=subtask.source,
            held=subtask.held, request_id=subtask.request_id, frame_id=subtask.frame_id))
        held = ', held' if subtask.held else ''
        self._node.get_logger().info(f'subtask of the {subtask.source}{held}: {subtask.text}'
                                     if subtask.text else 'no subtask, the instruction holds')

    def publish_tasks(self, tasks: Sequence[StandingTask]) -> None:
        """Publish the standing tasks in force, as a tasks file."""
        self._tasks.publish(String(data=tasks_to_yaml(tasks)))

    def publish_instruction(self, text: str) -> None:
        """Publish the instruction in force, for those who did not hear it when it was given."""
        self._instruction.publish(String(data=text))

    def on_warning(self, text: str) -> None:
        """Log a warning and show it in the status."""
        self._faults.warn(text, text)

    def on_engine_state(self, status) -> None:
        """Log how the engine is doing whenever that changes."""
        logger = self._node.get_logger()
        text = f'engine {status.state.name.lower()}'
        if status.pid:
            text += f', process {status.pid}'
        if status.detail:
            text += f': {status.detail}'
        if status.state.name in ('HUNG', 'RESTARTING', 'FAILED'):
            logger.warning(text)
        else:
            logger.info(text)


def time_message(stamp_ns: int) -> Time:
    """Return nanoseconds as a message."""
    sec, nanosec = divmod(int(stamp_ns), 10 ** 9)
    return Time(sec=sec, nanosec=nanosec)


def fact_message(fact) -> MemoryFact:
    """Return a types.MemoryFact as a message."""
    return MemoryFact(
        stamp=time_message(fact.stamp_ns), fact_id=fact.fact_id, frame_id=fact.frame_id,
        request_id=fact.request_id, subject=fact.subject, relation=fact.relation,
        object=fact.object, superseded=fact.superseded,
        confidence=math.nan if fact.confidence is None else fact.confidence)
