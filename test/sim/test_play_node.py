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


"""Recorded clips of a real robot, heard over DDS by a node that knows nothing of the player."""

import json
from pathlib import Path
import signal

import cv2
import numpy as np
import pytest
from rclpy.qos import DurabilityPolicy
from rclpy.qos import QoSProfile
from rclpy.qos import ReliabilityPolicy
from sensor_msgs.msg import CompressedImage
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from oxygen_ros.config import load_robot
from oxygen_ros.ros.play_node import CAMERA_TOPICS
from oxygen_ros.ros.play_node import STATE_NAMES

MODULE = 'oxygen_ros.ros.play_node'
SAMPLE = Path(__file__).resolve().parents[2] / '../shared/data/bridge_v2_sample'
DEEP = QoSProfile(depth=100, reliability=ReliabilityPolicy.RELIABLE)
LATCHED = QoSProfile(depth=10, reliability=ReliabilityPolicy.RELIABLE,
                     durability=DurabilityPolicy.TRANSIENT_LOCAL)


@pytest.fixture
def sample():
    """Return the folder of real clips."""
    if not (SAMPLE / 'episodes.npz').is_file():
        pytest.skip('the BridgeData V2 sample (../shared/data/bridge_v2_sample) is not here')
    return SAMPLE.resolve()


@pytest.fixture
def small_recording(tmp_path):
    """Write a recording of two clips of three steps, the second with one camera only."""
    arrays, entries = {}, []
    for index, cameras in enumerate((('image_0', 'image_2'), ('image_0',))):
        for camera in cameras:
            pictures = [np.full((16, 16, 3), 40 * step + 60 * index, np.uint8)
                        for step in range(3)]
            files = [cv2.imencode('.jpg', picture)[1] for picture in pictures]
            arrays[f'{index:02d}/{camera}/jpeg'] = np.concatenate([f.ravel() for f in files])
            arrays[f'{index:02d}/{camera}/offsets'] = np.cumsum(
                [0] + [f.size for f in files]).astype(np.int32)
        arrays[f'{index:02d}/state'] = np.arange(21, dtype=np.float32).reshape(3, 7) + index
        entries.append({'index': index, 'steps': 3, 'instruction': f'clip {index}',
                        'cameras': cameras})
    (tmp_path / 'episodes.json').write_text(json.dumps(entries))
    np.savez(tmp_path / 'episodes.npz', **arrays)
    return tmp_path


def listen(listener):
    """Subscribe to all topics a player may use."""
    for topic in CAMERA_TOPICS.values():
        listener.subscribe(CompressedImage, f'{topic}/compressed', DEEP)
    listener.subscribe(JointState, 'joint_states', DEEP)
    listener.subscribe(String, 'instruction', LATCHED)


def test_names_fit_the_robot_profile():
    profile = load_robot('widowx')
    assert STATE_NAMES == profile.joint_names
    assert set(CAMERA_TOPICS.values()) == {camera.topic for camera in profile.cameras}
    assert all(camera.compressed for camera in profile.cameras)


def test_real_clips_arrive_complete_in_order_and_at_their_rate(listener, start, sample, tmp_path):
    listen(listener)
    process = start(MODULE, str(sample), '--clips', '0,4', '--json', str(tmp_path / 'play.json'))
    assert process.wait(timeout=40) == 0, process.stderr.read()

    entries = json.loads((sample / 'episodes.json').read_text(encoding='utf-8'))
    with np.load(sample / 'episodes.npz') as recorded:
        for camera, topic in CAMERA_TOPICS.items():
            expected = [recorded[f'{index:02d}/{camera}/jpeg'].tobytes()
                        for index in (0, 4) if camera in entries[index]['cameras']]
            heard = listener.messages(f'{topic}/compressed')
            assert b''.join(bytes(m.data) for m in heard) == b''.join(expected), camera
            for message in heard:
                picture = cv2.imdecode(np.frombuffer(message.data, np.uint8), cv2.IMREAD_COLOR)
                assert picture.shape == (64, 64, 3)
                assert picture.std() > 5
        states = np.concatenate([recorded['00/state'], recorded['04/state']])
    heard = listener.messages('joint_states')
    assert np.array([m.position for m in heard]) == pytest.approx(states)
    assert all(tuple(m.name) == STATE_NAMES for m in heard)
    assert {m.data for m in listener.messages('instruction')} == {
        entries[0]['instruction'], entries[4]['instruction']}

    times_s = [arrival_s for arrival_s, _ in listener.heard['joint_states']]
    assert np.median(np.diff(times_s)) == pytest.approx(0.2, abs=0.03)
    first_camera = listener.messages('primary/image/compressed')
    assert [m.header.stamp for m in first_camera] == [m.header.stamp for m in heard]
    figures = json.loads((tmp_path / 'play.json').read_text(encoding='utf-8'))
    assert (figures['clips'], figures['steps']) == (2, 20)


def test_clip_with_fewer_cameras_leaves_the_others_silent(listener, start, small_recording):
    listen(listener)
    process = start(MODULE, str(small_recording), '--rate', '20')
    assert process.wait(timeout=30) == 0, process.stderr.read()
    counts = {topic: len(listener.heard[f'{topic}/compressed'])
              for topic in CAMERA_TOPICS.values()}
    assert counts == {'primary/image': 6, 'secondary/image': 0, 'wrist/image': 3}


def test_loop_goes_on_until_ctrl_c(listener, start, small_recording):
    listen(listener)
    process = start(MODULE, str(small_recording), '--rate', '50', '--loop')
    listener.wait_for(lambda: len(listener.heard['joint_states']) > 20, 'the third round')
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=20)
    assert process.returncode == 0
    assert 'Traceback' not in errors


def test_plays_on_with_a_warning_when_nobody_listens(start, small_recording):
    process = start(MODULE, str(small_recording), '--rate', '100', '--wait', '0.2')
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 0
    assert 'nobody listens' in errors


@pytest.mark.parametrize(('arguments', 'words'), [
    (['/does/not/exist'], 'give the folder that holds episodes.json'),
    (['{recording}', '--clips', '9'], 'clip 9 does not exist; choose from 0 to 1')])
def test_recording_that_cannot_be_played_is_said_in_one_line(start, small_recording, arguments,
                                                             words):
    process = start(MODULE, *(text.format(recording=small_recording) for text in arguments))
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 1
    assert words in errors
    assert len(errors.strip().splitlines()) == 1


def test_damaged_recording_is_named(start, small_recording):
    (small_recording / 'episodes.npz').write_bytes(b'PK\x03\x04 not a zip file')
    process = start(MODULE, str(small_recording))
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 1
    assert 'cannot be read' in errors
    assert 'Traceback' not in errors
