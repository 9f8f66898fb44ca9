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
What `oxygen record` wrote gives one report, whatever form the recording is brought into.

Pinned: storage, splits and compression that change the outcome (BAG-03, BAG-05).
"""

from pathlib import Path
import signal
import subprocess
import sys
import time

import pytest
from ros_helpers import die_with_parent
from ros_helpers import FakeRobot
from ros_helpers import ROBOT_YAML
from ros_helpers import ROOT
from ros_helpers import wait_until
from sensor_msgs.msg import Image
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from trajectory_msgs.msg import JointTrajectory
from trajectory_msgs.msg import JointTrajectoryPoint

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'bags'))
from bag_helpers import recorded
from bag_helpers import S
from bag_helpers import write_bag
from bag_helpers import write_split

from oxygen_ros.evaluation.compare import load_report
from oxygen_ros.msg import ActionChunk
from oxygen_ros.ros import qos
from oxygen_ros.tools.eval import main

NAMESPACE = 'recorded'
INPUTS = {'front/image': Image, 'wrist/image': Image, 'joint_states': JointState,
          'instruction': String}


class Acting:
    """Stands for the node: takes its topics and sends commands and chunks, but has no model."""

    def __init__(self, node, robot):
        self._node, self._robot = node, robot
        for topic, kind in INPUTS.items():
            node.create_subscription(kind, topic, lambda message: None, qos.stream(10))
        self.command = node.create_publisher(JointTrajectory, 'command', qos.stream(10))
        self.chunk = node.create_publisher(ActionChunk, 'oxygen/action_chunk', qos.stream(10))

    @property
    def is_recorded(self):
        """Whether somebody listens to every topic besides this node."""
        return (all(self._node.count_subscribers(topic) > 1 for topic in INPUTS)
                and self.command.get_subscription_count() and self.chunk.get_subscription_count())

    def act(self):
        """Send one command and one chunk."""
        names, values = zip(*self._robot.positions.items())
        self.command.publish(JointTrajectory(
            joint_names=names, points=[JointTrajectoryPoint(positions=values)]))
        self.chunk.publish(ActionChunk(joint_names=names))


@pytest.fixture(scope='module')
def recording(make_node, tmp_path_factory):
    """Have the recorder write what a node takes in and sends."""
    path = tmp_path_factory.mktemp('recording') / 'incident'
    robot = FakeRobot(make_node('robot', namespace=NAMESPACE))
    acting = Acting(make_node('oxygen', namespace=NAMESPACE), robot)
    recorder = subprocess.Popen(
        [sys.executable, '-m', 'oxygen_ros', 'record', '--output', str(path), '--ros-args', '-r',
         f'__ns:=/{NAMESPACE}'], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, preexec_fn=die_with_parent)
    try:
        wait_until(lambda: acting.is_recorded or recorder.poll() is not None, timeout_s=90)
        robot.instruct('wave')
        for number in range(60):
            robot.positions['arm'] = 0.1 + 0.01 * number
            acting.act()
            time.sleep(0.02)
        recorder.send_signal(signal.SIGINT)
        said, _ = recorder.communicate(timeout=60)
    finally:
        recorder.kill()
        robot.stop()
    assert recorder.returncode == 0, said
    return path


@pytest.fixture(scope='module')
def profile(tmp_path_factory):
    path = tmp_path_factory.mktemp('profile') / 'bench.yaml'
    path.write_text(ROBOT_YAML)
    return path


def evaluated(bag, profile, folder):
    """Return the report and the ticks of a recording, without its name and what was measured."""
    assert main([str(bag), '--robot', str(profile), '--quiet', '--output', str(folder)]) == 0
    report = load_report(folder / 'report.json')
    del report['machine']
    assert report['source'].pop('bag') == bag.name
    return report, (folder / 'ticks.csv').read_bytes()


@pytest.fixture(scope='module')
def as_recorded(recording, profile, tmp_path_factory):
    """Return report and ticks of the recording as it is."""
    report, ticks = evaluated(recording, profile, tmp_path_factory.mktemp('report'))
    assert report['engine']['chunks'] >= 3 and report['texts']
    assert report['actions']['reference'] == 'commands'
    assert report['recording']['instruction']['messages'] == 1
    assert report['recording']['joint_states']['topic'] == f'/{NAMESPACE}/joint_states'
    return report, ticks


@pytest.mark.timeout(300)
@pytest.mark.parametrize('storage, compression', [
    ('sqlite3', None), ('sqlite3', 'file'), ('sqlite3', 'message'), ('mcap', 'file'),
    ('mcap', 'message'), ('mcap', 'storage'), ('mcap', 'lz4')])
def test_a_recording_in_another_form_gives_the_same_report(recording, profile, as_recorded,
                                                           tmp_path, storage, compression):
    bag = write_bag(tmp_path / 'other', recorded(recording), storage=storage,
                    compression=compression)
    assert evaluated(bag, profile, tmp_path / 'out') == as_recorded


@pytest.mark.timeout(300)
@pytest.mark.parametrize('storage', ['mcap', 'sqlite3'])
def test_a_recording_that_is_split_gives_the_same_report(recording, profile, as_recorded,
                                                         tmp_path, storage):
    bag = write_split(tmp_path / 'split', recorded(recording), storage=storage,
                      overlap_ns=S // 5)
    assert evaluated(bag, profile, tmp_path / 'out') == as_recorded
