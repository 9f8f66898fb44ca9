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

"""Messages, live or recorded, into what is shown."""

from collections import Counter
from collections import deque
from collections.abc import Callable

import numpy as np

from oxygen_ros.sensing.convert import BadPicture
from oxygen_ros.sensing.convert import ImageDecoder
from oxygen_ros.view import channels
from oxygen_ros.view.channels import Channel
from oxygen_ros.view.entries import diagnostic
from oxygen_ros.view.entries import plain
from oxygen_ros.view.entries import positions
from oxygen_ros.view.entries import seconds

# A person sees no difference above these; the rest is not even unpacked.
_MIN_GAP_S = {channels.CAMERA: 0.095, channels.STATE: 0.038, channels.COMMAND: 0.038}
_RATES_EVERY_S = 1.0
_MAX_OFFSET_CHANGE_S = 1.0     # stamps further off belong to a clock that was set anew
_OFFSETS_KEPT_S = 1.0


class Feed:
    """
    Hands every message to a sink: Board or RerunLog. One thread.

    Times of entries are seconds of `now_s`, whatever clock the node stamps with.
    """

    def __init__(self, sink, *, now_s: Callable[[], float], node_name: str):
        """node_name: full name of the node whose diagnostics are shown, not those of others."""
        self._node_name = node_name
        self._sink = sink
        self._now_s = now_s
        self._decoder = ImageDecoder()
        self._offsets_s: deque[tuple[float, float]] = deque()   # when, own time - node clock
        self._due_s: dict[str, float] = {}           # topic -> earliest time of the next message
        self._stamps: dict[str, float] = {}          # camera -> newest stamp
        self._arrived: Counter = Counter()
        self._counting_since_s = now_s()

    def arrived(self, channel: Channel) -> bool:
        """Count a message; return whether it is to be taken."""
        self._arrived[channel.name] += 1
        gap_s = _MIN_GAP_S.get(channel.kind)
        if gap_s is None:
            return True
        now_s = self._now_s()
        if now_s < self._due_s.get(channel.topic, 0.0):
            return False
        self._due_s[channel.topic] = now_s + gap_s
        return True

    def take(self, channel: Channel, message) -> None:
        """Show a message."""
        getattr(self, f'_take_{channel.kind}')(channel, message)

    def count_rates(self) -> None:
        """Tell the sink once a second how often each channel speaks."""
        elapsed_s = self._now_s() - self._counting_since_s
        if elapsed_s >= _RATES_EVERY_S:
            self._sink.put('rates', {name: round(count / elapsed_s, 1)
                                     for name, count in self._arrived.items()})
            self.forget_rates()

    def forget_rates(self) -> None:
        """Begin to count anew, as after time in which nothing was listened to."""
        self._arrived.clear()
        self._counting_since_s = self._now_s()

    def _own_s(self, stamp) -> float:
        """
        Return a stamp of the node in own time.

        The fastest of the latest messages tells the offset; only of the latest, because simulated
        time may run at another speed.
        """
        now_s, stamp_s = self._now_s(), seconds(stamp)
        offset_s, kept = now_s - stamp_s, self._offsets_s
        if kept and abs(offset_s - kept[-1][1]) > _MAX_OFFSET_CHANGE_S:
            kept.clear()
        kept.append((now_s, offset_s))
        while kept[0][0] < now_s - _OFFSETS_KEPT_S:
            kept.popleft()
        return stamp_s + min(offset for _, offset in kept)

    def _take_camera(self, channel: Channel, message) -> None:
        stamp_s = seconds(message.header.stamp)
        if stamp_s and self._stamps.get(channel.name) == stamp_s:
            return                 # a frozen camera repeats itself; its age goes on
        self._stamps[channel.name] = stamp_s
        try:
            picture = self._decoder.decode(message)
        except BadPicture as error:
            self._sink.put(f'trouble {channel.name}', str(error))
            return
        self._sink.picture(channel.name, picture)

    def _take_state(self, channel: Channel, message) -> None:
        self._sink.sample(channel.kind, *positions(message))

    _take_command = _take_state

    def _take_chunk(self, channel: Channel, message) -> None:
        published_s = self._own_s(message.header.stamp)
        observed_s = published_s - (seconds(message.header.stamp)
                                    - seconds(message.observation_stamp))
        self._sink.add('cycles', {
            'end': published_s, 'observed': observed_s, 'frame': message.frame_id,
            'encode': message.encode_time, 'act': message.denoise_time})
        rows = np.asarray(message.positions, np.float32).reshape(message.horizon, -1)
        self._sink.put('plan', {'start': observed_s, 'dt': message.dt,
                                'names': list(message.joint_names),
                                'rows': np.round(rows, 4).astype(float).tolist()})

    def _take_piece(self, channel: Channel, message) -> None:
        self._sink.add('pieces', {
            **plain(message), 'end': self._own_s(message.stamp)})

    def _take_fact(self, channel: Channel, message) -> None:
        self._sink.add('facts', {**plain(message), 'stamp': seconds(message.stamp)})

    def _take_status(self, channel: Channel, message) -> None:
        self._sink.put(channel.kind, plain(message))

    _take_engine = _take_deadline = _take_subtask = _take_status

    def _take_diagnostics(self, channel: Channel, message) -> None:
        parts = [diagnostic(status) for status in message.status
                 if status.name.startswith(f'{self._node_name}:')]
        if parts:
            self._sink.put(channel.kind, parts)

    def _take_instruction(self, channel: Channel, message) -> None:
        self._sink.put(channel.kind, message.data)
