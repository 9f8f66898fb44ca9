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


"""The node on real pictures: clips of a WidowX arm drive it through a robot profile, unchanged."""

import json
from pathlib import Path
import signal

import pytest
from rclpy.qos import QoSProfile
from rclpy.qos import ReliabilityPolicy
from std_msgs.msg import Float64MultiArray

from oxygen_ros.msg import ActionChunk

SAMPLE = Path(__file__).resolve().parents[2] / '../shared/data/bridge_v2_sample'
DEEP = QoSProfile(depth=100, reliability=ReliabilityPolicy.RELIABLE)


@pytest.mark.skipif(not (SAMPLE / 'episodes.npz').is_file(),
                    reason='the BridgeData V2 sample (../shared/data/bridge_v2_sample) is missing')
def test_node_acts_on_real_clips(listener, start, tmp_path):
    listener.subscribe(ActionChunk, 'oxygen/action_chunk', DEEP)
    listener.subscribe(Float64MultiArray, 'command', DEEP)
    node = start('oxygen_ros.ros.node', '--json', str(tmp_path / 'node.json'), '--ros-args',
                 '-p', 'robot:=widowx', '-p', 'autostart:=true')
    player = start('oxygen_ros.ros.play_node', str(SAMPLE.resolve()), '--loop')
    listener.wait_for(lambda: len(listener.heard['oxygen/action_chunk']) >= 15
                      or node.poll() is not None, '15 action chunks', timeout_s=180)
    for process in (node, player):
        process.send_signal(signal.SIGINT)
        output = process.communicate(timeout=30)
        assert process.returncode == 0, output

    chunks = listener.messages('oxygen/action_chunk')
    assert list(chunks[0].joint_names) == ['x', 'y', 'z', 'roll', 'pitch', 'yaw', 'gripper']
    assert all(len(m.positions) == m.horizon * 7 for m in chunks)
    assert len({bytes(m.positions) for m in chunks}) > 10, 'actions follow the pictures'
    assert all(len(m.data) == 7 for m in listener.messages('command'))
    figures = json.loads((tmp_path / 'node.json').read_text(encoding='utf-8'))
    assert figures['encodes'] == figures['frames'] >= len(chunks)
    assert figures['verdicts']['fresh'] > 0
    assert figures['tokens'] > 0
