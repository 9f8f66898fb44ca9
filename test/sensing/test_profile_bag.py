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

"""A profile against a recording, sqlite3 or mcap, read without ROS."""

import json

import numpy as np
import pytest
from rosbags.rosbag2 import StoragePlugin
from rosbags.rosbag2 import Writer
from rosbags.typesys import get_typestore
from rosbags.typesys import Stores

from oxygen_ros.ros import profile

PROFILE = """
name: bench
cameras: {front: {topic: front/image, max_age_s: 0.3}}
joint_states: {topic: joint_states, max_age_s: 0.2}
joints:
  lift: {lower: -1.0, upper: 1.0, max_velocity: 1.0}
  turn: {lower: -2.0, upper: 2.0, max_velocity: 1.0}
"""
START_NS = 1_700_000_000 * 10 ** 9


@pytest.fixture(params=(StoragePlugin.SQLITE3, StoragePlugin.MCAP), ids=('sqlite3', 'mcap'))
def record(request, tmp_path):
    """Return a function that writes two seconds of one camera and joint states."""
    def write(*, positions=(0.1, 0.2), camera_hz=20):
        (tmp_path / 'bench.yaml').write_text(PROFILE, encoding='utf-8')
        store = get_typestore(Stores.ROS2_JAZZY)
        kinds = store.types

        def header(time_ns):
            sec, nanosec = divmod(time_ns, 10 ** 9)
            return kinds['std_msgs/msg/Header'](
                kinds['builtin_interfaces/msg/Time'](sec, nanosec), '')

        with Writer(tmp_path / 'bag', version=9, storage_plugin=request.param) as writer:
            def messages(topic, kind, rate_hz, make):
                connection = writer.add_connection(topic, kind, typestore=store)
                for index in range(2 * rate_hz):
                    time_ns = START_NS + index * 10 ** 9 // rate_hz
                    writer.write(connection, time_ns,
                                 store.serialize_cdr(make(header(time_ns)), kind))
            messages('/front/image', 'sensor_msgs/msg/Image', camera_hz,
                     lambda header: kinds['sensor_msgs/msg/Image'](
                         header, 4, 8, 'rgb8', 0, 24, np.zeros(96, np.uint8)))
            empty = np.zeros(0)
            messages('/joint_states', 'sensor_msgs/msg/JointState', 50,
                     lambda header: kinds['sensor_msgs/msg/JointState'](
                         header, ['turn', 'lift'], np.array(positions[::-1]), empty, empty))
        return ['check', str(tmp_path / 'bench.yaml'), '--bag', str(tmp_path / 'bag'),
                '--json', str(tmp_path / 'found.json')]
    return write


def test_a_recording_that_fits(record, capsys, tmp_path):
    assert profile.main(record()) == 0
    shown = capsys.readouterr().out
    for part in ('cameras.front (/front/image): 20.0 Hz', '8x4 rgb8', '50.0 Hz',
                 'names all 2 joints, in another order', 'The profile bench fits.',
                 'command (/command): /command is not recorded'):
        assert part in shown
    assert json.loads((tmp_path / 'found.json').read_text())['fits']


def test_a_recording_that_does_not_fit(record, capsys):
    assert profile.main(record(positions=(0.1, 90.0), camera_hz=2)) == 1
    shown = ' '.join(capsys.readouterr().out.split())
    assert '2.0 Hz with a gap of 0.50 s' in shown
    assert 'it looks like degrees' in shown
    assert 'does not fit yet: 2 to correct' in shown


def test_no_recording_is_one_line(record, capsys, tmp_path):
    options = record()
    options[options.index('--bag') + 1] = str(tmp_path / 'nowhere')
    assert profile.main(options) == 1
    error = capsys.readouterr().err
    assert 'does not exist' in error and len(error.splitlines()) == 1
