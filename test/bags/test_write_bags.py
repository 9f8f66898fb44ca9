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

"""Recordings that are written: crash-safe as far as promised, in both forms of storage."""

import pytest

from oxygen_ros.bags.files import BagError
from oxygen_ros.bags.reader import Bag
from oxygen_ros.bags.writer import BagWriter

KIND, CDR = 'std_msgs/msg/String', b'\x00\x01\x00\x00\x03\x00\x00\x00hi\x00'


@pytest.mark.parametrize('options', [{}, {'compress': True}, {'storage': 'sqlite3'}])
def test_what_is_written_is_read_back(tmp_path, options):
    writer = BagWriter(tmp_path / 'bag', **options)
    assert writer.add('/words', KIND) and writer.add('/words', KIND)
    for index in range(5):
        writer.write('/words', 100 + index, CDR)
    writer.close()
    with Bag(tmp_path / 'bag') as bag:
        assert [(message.time_ns, bag.decode(message).data)
                for message in bag.messages(['/words'])] == [(100 + i, 'hi') for i in range(5)]
        assert not bag.faults


def test_a_recording_that_is_never_closed_can_be_read_but_for_its_end(tmp_path):
    writer = BagWriter(tmp_path / 'bag')
    writer.add('/words', KIND)
    for index in range(300):
        writer.write('/words', index, CDR + bytes(10_000))
    with Bag(tmp_path / 'bag') as bag:       # the writer still has the rest
        messages = list(bag.messages(['/words']))
        assert 100 < len(messages) < 300
        assert any('is damaged' in fault for fault in bag.faults)
    writer.close()


def test_our_own_messages_are_known_and_unknown_ones_refused(tmp_path):
    writer = BagWriter(tmp_path / 'bag')
    assert writer.add('/deadline', 'oxygen_ros/msg/Deadline')
    assert not writer.add('/other', 'nobody_msgs/msg/Thing')
    writer.close()


def test_a_folder_that_exists_is_not_overwritten(tmp_path):
    with pytest.raises(BagError, match='exists already'):
        BagWriter(tmp_path)
