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

"""What a feed makes of messages, and what a board keeps of it."""

import base64
import json
from types import SimpleNamespace

import cv2
import numpy as np
import pytest
import view_helpers as make

from oxygen_ros.view import Board
from oxygen_ros.view import channel_of
from oxygen_ros.view import Feed
from oxygen_ros.view.channels import camera_name
from oxygen_ros.view.entries import positions


class Bench:
    """A feed and its board on a clock that is set by hand; the node's clock is 1000 s ahead."""

    def __init__(self):
        self.time_s = 10.0
        self.board = Board(now_s=lambda: self.time_s)
        self.feed = Feed(self.board, now_s=lambda: self.time_s, node_name='/oxygen')

    def send(self, channel, message) -> bool:
        """Let a message arrive as the sources do."""
        if taken := self.feed.arrived(channel):
            self.feed.take(channel, message)
        return taken

    def seen(self) -> dict:
        """Return everything on the board, as JSON would carry it."""
        return json.loads(json.dumps(self.board.update(0)[0], allow_nan=False))


@pytest.fixture
def bench():
    """Return a bench."""
    return Bench()


@pytest.mark.parametrize(('topic', 'kind', 'expected'), [
    ('/front/image', 'sensor_msgs/msg/Image', ('camera', 'front')),
    ('/wrist/image_raw/compressed', 'sensor_msgs/msg/CompressedImage', ('camera', 'wrist')),
    ('/robot1/cam/color/image_raw', 'sensor_msgs/msg/Image', ('camera', 'robot1/cam/color')),
    ('/joint_states', 'sensor_msgs/msg/JointState', ('state', 'state')),
    ('/arm/joint_command', 'sensor_msgs/msg/JointState', ('command', 'command')),
    ('/arm/joint_trajectory', 'trajectory_msgs/msg/JointTrajectory', ('command', 'command')),
    ('/x/language', 'oxygen_ros/msg/TokenDelta', ('piece', 'piece')),
    ('/instruction', 'std_msgs/msg/String', ('instruction', 'instruction'))])
def test_topics_are_told_by_type_and_name(topic, kind, expected):
    channel = channel_of(topic, kind)
    assert (channel.kind, channel.name, channel.topic) == (*expected, topic)


def test_live_the_instruction_in_force_is_shown_not_what_somebody_once_said():
    kind = 'std_msgs/msg/String'
    assert channel_of('/instruction', kind, is_published=False) is None
    assert channel_of('/oxygen/instruction_in_force', kind,
                      is_published=True).kind == 'instruction'


@pytest.mark.parametrize(('topic', 'kind'), [
    ('/chatter', 'std_msgs/msg/String'), ('/tf', 'tf2_msgs/msg/TFMessage'),
    ('/goal', 'geometry_msgs/msg/PoseStamped')])
def test_what_is_not_shown_is_no_channel(topic, kind):
    assert channel_of(topic, kind) is None


def test_what_the_node_itself_sends_is_a_command():
    for kind in ('sensor_msgs/msg/JointState', 'geometry_msgs/msg/TwistStamped'):
        assert channel_of('/servo', kind, is_published=True).kind == 'command'


def test_pose_that_the_node_listens_to_is_its_state():
    assert channel_of('/tool_pose', 'geometry_msgs/msg/PoseStamped',
                      is_published=False).kind == 'state'


def test_camera_named_like_its_suffix_keeps_a_name():
    assert camera_name('/image') == 'image'


def test_picture_arrives_small_and_in_its_colours(bench):
    red = make.picture(1010.0, width=1280, height=720)
    red.data.reshape(-1, 3)[:] = (200, 30, 10)
    bench.send(make.FRONT, red)
    entry = bench.seen()['values']['camera front']['value']
    assert (entry['width'], entry['height']) == (1280, 720)
    jpeg = np.frombuffer(base64.b64decode(entry['jpeg']), np.uint8)
    shown = cv2.imdecode(jpeg, cv2.IMREAD_COLOR)
    assert shown.shape == (270, 480, 3)
    assert np.abs(shown.astype(int) - (10, 30, 200)).max() < 12, 'BGR of the same red'


def test_pictures_and_samples_above_what_a_person_sees_are_not_even_unpacked(bench):
    taken = []
    for step in range(100):                    # 100 Hz for 1 s
        bench.time_s = 10.0 + step * 0.01
        taken.append((bench.feed.arrived(make.FRONT), bench.feed.arrived(make.STATE)))
    pictures, samples = np.sum(taken, axis=0)
    assert 9 <= pictures <= 11
    assert 24 <= samples <= 27
    bench.time_s = 11.0
    bench.feed.count_rates()
    assert bench.seen()['values']['rates']['value'] == {'front': 100.0, 'state': 100.0}


def test_frozen_camera_gets_older_although_it_goes_on_sending(bench):
    for step in range(20):
        bench.time_s = 10.0 + step * 0.2
        bench.send(make.FRONT, make.picture(1010.0))
    update = bench.seen()
    assert update['now'] - update['values']['camera front']['t'] > 3.5


