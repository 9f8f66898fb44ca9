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

"""Helpers of the ROS tests: a node process, a robot that publishes, a listener."""

from array import array
from collections import defaultdict
from collections.abc import Callable
import ctypes
import os
from pathlib import Path
import signal
import subprocess
import sys
import threading
import time

from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from lifecycle_msgs.srv import GetState
import numpy as np
from rcl_interfaces.srv import SetParameters
from rclpy.action import ActionClient
from rclpy.node import Node
from rclpy.parameter import Parameter
from sensor_msgs.msg import Image
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from oxygen_ros.action import Ask
from oxygen_ros.msg import Deadline
from oxygen_ros.ros import qos

ROOT = Path(__file__).resolve().parents[2]
LIMIT_S = 60.0            # to wait for anything: patience costs nothing, and machines are busy
REPLAN_HZ = 3.0           # of the running node: leaves time for texts on a busy machine
JOINTS = ('arm', 'elbow', 'gripper')
ROBOT_YAML = """
name: bench
cameras:
  front: {topic: front/image, max_age_s: 0.5}
  wrist: {topic: wrist/image, max_age_s: 0.5}
joint_states: {topic: joint_states, max_age_s: 0.5}
joints:
  arm: {lower: -1.5, upper: 1.5, max_velocity: 2.0}
  elbow: {lower: -1.5, upper: 1.5, max_velocity: 2.0}
  gripper: {lower: 0.0, upper: 1.0, max_velocity: 3.0}
actions: {space: joint_delta, rate_hz: 20, scale: [0.05, 0.05, 0.05]}
control_rate_hz: 50
command: {topic: command, type: joint_trajectory}
start_jump: 0.3
instruction: pick up the red cube
"""


def wait_until(condition: Callable[[], object], *, timeout_s: float = LIMIT_S):
    """Return what the condition returns once it is true; fail after timeout_s."""
    give_up_s = time.monotonic() + timeout_s
    while time.monotonic() < give_up_s:
        result = condition()
        if result:
            return result
        time.sleep(0.01)
    raise AssertionError(f'not within {timeout_s} s: {condition}')


_LIBC = ctypes.CDLL(None)   # loaded here: a child between fork and exec must not


def die_with_parent() -> None:
    """Leave no process behind when the tests are killed; hear Ctrl-C even if they do not."""
    _LIBC.prctl(1, signal.SIGKILL)   # PR_SET_PDEATHSIG
    signal.signal(signal.SIGINT, signal.SIG_DFL)   # a shell ignores it for what it does beside


class NodeProcess:
    """One real node in a process of its own; its output goes to a file."""

    def __init__(self, folder: Path, *, parameters=None, arguments=(), ros_arguments=(), env=None):
        folder.mkdir(parents=True, exist_ok=True)
        self.json_file = folder / 'run.json'
        self._log_path = folder / 'log.txt'
        robot_file = folder / 'bench.yaml'
        robot_file.write_text(ROBOT_YAML)
        values = {'robot': str(robot_file), 'json_file': str(self.json_file), **(parameters or {})}
        command = [sys.executable, '-m', 'oxygen_ros.ros.node', *arguments, '--ros-args']
        for name, value in values.items():
            command += ['-p', f'{name}:={value}']
        self._log = self._log_path.open('w')
        self.process = subprocess.Popen(
            command + list(ros_arguments), stdout=self._log, stderr=subprocess.STDOUT, cwd=ROOT,
            env={**os.environ, 'OMP_NUM_THREADS': '1', 'PYTHONUNBUFFERED': '1', **(env or {})},
            start_new_session=True, preexec_fn=die_with_parent)

    @property
    def log(self) -> str:
        """Return everything said so far."""
        return self._log_path.read_text()

    def wait_for_log(self, text: str, *, timeout_s: float = LIMIT_S) -> None:
        """Wait until the log has text."""
        give_up_s = time.monotonic() + timeout_s
        while text not in self.log:
            assert self.process.poll() is None, f'the node ended:\n{self.log}'
            assert time.monotonic() < give_up_s, f'{text!r} not in the log:\n{self.log}'
            time.sleep(0.05)

    def wait(self, *, timeout_s: float = 15.0) -> int:
        """Return the exit code."""
        return self.process.wait(timeout_s)

    def signal(self, number: int) -> None:
        """Send a signal to the whole group, as Ctrl-C in a terminal does."""
        os.killpg(self.process.pid, number)

    def stop(self) -> int:
        """End it as a terminal would; returns the exit code."""
        if self.process.poll() is None:
            self.signal(signal.SIGINT)
        try:
            return self.process.wait(10)
        finally:
            self.kill()

    def kill(self) -> None:
        """Leave nothing behind, whatever happened."""
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait(5)
        self._log.close()


def call(node: Node, kind, name: str, request, *, timeout_s: float = LIMIT_S):
    """Call a service from a test thread."""
    client = node.create_client(kind, name)
    try:
        assert client.wait_for_service(timeout_s), f'no service {name}'
        future = client.call_async(request)
        wait_until(future.done, timeout_s=timeout_s)
        return future.result()
    finally:
        node.destroy_client(client)


def change_state(node: Node, transition_id: int, *, name: str = 'oxygen', label: str = '',
                 timeout_s: float = LIMIT_S) -> bool:
    """Ask for a transition; return whether it was done."""
    request = ChangeState.Request(transition=Transition(id=transition_id, label=label))
    return call(node, ChangeState, f'{name}/change_state', request, timeout_s=timeout_s).success


