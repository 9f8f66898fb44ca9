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
Recordings into and out of a running node, over real DDS.

Pinned: an incident that cannot be replayed, replay that differs from live, a bag that loops
(SCH-01), a paused or faster clock (TIM-03).
"""

from itertools import pairwise
import os
from pathlib import Path
import signal
import subprocess
import sys

import numpy as np
import pytest
from rcl_interfaces.msg import Parameter
from rcl_interfaces.msg import ParameterType
from rcl_interfaces.msg import ParameterValue
from rcl_interfaces.srv import SetParameters
from ros_helpers import call
from ros_helpers import Listener
from ros_helpers import ROBOT_YAML
from ros_helpers import ROOT
from ros_helpers import wait_until
from rosgraph_msgs.msg import Clock
from std_msgs.msg import String

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'bags'))
from bag_helpers import joints
from bag_helpers import picture
from bag_helpers import S
from bag_helpers import START_NS
from bag_helpers import write_bag

from oxygen_ros.bags.reader import Bag
from oxygen_ros.config import EngineConfig
from oxygen_ros.config import load_robot
from oxygen_ros.evaluation.replay import replay
from oxygen_ros.evaluation.replay import ReplaySetting
from oxygen_ros.msg import ActionChunk
from oxygen_ros.msg import Deadline
from oxygen_ros.ros import qos

NAMESPACE, NODE = 'robot1', 'left'
INSTRUCTION = 'put the blue cube in the tray'     # neither the profile's nor the simulator's
CHUNK, DEADLINE = f'/{NAMESPACE}/{NODE}/action_chunk', f'/{NAMESPACE}/{NODE}/deadline'


def robot_scene(seconds):
    """Return a recording whose joint states never come at the same time as pictures."""
    entries = []
    for index in range(round(10 * seconds)):
        time_ns = START_NS + index * S // 10
        entries.append(joints(time_ns, [0.3 * np.sin(index / 5), 0.1, 0.5],
                              names=('arm', 'elbow', 'gripper')))
        if index % 4 == 0:
            entries += [picture(f'/{slot}/image', time_ns + S // 20, value=10 * index + turn)
                        for turn, slot in enumerate(('front', 'wrist'))]
    return entries


class Tool:
    """One of our commands as a process in the namespace of these tests."""

    def __init__(self, *arguments):
        self.process = subprocess.Popen(
            [sys.executable, '-m', 'oxygen_ros', *arguments, '--ros-args', '-r',
             f'__ns:=/{NAMESPACE}', '-p', 'use_sim_time:=true'],
            cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            env={**os.environ, 'OMP_NUM_THREADS': '1', 'PYTHONUNBUFFERED': '1'})

    def finish(self, *, timeout_s=90.0, number=None):
        """Wait for the end, after a signal where one is given; returns what was said."""
        if number is not None:
            self.process.send_signal(number)
        output, _ = self.process.communicate(timeout=timeout_s)
        return self.process.returncode, output


@pytest.fixture(scope='module')
def tools():
    """Start commands that end with the module, whatever happens."""
    started = []

    def start(*arguments):
        started.append(Tool(*arguments))
        return started[-1]
    yield start
    for tool in started:
        if tool.process.poll() is None:
            tool.process.kill()
            tool.process.wait(10)


@pytest.fixture(scope='module')
def heard(make_node):
    listener = Listener(make_node('replay_listener'))
    listener.listen(ActionChunk, CHUNK, qos.stream())
    listener.listen(Deadline, DEADLINE, qos.status())
    listener.listen(Clock, '/clock', qos.stream(500))
    return listener


@pytest.fixture(scope='module')
def node(heard, simulated_node):
    """Return the node on simulated time of test_node_sim_time.py."""
    return simulated_node


@pytest.fixture(scope='module')
def profile(tmp_path_factory):
    path = tmp_path_factory.mktemp('profile') / 'bench.yaml'
    path.write_text(ROBOT_YAML)
    return path


@pytest.fixture(scope='module')
def bag(tmp_path_factory):
    return write_bag(tmp_path_factory.mktemp('bags') / 'scene', robot_scene(4))


def offline_chunks(bag, profile, *, instruction=''):
    """Return observation stamp -> actions of an offline evaluation."""
    replayed = replay(bag, ReplaySetting(load_robot(str(profile)), EngineConfig(),
                                         instruction=instruction))
    return {chunk.stamp_ns: chunk.actions for _, chunk in replayed.notes.chunks}


def live_chunks(messages):
    """Return observation stamp -> actions of what a node published."""
    return {message.observation_stamp.sec * S + message.observation_stamp.nanosec:
            np.array(message.positions, np.float32).reshape(message.horizon, -1)
            for message in messages}


@pytest.fixture(scope='module')
def incident(tools, node, heard, make_node, bag, profile, tmp_path_factory):
    """Tell a node what to do, show it a scene; return the recording and the chunks it sent."""
    simulator = make_node('simulator').create_publisher(
        String, f'/{NAMESPACE}/instruction', qos.latched())
    simulator.publish(String(data='pick up the red cube'))
    assert tools('say', INSTRUCTION).finish()[0] == 0
    path = tmp_path_factory.mktemp('recordings') / 'incident'
    recorder = tools('record', '--node', NODE, '--output', str(path))
    assert tools('play', str(bag), '--robot', str(profile), '--rate', '0.5').finish(
        timeout_s=200)[0] == 0
    code, said = recorder.finish(number=signal.SIGINT)
    assert code == 0 and CHUNK in said, said
    return path, live_chunks(heard.messages[CHUNK])


@pytest.mark.timeout(600)
def test_live_and_evaluated_offline_a_scene_gives_the_same_actions(incident, bag, profile):
    assert_same(incident[1], offline_chunks(bag, profile, instruction=INSTRUCTION), at_least=3)


@pytest.mark.timeout(600)
def test_an_incident_begins_with_the_instruction_in_force_and_replays_with_it(incident, profile):
    path, _ = incident
    instruction = f'/{NAMESPACE}/instruction'
    with Bag(path) as recorded:
        assert not recorded.faults
        assert {f'/{NAMESPACE}/{topic}' for topic in (
            'front/image', 'wrist/image', 'joint_states', 'command', f'{NODE}/action_chunk',
            f'{NODE}/deadline')} <= set(recorded.types)
        first, *others = recorded.messages([instruction])
        assert recorded.decode(first).data == INSTRUCTION and not others
        assert first.time_ns == min(
            message.time_ns for message in recorded.messages(list(recorded.types)))
        chunks = live_chunks(recorded.decode(message) for message in recorded.messages([CHUNK]))
    assert_same(chunks, offline_chunks(path, profile), at_least=2)


def assert_same(chunks, others, *, at_least) -> None:
    """Assert that chunks of the same observations are equal."""
    both = chunks.keys() & others.keys()
    assert len(both) >= at_least, (sorted(chunks), sorted(others))
    for stamp_ns in both:
        np.testing.assert_array_equal(chunks[stamp_ns], others[stamp_ns])


@pytest.mark.timeout(600)
def test_a_loop_starts_over_and_no_old_action_survives_it(tools, node, heard, bag, profile):
    before = len(heard.messages[CHUNK])
    player = tools('play', str(bag), '--robot', str(profile), '--loop', '--rate', '2')
    wait_until(lambda: len(back_steps(heard.messages['/clock'])) >= 2, timeout_s=120)

    def stamps():
        return [message.observation_stamp.sec * S + message.observation_stamp.nanosec
                for message in heard.messages[CHUNK][before:]]

    wait_until(lambda: any(later < earlier for earlier, later in pairwise(stamps())),
               timeout_s=120)       # a chunk of a look in a later round, whatever the load
    assert player.finish(number=signal.SIGINT)[0] == 0
    assert node.process.poll() is None and 'Traceback' not in node.log


def back_steps(clocks):
    """Return where the clock went back."""
    times_ns = [clock.clock.sec * S + clock.clock.nanosec for clock in clocks]
    return [index for index, (earlier, later) in enumerate(zip(times_ns, times_ns[1:]))
            if later < earlier - S]


@pytest.mark.timeout(600)
def test_pause_stops_the_clock_and_the_actions_and_speed_can_change(tools, node, heard, bag,
                                                                    profile, make_node):
    caller = make_node('replay_caller')
    player = tools('play', str(bag), '--robot', str(profile), '--loop', '--rate', '0.5')
    heard.next('/clock', timeout_s=60)
    assert set_parameter(caller, 'paused', True)
    wait_until(lambda: (heard.last(DEADLINE) and heard.last(DEADLINE).cause ==
                        'waiting_for_clock'), timeout_s=60)
    count = len(heard.messages['/clock'])
    assert set_parameter(caller, 'paused', False) and set_parameter(caller, 'rate', 2.0)
    wait_until(lambda: len(heard.messages['/clock']) > count + 5, timeout_s=60)
    assert not set_parameter(caller, 'rate', -1.0)
    assert player.finish(number=signal.SIGTERM)[0] == 0


def set_parameter(caller, name, value):
    """Set a parameter of the player; returns whether it was taken."""
    kind = (ParameterValue(type=ParameterType.PARAMETER_BOOL, bool_value=value)
            if isinstance(value, bool) else
            ParameterValue(type=ParameterType.PARAMETER_DOUBLE, double_value=value))
    request = SetParameters.Request(parameters=[Parameter(name=name, value=kind)])
    return call(caller, SetParameters, f'/{NAMESPACE}/player/set_parameters',
                request).results[0].successful


@pytest.mark.parametrize('arguments, told', [
    (['play', '/no/such/bag', '--robot', 'so101'], '/no/such/bag does not exist'),
    (['play', 'BAG', '--robot', 'widowx'], 'lacks'),
    (['record', '--output', 'BAG'], 'exists already')])
def test_what_cannot_be_played_or_recorded_is_one_line(tools, bag, arguments, told):
    code, said = tools(*(str(bag) if word == 'BAG' else word for word in arguments)).finish()
    assert code == 1 and told in said and 'Traceback' not in said
