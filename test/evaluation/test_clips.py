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
Clips of a WidowX arm that rosbags wrote, not our recorder, under names that are not ours.

The real clips are 25 of BridgeData V2 (CC BY 4.0) in the layout that `oxygen play` takes. They are
no part of this package: OXYGEN_CLIPS=FOLDER names where they are, else they are looked for beside
the package. Drawn ones are always evaluated.
"""

import json
import os
from pathlib import Path

from bag_helpers import Entry
from bag_helpers import header
from bag_helpers import instruction
from bag_helpers import joints
from bag_helpers import make
from bag_helpers import S
from bag_helpers import START_NS
from bag_helpers import write_bag
import cv2
import numpy as np
import pytest

from oxygen_ros.config import load_robot
from oxygen_ros.evaluation.compare import load_report
from oxygen_ros.tools.eval import main

SAMPLE = Path(__file__).resolve().parents[2] / '../shared/data/bridge_v2_sample'
CLIPS = (0, 4, 7)                 # with all three cameras
STEP_NS = S // 5
TOPICS = {'image_0': '/bridge/cam_0/compressed', 'image_1': '/bridge/cam_1/compressed',
          'image_2': '/bridge/cam_2/compressed'}
REMAPS = ('primary/image:=/bridge/cam_0/compressed', 'secondary/image:=/bridge/cam_1/compressed',
          'wrist/image:=/bridge/cam_2/compressed', 'joint_states:=/bridge/pose',
          'command:=/bridge/target', 'instruction:=/bridge/language')


def draw_clips(folder):
    """Write a clip of ten steps per number: a dot that goes where the arm goes."""
    arrays, entries, rng = {}, [], np.random.default_rng(0)
    for index in CLIPS:
        path = np.linspace([0.2, -0.1, 0.1], [0.3, 0.15, 0.2], 10) + rng.normal(0, 0.01, (10, 3))
        state = np.column_stack([path, np.zeros((10, 3)), np.ones(10)]).astype(np.float32)
        for number, camera in enumerate(TOPICS):
            files = []
            for x, y, _ in path:
                picture = np.full((64, 64, 3), 60 * number + 40, np.uint8)
                cv2.circle(picture, (round(160 * x), round(64 * y) + 32), 6, (250, 200, 20), -1)
                files.append(cv2.imencode('.jpg', picture)[1].ravel())
            arrays[f'{index:02d}/{camera}/jpeg'] = np.concatenate(files)
            arrays[f'{index:02d}/{camera}/offsets'] = np.cumsum([0, *map(len, files)])
        arrays[f'{index:02d}/state'] = state
        arrays[f'{index:02d}/action'] = np.diff(state, axis=0, append=state[-1:])
        arrays[f'{index:02d}/action'][:, 6] = state[:, 6]
        entries.append({'index': index, 'instruction': f'follow the dot {index}'})
    (folder / 'episodes.json').write_text(json.dumps(entries))
    np.savez(folder / 'episodes.npz', **arrays)
    return folder


@pytest.fixture(params=['drawn', 'real'])
def clips(request, tmp_path):
    """Return a folder with episodes.json and episodes.npz."""
    if request.param == 'drawn':
        return draw_clips(tmp_path)
    folder = Path(os.environ.get('OXYGEN_CLIPS') or SAMPLE)
    if not (folder / 'episodes.npz').is_file():
        pytest.skip(f'no real clips in {folder}; OXYGEN_CLIPS=FOLDER names where they are')
    return folder


def entries_of(folder):
    """Return clips as messages, one after another at 5 Hz."""
    told = {entry['index']: entry['instruction'] for entry in
            json.loads((folder / 'episodes.json').read_text(encoding='utf-8'))}
    names, kind = load_robot('widowx').joint_names, 'sensor_msgs/msg/CompressedImage'
    layout, entries, time_ns = make('std_msgs/msg/MultiArrayLayout', [], 0), [], START_NS
    with np.load(folder / 'episodes.npz') as arrays:
        for index in CLIPS:
            words = instruction(time_ns, told[index])
            entries.append(Entry('/bridge/language', words.type, time_ns, words.message))
            states, actions = arrays[f'{index:02d}/state'], arrays[f'{index:02d}/action']
            for step, (state, action) in enumerate(zip(states, actions)):
                entries.append(joints(time_ns, state, topic='/bridge/pose', names=names))
                target = np.array([*(state[:6] + action[:6]), action[6]], float)
                entries.append(Entry(
                    '/bridge/target', 'std_msgs/msg/Float64MultiArray', time_ns,
                    make('std_msgs/msg/Float64MultiArray', layout, target)))
                for camera, topic in TOPICS.items():
                    begin, end = arrays[f'{index:02d}/{camera}/offsets'][step:step + 2]
                    jpeg = arrays[f'{index:02d}/{camera}/jpeg'][begin:end]
                    entries.append(Entry(topic, kind, time_ns,
                                         make(kind, header(time_ns), 'jpeg', jpeg)))
                time_ns += STEP_NS
    return entries


@pytest.mark.parametrize('storage', ['mcap', 'sqlite3'])
def test_clips_of_another_recorder_are_evaluated(clips, tmp_path, capsys, storage):
    entries = entries_of(clips)
    bag = write_bag(tmp_path / 'bridge', entries, storage=storage)
    remaps = [word for remap in REMAPS for word in ('--remap', remap)]
    assert main([str(bag), '--robot', 'widowx', *remaps, '--quiet', '--output',
                 str(tmp_path / 'out')]) == 0
    assert not capsys.readouterr().err
    report = load_report(tmp_path / 'out' / 'report.json')
    recording, num_steps = report['recording'], 10 * len(CLIPS)
    assert recording['cameras'] == {
        slot: {'topic': topic, 'messages': num_steps} for slot, topic in
        zip(('primary', 'secondary', 'wrist'), TOPICS.values())}
    assert recording['observations'] == num_steps and not any(recording['refused'].values())
    assert recording['instruction'] == {'topic': '/bridge/language', 'messages': len(CLIPS)}
    assert report['actions']['reference'] == 'commands'
    assert all(joint['mae'] > 0 for joint in report['actions']['joints'].values())
    assert len(set(report['chunks']['actions'])) == report['engine']['chunks'] >= num_steps // 2
    assert any(text['text'].strip() for text in report['texts']) and report['facts']
    page = (tmp_path / 'out' / 'report.html').read_text(encoding='utf-8')
    assert page.count('data:image/jpeg;base64,') >= 3