def state_of(node: Node, *, name: str = 'oxygen', timeout_s: float = LIMIT_S) -> str:
    """Return the lifecycle state as a word."""
    response = call(node, GetState, f'{name}/get_state', GetState.Request(), timeout_s=timeout_s)
    return response.current_state.label


class FakeRobot:
    """Two cameras at 20 Hz and joint states at 50 Hz, with knobs for what can go wrong."""

    def __init__(self, node: Node, *, stamp_ns: Callable[[], int] | None = None):
        self._node = node
        self._stamp_ns = stamp_ns or (lambda: node.get_clock().now().nanoseconds)
        self.joint_order = list(JOINTS)
        self.positions = {'arm': 0.1, 'elbow': -0.2, 'gripper': 0.5}
        self.silent: set[str] = set()              # sources that send nothing
        self.frozen: dict[str, Image] = {}         # cameras that repeat one message
        self.spoil_joints = lambda message: None   # changes joint states before they go out
        self.cameras = {slot: node.create_publisher(Image, f'{slot}/image', qos.camera('reliable'))
                        for slot in ('front', 'wrist')}
        self._joints = node.create_publisher(JointState, 'joint_states', qos.stream(10))
        self._instruction = node.create_publisher(String, 'instruction', qos.status())
        self._rng = np.random.default_rng(0)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def freeze(self, slot: str) -> None:
        """Let a camera repeat its next picture for ever."""
        self.frozen[slot] = self._picture()

    def restart(self, slot: str) -> None:
        """Replace the publisher of a camera that is silent, as a driver that starts again."""
        old = self.cameras[slot]
        self.cameras[slot] = self._node.create_publisher(
            Image, f'{slot}/image', qos.camera('reliable'))
        self._node.destroy_publisher(old)

    def instruct(self, text: str) -> None:
        """Publish an instruction."""
        self._instruction.publish(String(data=text))

    def stop(self) -> None:
        """Publish no more."""
        self._stopping.set()
        self._thread.join(timeout=5)

    def _run(self) -> None:
        count = 0
        start_s = time.monotonic()
        while not self._stopping.is_set():
            stamp_ns = self._stamp_ns()
            if 'joint_states' not in self.silent:
                message = JointState(name=list(self.joint_order))
                message.position = [self.positions[name] for name in self.joint_order]
                _stamp(message, stamp_ns)
                self.spoil_joints(message)
                self._joints.publish(message)
            if count % 5 in (0, 2):
                for slot, publisher in self.cameras.items():
                    if slot not in self.silent:
                        publisher.publish(self.frozen.get(slot) or self._picture())
            count += 1
            time.sleep(max(0.0, start_s + count * 0.02 - time.monotonic()))

    def _picture(self) -> Image:
        message = Image(encoding='rgb8', width=64, height=64, step=192)
        message.data = array('B', self._rng.bytes(64 * 64 * 3))
        _stamp(message, self._stamp_ns())
        return message


def _stamp(message, stamp_ns: int) -> None:
    message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp_ns, 10 ** 9)


class Listener:
    """Keeps what arrives on topics, with the steady time of arrival."""

    def __init__(self, node: Node):
        self._node = node
        self.messages = defaultdict(list)
        self.arrivals_s = defaultdict(list)

    def listen(self, kind, topic: str, profile) -> None:
        """Subscribe to one topic."""
        def keep(message):
            self.messages[topic].append(message)
            self.arrivals_s[topic].append(time.monotonic())
        self._node.create_subscription(kind, topic, keep, profile)

    def last(self, topic: str):
        """Return the newest message, None if there was none."""
        return self.messages[topic][-1] if self.messages[topic] else None

    def next(self, topic: str, *, timeout_s: float = LIMIT_S):
        """Wait for a message that comes after this call."""
        count = len(self.messages[topic])
        wait_until(lambda: len(self.messages[topic]) > count, timeout_s=timeout_s)
        return self.messages[topic][-1]


def verdict(heard, wanted: str, cause: str = '', *, timeout_s: float = LIMIT_S) -> Deadline:
    """Wait until the newest tick was of this kind."""
    def newest():
        message = heard.last('oxygen/deadline')
        return message if (message.verdict, message.cause) == (wanted, cause) else None
    return wait_until(newest, timeout_s=timeout_s)


def set_parameter(caller, name: str, value: float) -> None:
    """Set a number of the running node."""
    parameter = Parameter(name, value=value).to_parameter_msg()
    result, = call(caller, SetParameters, 'oxygen/set_parameters',
                   SetParameters.Request(parameters=[parameter])).results
    assert result.successful, result.reason


def diagnostic(heard, part: str):
    """Return a part of the next diagnostics."""
    return next(status for status in heard.next('/diagnostics').status
                if status.name == f'/oxygen: {part}')


def ask(caller, heard, question: str, **fields):
    """Start a question; returns (goal handle, feedback messages)."""
    client = ActionClient(caller, Ask, 'oxygen/ask')
    assert client.wait_for_server(LIMIT_S)
    feedback = []
    future = client.send_goal_async(Ask.Goal(question=question, **fields),
                                    feedback_callback=lambda message: feedback.append(
                                        message.feedback))
    wait_until(future.done)
    return future.result(), feedback


def result_of(goal_handle):
    """Wait for the end of a question."""
    future = goal_handle.get_result_async()
    wait_until(future.done)
    return future.result()
