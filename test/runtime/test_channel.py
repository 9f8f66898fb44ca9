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

"""Small messages between two processes: in order, whole, and never in the sender's way."""

import time

import pytest

from oxygen_ros.runtime.channel import Channel
from oxygen_ros.runtime.channel import ChannelClosed
from oxygen_ros.runtime.channel import ChannelFull
from oxygen_ros.runtime.channel import MAX_MESSAGE_BYTES


@pytest.fixture
def ends():
    """Return both ends of a channel."""
    near, far = Channel.pair()
    far = Channel(far)
    yield near, far
    near.close()
    far.close()


def test_messages_arrive_in_order_and_whole(ends):
    """Of any picklable kind."""
    near, far = ends
    sent = ['a', {'b': 1}, 'c' * 100_000, None]
    for message in sent:
        near.send(message)
    assert far.receive() == sent
    assert far.receive() == []


def test_a_peer_that_does_not_read_never_blocks_the_sender(ends):
    """A full pipe keeps the rest for later, and all of it arrives in order once read."""
    near, far = ends
    began_s = time.monotonic()
    for number in range(3000):
        near.send((number, 'x' * 500))
    assert time.monotonic() - began_s < 2.0
    assert near.num_waiting > 0
    got = []
    while len(got) < 3000:
        got += far.receive()
        near.flush()
    assert [number for number, _ in got] == list(range(3000))
    assert near.flush()


def test_a_peer_far_behind_gets_no_more(ends):
    """Memory stays bounded: the sender is told."""
    near, _ = ends
    with pytest.raises(ChannelFull, match='waiting'):
        for _ in range(20_000):
            near.send('x' * 100)


def test_a_message_that_is_too_large_is_refused_at_once(ends):
    """Naming both sizes."""
    near, _ = ends
    with pytest.raises(ChannelFull, match=str(MAX_MESSAGE_BYTES)):
        near.send('x' * 200_000)


def test_the_end_of_the_peer_comes_after_all_it_sent(ends):
    """Nothing that was sent before a death is lost."""
    near, far = ends
    near.send('last words')
    near.close()
    assert far.receive() == ['last words']
    with pytest.raises(ChannelClosed):
        far.receive()
    far.send('nobody hears this')   # and it is no error
