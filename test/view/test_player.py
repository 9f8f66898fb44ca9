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

"""A recording in the page: told by its types, at its own pace, from any position."""

import threading
import time

from page_client import post
from page_client import Stream
import pytest
from rosbags.rosbag2 import StoragePlugin
from rosbags.rosbag2 import Writer
import view_helpers as make

from oxygen_ros.bags import types
from oxygen_ros.bags.files import BagError
from oxygen_ros.ros import view
from oxygen_ros.view import Board
from oxygen_ros.view import PageError
from oxygen_ros.view.player import Player

DURATION_S = 2.0
START_NS = 1_700_000_000 * 10 ** 9


def write_bag(path, plugin=StoragePlugin.MCAP) -> str:
    """Record two seconds: pictures and joint states at 10 Hz, an instruction at the start."""
    store = types.standard_types()
    kinds = store.types
    time_of, header_of = kinds['builtin_interfaces/msg/Time'], kinds['std_msgs/msg/Header']
    with Writer(path, version=9, storage_plugin=plugin) as writer:
        topics = {topic: writer.add_connection(topic, kind, typestore=store) for topic, kind in (
            ('/front/image', 'sensor_msgs/msg/Image'),
            ('/joint_states', 'sensor_msgs/msg/JointState'),
            ('/instruction', 'std_msgs/msg/String'), ('/chatter', 'std_msgs/msg/Int32'))}

        def write(topic, stamp_ns, **fields):
            kind = topics[topic].msgtype
            if kind.startswith('sensor_msgs'):
                fields['header'] = header_of(time_of(*divmod(stamp_ns, 10 ** 9)), '')
            message = kinds[kind](**fields)
            writer.write(topics[topic], stamp_ns, store.serialize_cdr(message, kind))

        write('/instruction', START_NS, data='pick up the cube')
        for step in range(int(DURATION_S * 10) + 1):
            stamp_ns = START_NS + step * 10 ** 8
            picture, joints = make.picture(0.0, grey=step * 10), make.joint_state((step, 0.2))
            write('/front/image', stamp_ns, height=picture.height, width=picture.width,
                  encoding='rgb8', is_bigendian=0, step=picture.step, data=picture.data)
            write('/joint_states', stamp_ns, name=joints.name, position=joints.position,
                  velocity=joints.position[:0], effort=joints.position[:0])
            write('/chatter', stamp_ns, data=step)
    return str(path)


@pytest.fixture(scope='module')
def bag(tmp_path_factory):
    """Return a recording."""
    return write_bag(tmp_path_factory.mktemp('bags') / 'bag')


class Playing:
    """A player in a thread of its own, with its board."""

    def __init__(self, path: str, **options):
        self.player = Player(path, **options)
        self.board = Board(now_s=self.player.now_s)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self.player.run, args=(self.board, self._stopping))
        self._thread.start()

    def end(self) -> None:
        """End it."""
        self._stopping.set()
        self._thread.join()
        self.player.__exit__()

    def wait_for(self, condition, *, timeout_s: float = 40.0) -> dict:
        """Return everything on the board once the condition holds for it."""
        give_up_s = time.monotonic() + timeout_s
        while not condition(update := self.board.update(0)[0]):
            assert time.monotonic() < give_up_s, update.get('values', {}).get('player')
            time.sleep(0.02)
        return update

    def wait_for_end(self) -> dict:
        """Return the board once the recording has come to its end."""
        return self.wait_for(lambda update: player_of(update).get('position') == DURATION_S)


def player_of(update: dict) -> dict:
    """Return what the page hears of the player."""
    return update.get('values', {}).get('player', {}).get('value', {})


@pytest.fixture
def playing(bag):
    """Play the recording five times as fast."""
    playing = Playing(bag, speed=5.0)
    yield playing
    playing.end()


