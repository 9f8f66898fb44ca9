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


"""The simulated robot as a process: rates, pixels, commands of every form, clean end."""

from array import array
import json
import signal

import numpy as np
import pytest
from rclpy.qos import DurabilityPolicy
from rclpy.qos import qos_profile_sensor_data
from rclpy.qos import QoSProfile
from rclpy.qos import ReliabilityPolicy
from sensor_msgs.msg import Image
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_msgs.msg import String
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory
from trajectory_msgs.msg import JointTrajectoryPoint
import yaml

from oxygen_ros.config.resources import find_share_file
from oxygen_ros.sim.table_top import HOME

MODULE = 'oxygen_ros.ros.sim_node'
LATCHED = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE,
                     durability=DurabilityPolicy.TRANSIENT_LOCAL)


def positions(listener):
    """Return the newest joint positions by name."""
    message = listener.messages('joint_states')[-1]
    return dict(zip(message.name, message.position, strict=True))


@pytest.fixture
def arm(listener, start):
    """Start the simulated arm and wait until it speaks."""
    def begin(*arguments):
        listener.subscribe(JointState, 'joint_states', qos_profile_sensor_data)
        process = start(MODULE, *arguments)
        listener.wait_for(lambda: listener.heard['joint_states'] or process.poll() is not None,
                          'joint states')
        assert process.poll() is None, process.stderr.read()
        return process
    return begin


def test_pictures_and_joint_states_arrive_at_their_rates(listener, arm, tmp_path):
    listener.subscribe(Image, 'front/image', qos_profile_sensor_data)
    listener.subscribe(Image, 'wrist/image', qos_profile_sensor_data)
    listener.subscribe(String, 'instruction', LATCHED)
    process = arm('--seconds', '4', '--json', str(tmp_path / 'sim.json'),
                  '--instruction', 'put the blue cube in the tray')
    assert process.wait(timeout=30) == 0, process.stderr.read()

    figures = json.loads((tmp_path / 'sim.json').read_text(encoding='utf-8'))
    # A machine that is busy with other things skips steps, but never loses or doubles one.
    assert figures['control_steps'] + figures['steps_skipped'] == pytest.approx(200, abs=10)
    assert figures['control_steps'] > 40
    for topic, wanted_hz in (('joint_states', 50), ('front/image', 20), ('wrist/image', 20)):
        times_s = [arrival_s for arrival_s, _ in listener.heard[topic]]
        rate_hz = (len(times_s) - 1) / (times_s[-1] - times_s[0])
        assert rate_hz < 1.1 * wanted_hz, topic
        if figures['steps_skipped'] < 10:
            assert rate_hz > 0.85 * wanted_hz, topic
    for slot, size in (('front', 96), ('wrist', 96)):
        first = listener.messages(f'{slot}/image')[0]
        assert (first.width, first.height, first.encoding) == (size, size, 'rgb8')
        assert first.step == 3 * size
        assert np.frombuffer(first.data, np.uint8).std() > 15, f'{slot} shows one flat colour'
    stamps = [{(m.header.stamp.sec, m.header.stamp.nanosec) for m in listener.messages(topic)}
              for topic in ('front/image', 'wrist/image')]
    # Both cameras of one moment carry one stamp.
    assert len(stamps[0] & stamps[1]) > 0.9 * len(stamps[0])
    assert [m.data for m in listener.messages('instruction')] == ['put the blue cube in the tray']
    assert figures['rendering'] in ('egl', 'osmesa')


def trajectory(joints):
    point = JointTrajectoryPoint(positions=list(joints.values()))
    point.time_from_start.nanosec = 20_000_000
    return JointTrajectory(joint_names=list(joints), points=[point])


def multi_array(joints):
    return Float64MultiArray(data=array('d', [joints.get(name, HOME[i]) for i, name in enumerate((
        'shoulder_pan', 'shoulder_lift', 'elbow_flex', 'wrist_flex', 'wrist_roll', 'gripper'))]))


def joint_state(joints):
    return JointState(name=list(joints), position=list(joints.values()))


@pytest.mark.parametrize(('command_type', 'make'), [
    ('joint_trajectory', trajectory), ('float64_multi_array', multi_array),
    ('joint_state', joint_state)])