def test_bad_picture_is_said_and_does_not_end_the_feed(bench):
    bad = make.picture(1010.0)
    bad.step = 0
    bench.send(make.FRONT, bad)
    assert 'step 0' in bench.seen()['values']['trouble front']['value']


def test_stamps_of_the_node_become_own_time(bench):
    for delay_s in (0.030, 0.002, 0.050):      # on its way; the fastest tells the offset
        bench.time_s += 0.2
        bench.send(make.other('chunk'), make.chunk(1000.0 + bench.time_s - delay_s))
    cycle = bench.seen()['cycles'][-1]
    assert cycle['end'] == pytest.approx(bench.time_s - 0.048, abs=1e-4)
    assert cycle['observed'] == pytest.approx(cycle['end'] - 0.1, abs=1e-4)


def test_clock_of_the_node_that_is_set_back_is_followed(bench):
    bench.send(make.other('chunk'), make.chunk(1010.0))
    bench.send(make.other('chunk'), make.chunk(5.0))
    assert bench.seen()['cycles'][-1]['end'] == pytest.approx(bench.time_s)


def test_simulated_time_at_half_speed_is_followed(bench):
    for _ in range(50):
        bench.time_s += 0.2
        bench.send(make.other('chunk'), make.chunk(1000.0 + bench.time_s / 2))
    assert bench.seen()['cycles'][-1]['end'] == pytest.approx(bench.time_s, abs=0.6)


def test_newest_chunk_is_a_plan_with_times(bench):
    bench.send(make.other('chunk'), make.chunk(1010.0))
    plan = bench.seen()['values']['plan']['value']
    assert plan['names'] == list(make.JOINTS)
    assert plan['start'] == pytest.approx(9.9)
    assert plan['rows'] == [[pytest.approx(0.1), pytest.approx(0.2)],
                            [pytest.approx(0.3), pytest.approx(0.4)]]


def test_diagnostics_of_other_nodes_are_left_out(bench):
    bench.send(make.other('diagnostics'), make.diagnostics('/robot2/oxygen'))
    assert 'diagnostics' not in bench.seen().get('values', {})
    bench.send(make.other('diagnostics'), make.diagnostics())
    part, = bench.seen()['values']['diagnostics']['value']
    assert part == {'name': '/oxygen: node', 'level': 0, 'message': 'active',
                    'values': {'state': 'active'}}


def test_confidence_that_is_not_known_is_null(bench):
    bench.send(make.other('fact'), make.fact(1, 'left'))
    assert bench.seen()['facts'][0]['confidence'] is None


@pytest.mark.parametrize(('command', 'expected'), [
    (make.message(joint_names=['a'], points=[SimpleNamespace(positions=[0.5])]), (['a'], [0.5])),
    (make.message(joint_names=['a'], points=[]), (['a'], [])),
    (make.message(layout=SimpleNamespace(dim=[SimpleNamespace(label='a,b')]), data=[1.0, 2.0]),
     (['a', 'b'], [1.0, 2.0])),
    (make.message(layout=SimpleNamespace(dim=[]), data=[1.0, 2.0]),
     (['joint 1', 'joint 2'], [1.0, 2.0])),
    (make.message(name=['a'], position=[3.0]), (['a'], [3.0])),
    (make.message(pose=SimpleNamespace(
        position=SimpleNamespace(x=0.1, y=0.2, z=0.3),
        orientation=SimpleNamespace(x=0.0, y=0.0, z=np.sin(0.25), w=np.cos(0.25)))),
     (['x', 'y', 'z', 'roll', 'pitch', 'yaw'], [0.1, 0.2, 0.3, 0.0, 0.0, 0.5])),
    (make.message(twist=SimpleNamespace(linear=SimpleNamespace(x=1.0, y=2.0, z=3.0),
                                        angular=SimpleNamespace(x=4.0, y=5.0, z=6.0))),
     (['speed x', 'speed y', 'speed z', 'speed roll', 'speed pitch', 'speed yaw'],
      [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]))])
def test_commands_of_every_form_have_names_and_numbers(command, expected):
    names, values = positions(command)
    assert names == expected[0]
    assert values == pytest.approx(expected[1])


def test_reader_gets_each_entry_once_and_a_late_one_everything(bench):
    bench.send(make.other('piece'), make.piece(1010.0, 0, 'the '))
    first, since = bench.board.update(0)
    bench.send(make.other('piece'), make.piece(1010.1, 1, 'cube'))
    second, since = bench.board.update(since)
    assert [entry['text'] for entry in first['pieces']] == ['the ']
    assert [entry['text'] for entry in second['pieces']] == ['cube']
    assert 'pieces' not in bench.board.update(since)[0]
    assert [entry['text'] for entry in bench.board.update(0)[0]['pieces']] == ['the ', 'cube']


def test_cleared_board_is_another_run_and_keeps_its_source(bench):
    bench.board.put('source', {'mode': 'recording'})
    bench.send(make.STATE, make.joint_state())
    run = bench.board.run
    bench.board.clear()
    update = bench.seen()
    assert update['run'] != run
    assert set(update['values']) == {'source'}
    assert 'samples' not in update