@pytest.mark.parametrize('plugin', StoragePlugin)
def test_recording_is_shown_to_its_end_at_its_own_pace(tmp_path, plugin):
    start_s = time.monotonic()
    playing = Playing(write_bag(tmp_path / 'bag', plugin), speed=2.0)
    try:
        update = playing.wait_for_end()
        assert time.monotonic() - start_s >= DURATION_S / 2
        assert update['values']['instruction']['value'] == 'pick up the cube'
        assert update['values']['camera front']['value']['width'] == 32
        positions = [sample['values'][0] for sample in update['samples']]
        assert positions == sorted(positions) and positions[-1] >= 19
        for sample in update['samples']:     # shown when it was recorded
            assert sample['t'] == pytest.approx(sample['values'][0] / 10, abs=0.6)
        assert player_of(update)['paused'], 'it stands at its end'
    finally:
        playing.end()


def test_pause_holds_and_goes_on(playing):
    playing.player.control({'paused': True})
    held = player_of(playing.wait_for(lambda update: player_of(update).get('paused')))
    time.sleep(0.3)
    assert playing.player.now_s() == pytest.approx(held['position'], abs=0.2)
    playing.player.control({'paused': False})
    playing.wait_for_end()


def test_jump_shows_from_there_and_keeps_what_lasts(playing):
    playing.wait_for_end()
    run = playing.board.run
    playing.player.control({'paused': False, 'position': None})     # play again from the start
    playing.wait_for(lambda update: update['run'] != run)
    playing.wait_for_end()
    run = playing.board.run
    playing.player.control({'position': 1.5})
    update = playing.wait_for(lambda update: update['run'] != run and 'samples' in update)
    assert update['samples'][0]['values'][0] >= 15
    assert update['values']['instruction']['value'] == 'pick up the cube'


@pytest.mark.parametrize('request_', [{'position': -1}, {'position': 99}, {'position': '1'}, {}])
def test_position_outside_is_refused(playing, request_):
    with pytest.raises(PageError, match=r'no position in this recording of 2\.0 s'):
        playing.player.control(request_)


def test_bag_without_anything_to_show_is_said(tmp_path):
    store = types.standard_types()
    with Writer(tmp_path / 'bag', version=9) as writer:
        chatter = writer.add_connection('/chatter', 'std_msgs/msg/Int32', typestore=store)
        message = store.types['std_msgs/msg/Int32'](data=1)
        writer.write(chatter, 1, store.serialize_cdr(message, chatter.msgtype))
    with pytest.raises(BagError, match='holds nothing that is shown here'):
        Player(str(tmp_path / 'bag'))


def test_command_shows_a_bag_and_has_no_stop_button(bag, capsys, monkeypatch):
    def look():
        while 'open http' not in (said := capsys.readouterr().out):
            time.sleep(0.05)
        port = int(said.split(':')[2].split('/')[0])
        with Stream(port) as stream:
            seen.append(stream.until(lambda update: 'camera front' in update.get('values', {})))
        answers.append(post(port, '/stop')[0])
        answers.append(post(port, '/play', body='{"paused": true}')[0])

    seen, answers = [], []
    stopping = threading.Event()
    monkeypatch.setattr(view, 'stop_on_signals', lambda: stopping)
    looker = threading.Thread(target=lambda: (look(), stopping.set()))
    looker.start()
    assert view.main([bag, '--port', '0', '--seconds', '20']) == 0
    looker.join()
    assert seen[0]['values']['source']['value'] == {
        'mode': 'recording', 'title': 'bag', 'can_stop': False}
    assert answers == [404, 200]


@pytest.mark.parametrize(('arguments', 'words'), [
    (['/does/not/exist'], '/does/not/exist'), (['--port', '99999999', 'BAG'], '--port')])
def test_what_cannot_be_shown_is_one_line(bag, capsys, arguments, words):
    arguments = [bag if argument == 'BAG' else argument for argument in arguments]
    assert view.main(arguments) == 1
    error = capsys.readouterr().err
    assert error.startswith('oxygen view: ') and words in error
    assert len(error.strip().splitlines()) == 1
