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
Bags of every form and in every state are read as far as they go, and what is wrong is told.

Pinned: no metadata file (BAG-01), splits that overlap or are listed in the wrong order (BAG-03),
compression by file, by message and inside the storage (BAG-05).
"""

from bag_helpers import picture
from bag_helpers import S
from bag_helpers import scene
from bag_helpers import START_NS
from bag_helpers import storage_file
from bag_helpers import write_bag
from bag_helpers import write_split
import pytest

from oxygen_ros.bags.files import BagError
from oxygen_ros.bags.reader import Bag

TOPICS = ('/instruction', '/joint_states', '/front/image', '/wrist/image')


def read(path):
    """Return all messages of a bag and what is wrong with it."""
    with Bag(path) as bag:
        return [(message.topic, message.time_ns, message.data)
                for message in bag.messages(TOPICS)], bag.faults


@pytest.fixture(scope='module')
def whole(tmp_path_factory):
    """Return the messages of an undamaged bag."""
    messages, faults = read(write_bag(tmp_path_factory.mktemp('whole') / 'bag', scene()))
    assert not faults and len(messages) == 1 + 60 + 2 * 6
    return messages


@pytest.mark.parametrize('storage, compression', [
    ('sqlite3', None), ('sqlite3', 'file'), ('sqlite3', 'message'),
    ('mcap', 'file'), ('mcap', 'message'), ('mcap', 'storage'), ('mcap', 'lz4')])
def test_every_form_of_storage_gives_the_same_messages(tmp_path, whole, storage, compression):
    bag = write_bag(tmp_path / 'bag', scene(), storage=storage, compression=compression)
    assert read(bag) == (whole, [])


@pytest.mark.parametrize('storage', ['mcap', 'sqlite3'])
def test_a_split_bag_is_read_in_the_order_of_time(tmp_path, whole, storage):
    bag = write_split(tmp_path / 'bag', scene(), storage=storage, overlap_ns=S // 5)
    assert read(bag) == (whole, [])


@pytest.mark.parametrize('storage', ['mcap', 'sqlite3'])
def test_a_bag_without_metadata_is_read_and_that_is_told(tmp_path, whole, storage):
    bag = write_bag(tmp_path / 'bag', scene(), storage=storage)
    (bag / 'metadata.yaml').unlink()
    messages, faults = read(bag)
    assert messages == whole
    assert len(faults) == 1 and 'metadata.yaml is missing' in faults[0]


def test_metadata_that_makes_no_sense_is_told(tmp_path, whole):
    bag = write_bag(tmp_path / 'bag', scene())
    (bag / 'metadata.yaml').write_text('storage: [')
    messages, faults = read(bag)
    assert messages == whole and 'metadata.yaml is not usable' in faults[0]


def test_an_empty_storage_identifier_does_not_matter(tmp_path, whole):
    bag = write_bag(tmp_path / 'bag', scene())
    text = (bag / 'metadata.yaml').read_text().replace('storage_identifier: mcap',
                                                       "storage_identifier: ''")
    (bag / 'metadata.yaml').write_text(text)
    assert read(bag) == (whole, [])


@pytest.mark.parametrize('storage', ['mcap', 'sqlite3'])
def test_a_bare_storage_file_is_enough(tmp_path, whole, storage):
    assert read(storage_file(write_bag(tmp_path / 'bag', scene(), storage=storage))) == (whole, [])


@pytest.mark.parametrize('compression', [None, 'storage', 'lz4', 'file'])
def test_a_cut_off_mcap_gives_what_came_before_the_cut(tmp_path, whole, compression):
    entries = scene(seconds=20)
    file = storage_file(write_bag(tmp_path / 'bag', entries, compression=compression))
    file.write_bytes(file.read_bytes()[:file.stat().st_size // 2])
    messages, faults = read(tmp_path / 'bag')
    assert 10 < len(messages) < 0.7 * len(entries) and set(whole[:10]) <= set(messages)
    assert any('cut off' in fault and 'messages could be read' in fault for fault in faults)


@pytest.mark.parametrize('compression, share', [(None, 0.2), (None, 0.5), (None, 0.9),
                                                ('file', 0.6)])
def test_a_cut_off_sqlite_file_gives_what_came_before_the_cut(tmp_path, compression, share):
    entries = scene(seconds=8)
    file = storage_file(write_bag(tmp_path / 'bag', entries, storage='sqlite3',
                                  compression=compression))
    file.write_bytes(file.read_bytes()[:round(file.stat().st_size * share)])
    before = file.read_bytes()
    messages, faults = read(tmp_path / 'bag')
    all_times = sorted(entry.time_ns for entry in entries)
    times = [time_ns for _, time_ns, _ in messages]
    assert 0.3 * share * len(entries) < len(messages) < (share + 0.05) * len(entries)
    assert times == all_times[:len(times)]        # the beginning, without a hole
    assert any(f'is damaged; {len(messages)} messages could be read' in fault
               and '.recover' in fault for fault in faults)
    assert file.read_bytes() == before


def test_a_sqlite_file_with_nonsense_in_its_middle_is_read_up_to_there(tmp_path):
    bag = write_bag(tmp_path / 'bag', scene(seconds=4), storage='sqlite3')
    file = storage_file(bag)
    data = bytearray(file.read_bytes())
    data[len(data) // 2:] = bytes(len(data) - len(data) // 2)
    file.write_bytes(data)
    messages, faults = read(bag)
    assert len(messages) > 50 and any('is damaged' in fault for fault in faults)


def test_a_sqlite_file_without_its_beginning_is_refused_in_words(tmp_path):
    bag = write_bag(tmp_path / 'bag', scene(), storage='sqlite3')
    file = storage_file(bag)
    file.write_bytes(bytes(5000) + file.read_bytes()[5000:])
    with pytest.raises(BagError, match='bag.db3 cannot be opened'):
        Bag(bag)


def test_a_missing_part_is_named_and_the_others_are_read(tmp_path):
    bag = write_split(tmp_path / 'bag', scene())
    (bag / 'bag_1.mcap').unlink()
    messages, faults = read(bag)
    assert faults == ['metadata.yaml lists bag_1.mcap, which is not there']
    times_s = [(time_ns - START_NS) / S for _, time_ns, _ in messages]
    assert min(times_s) == 0 and max(times_s) > 1.1 and not any(0.45 < at < 0.75 for at in times_s)


def test_an_empty_part_is_named(tmp_path):
    bag = write_split(tmp_path / 'bag', scene())
    (bag / 'bag_3.mcap').write_bytes(b'')
    messages, faults = read(bag)
    assert messages and 'bag_3.mcap cannot be opened' in faults[0] and 'empty' in faults[0]


@pytest.mark.parametrize('prepare, told', [
    (lambda path: None, 'does not exist'),
    (lambda path: path.mkdir(), 'holds no .mcap or .db3 file'),
    (lambda path: path.write_text('hello'), 'is no .mcap or .db3 file'),
    (lambda path: write_bag(path, []), 'holds no message')])
def test_what_is_no_bag_is_refused_in_words(tmp_path, prepare, told):
    path = tmp_path / 'thing'
    prepare(path)
    with pytest.raises(BagError, match=told):
        Bag(path)


def test_a_ros_1_bag_is_named_with_the_way_to_convert_it(tmp_path):
    (tmp_path / 'old.bag').write_bytes(b'#ROSBAG V2.0\n')
    with pytest.raises(BagError, match='rosbags-convert'):
        Bag(tmp_path / 'old.bag')


def test_an_unknown_compression_is_refused_by_mode_and_format(tmp_path):
    bag = write_bag(tmp_path / 'bag', scene(seconds=0.2), compression='message')
    text = (bag / 'metadata.yaml').read_text().replace('compression_format: zstd',
                                                       'compression_format: brotli')
    (bag / 'metadata.yaml').write_text(text)
    with pytest.raises(BagError, match="message with 'brotli'"):
        Bag(bag)


def test_messages_are_decoded_and_a_broken_one_is_refused_in_words(tmp_path):
    with Bag(write_bag(tmp_path / 'bag', [picture('/front/image', START_NS)])) as bag:
        message = next(bag.messages(['/front/image']))
        image = bag.decode(message)
        assert (image.width, image.height, image.encoding, len(image.data)) == (32, 24, 'rgb8',
                                                                                 2304)
        broken = type(message)(message.topic, message.type, 0, message.data[:20])
        with pytest.raises(BagError, match='/front/image: a message cannot be decoded'):
            bag.decode(broken)