def test_arm_goes_where_a_command_says(listener, arm, tmp_path, command_type, make):
    profile = yaml.safe_load(find_share_file('config/robots/so101.yaml').read_text())
    profile['command']['type'] = command_type
    (tmp_path / 'robot.yaml').write_text(yaml.safe_dump(profile, sort_keys=False))
    arm('--robot', str(tmp_path / 'robot.yaml'))
    # Other order than the profile's: joints are matched by name where the message has names.
    message = make({'gripper': 1.2, 'shoulder_pan': 0.6})
    publisher = listener.node.create_publisher(type(message), 'command', 1)
    listener.wait_for(publisher.get_subscription_count, 'the command subscription')
    publisher.publish(message)

    def arrived():
        now = positions(listener)
        return abs(now['shoulder_pan'] - 0.6) < 0.03 and abs(now['gripper'] - 1.2) < 0.03
    listener.wait_for(arrived, 'shoulder_pan at 0.6 rad and gripper at 1.2 rad')


def test_bad_commands_move_nothing_and_are_named(listener, arm, tmp_path):
    process = arm('--json', str(tmp_path / 'sim.json'))
    publisher = listener.node.create_publisher(JointTrajectory, 'command', 1)
    listener.wait_for(publisher.get_subscription_count, 'the command subscription')
    before = positions(listener)
    for bad in (trajectory({'shoulder_pan': float('nan'), 'gripper': 1.5}),
                JointTrajectory(joint_names=['gripper']),
                trajectory({'sholder_pan': 1.0})):
        publisher.publish(bad)
        seen = len(listener.heard['joint_states'])
        listener.wait_for(lambda seen=seen: len(listener.heard['joint_states']) > seen + 15,
                          'joint states')
    for name, value in positions(listener).items():
        assert value == pytest.approx(before[name], abs=0.05)
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=20)
    assert process.returncode == 0
    assert 'command refused' in errors
    figures = json.loads((tmp_path / 'sim.json').read_text(encoding='utf-8'))
    assert (figures['commands_received'], figures['commands_refused']) == (3, 3)
    assert 'Traceback' not in errors


def test_reset_brings_the_arm_back(listener, arm):
    arm('--seed', '3')
    publisher = listener.node.create_publisher(JointTrajectory, 'command', 1)
    listener.wait_for(publisher.get_subscription_count, 'the command subscription')
    publisher.publish(trajectory({'shoulder_pan': 1.2}))
    listener.wait_for(lambda: positions(listener)['shoulder_pan'] > 1.1, 'the arm to turn')
    client = listener.node.create_client(Trigger, 'sim/reset')
    assert client.wait_for_service(timeout_sec=10)
    answer = client.call_async(Trigger.Request())
    listener.wait_for(answer.done, 'the answer')
    assert answer.result().success
    listener.wait_for(lambda: abs(positions(listener)['shoulder_pan'] - HOME[0]) < 0.2,
                      'the arm at its start')


def test_what_others_say_is_told_and_what_it_says_itself_is_not(listener, arm):
    process = arm('--tour')
    publisher = listener.node.create_publisher(String, 'instruction', 1)
    listener.wait_for(publisher.get_subscription_count, 'the instruction subscription')
    for text in ('put the blue cube in the tray', 'make coffee'):
        publisher.publish(String(data=text))
        heard = len(listener.heard['joint_states'])
        listener.wait_for(lambda heard=heard: len(listener.heard['joint_states']) > heard + 15,
                          'joint states')
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=20)
    assert [line.split(': ', 1)[1] for line in errors.splitlines() if 'told: ' in line] == [
        'told: put the blue cube in the tray', 'told: make coffee']
    assert 'cannot judge success' in errors


def test_ctrl_c_twice_ends_quietly(arm):
    process = arm()
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=20)
    assert process.returncode == 0, errors
    assert 'Traceback' not in errors


@pytest.mark.parametrize(('arguments', 'words'), [
    (('--robot', 'nobody'), "robot 'nobody' is not known; choose one of "),
    (('--robot', 'widowx'), 'use robot so101'),
    (('--instruction', 'make coffee'), 'pick up the COLOR cube')])
def test_what_cannot_run_is_said_in_one_line(start, arguments, words):
    process = start(MODULE, *arguments)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 1
    assert words in errors
    assert len(errors.strip().splitlines()) == 1


def test_machine_that_cannot_render_is_told_the_package(start, monkeypatch):
    monkeypatch.setenv('MUJOCO_GL', 'egl')
    monkeypatch.setenv('__EGL_VENDOR_LIBRARY_FILENAMES', '/does/not/exist')
    process = start(MODULE)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 1
    assert errors.startswith('oxygen sim: cannot render pictures offscreen')
    assert 'sudo apt-get install libegl1' in errors
    assert 'Traceback' not in errors
