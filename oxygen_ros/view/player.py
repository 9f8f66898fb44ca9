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

"""Plays a recording into a feed, at its own pace; with a position that can be set."""

import logging
import math
from pathlib import Path
import threading
import time

from oxygen_ros.bags.files import BagError
from oxygen_ros.bags.reader import Bag
from oxygen_ros.bags.reader import RawMessage
from oxygen_ros.view import channels
from oxygen_ros.view.channels import channel_of
from oxygen_ros.view.feed import Feed
from oxygen_ros.view.page import PageError

POLL_S = 0.05
MAX_LAG_S = 0.1        # a recording that is read later than this is played slower
TELL_EVERY_S = 0.25    # how often the page hears the position
# What is taken on the way to a position, however far back: it still holds there.
_LASTING = (channels.FACT, channels.INSTRUCTION, channels.SUBTASK)

_logger = logging.getLogger(__name__)


class Player:
    """
    An open recording and the position in it, s from its start; a context manager.

    `run` belongs to one thread, `control` may be called from any.
    """

    def __init__(self, path: str, *, speed: float = 1.0):
        """Open a bag; raises BagError if it holds nothing that can be shown."""
        self._bag = Bag(path)
        self._channels = {topic: channel for topic, kind in self._bag.types.items()
                          if (channel := channel_of(topic, kind))}
        try:
            if not self._channels:
                raise BagError(f'{path} holds nothing that is shown here: neither pictures nor '
                               f'joint states nor topics of oxygen_ros')
            times = [raw.time_ns for raw in self._bag.messages(tuple(self._channels))]
            if not times:
                raise BagError(f'{path} holds no message')
        except BaseException:
            self._bag.close()
            raise
        self._start_ns, self.duration_s = times[0], (times[-1] - times[0]) / 1e9
        self.title = Path(path).name
        self._node_name = self._find_node()
        self._speed = speed
        self._lock = threading.Lock()
        self._changed = threading.Event()      # the position was set, or play and pause
        self._paused = False
        self._base_s, self._base_at_s = 0.0, time.monotonic()   # position at a steady time
        self._wanted_s: float | None = 0.0     # position to jump to
        self._told = -math.inf, False          # position and pause that the page heard of
        self._unknown: set[str] = set()        # topics that could not be decoded
        self._is_over = lambda: False

    def __enter__(self) -> 'Player':
        """Return the open player."""
        return self

    def __exit__(self, *exception) -> None:
        """Close the recording."""
        self._bag.close()

    @property
    def faults(self) -> list[str]:
        """What of the recording is missing or broken, in words."""
        return self._bag.faults

    def now_s(self) -> float:
        """Return the position, s from the start of the recording."""
        with self._lock:
            return self._position_s()

    def control(self, request: dict) -> str:
        """Do what the page asks: {'paused': bool} or {'position': s}."""
        paused, position_s = request.get('paused'), request.get('position')
        if isinstance(paused, bool):
            with self._lock:
                if self._position_s() >= self.duration_s and not paused:
                    self._wanted_s = 0.0       # play again from the start
                self._set(self._position_s(), paused=paused)
        elif type(position_s) in (int, float) and 0 <= position_s <= self.duration_s:
            with self._lock:
                self._wanted_s = float(position_s)
        else:
            raise PageError(f'no position in this recording of {self.duration_s:.1f} s')
        self._changed.set()
        return 'ok'

    def run(self, sink, stopping: threading.Event, *, seconds: float = 0.0,
            forever: bool = True) -> None:
        """
        Play to the end, and if `forever` wait there for another position.

        seconds: end after this wall time, 0: never.
        """
        self._is_over = lambda: stopping.is_set() or 0 < seconds < time.monotonic() - began_s
        began_s = time.monotonic()
        while self._wanted_s is not None and not self._is_over():
            with self._lock:
                from_s, self._wanted_s = self._wanted_s, None
                self._set(from_s, paused=self._paused)
            sink.clear()
            self._told = -math.inf, False
            feed = Feed(sink, now_s=self.now_s, node_name=self._node_name)
            for raw in self._bag.messages(tuple(self._channels)):
                due_s = (raw.time_ns - self._start_ns) / 1e9
                if not self._wait_until(due_s, sink):
                    break
                if due_s >= from_s:
                    self._wait_for_reading(due_s)
                self._show(raw, feed, from_s)
            self._wait_until(math.inf if forever else self.duration_s, sink)

    def _show(self, raw: RawMessage, feed: Feed, from_s: float) -> None:
        channel = self._channels[raw.topic]
        is_before = raw.time_ns < self._start_ns + from_s * 1e9
        if (is_before and channel.kind not in _LASTING) or not feed.arrived(channel):
            return
        try:
            feed.take(channel, self._bag.decode(raw))
        except BagError as error:
            if channel.topic not in self._unknown:
                self._unknown.add(channel.topic)
                _logger.warning('%s', error)
        feed.count_rates()

    def _wait_until(self, due_s: float, sink) -> bool:
        """Wait for a position; False if another one is wanted, or nothing more."""
        while self._wanted_s is None and not self._is_over():
            position_s = self.now_s()
            self._changed.clear()
            paused = self._paused or position_s >= self.duration_s
            told_s, told_paused = self._told
            if paused != told_paused or abs(position_s - told_s) >= TELL_EVERY_S:
                self._told = position_s, paused
                sink.put('player', {'position': position_s, 'duration': self.duration_s,
                                    'paused': paused})
            if position_s >= due_s:
                return True
            self._changed.wait(min(POLL_S, max(0.001, (due_s - position_s) / self._speed)))
        return False

    def _wait_for_reading(self, due_s: float) -> None:
        """Hold the clock where reading is slower, so that all is shown at its own time."""
        with self._lock:
            if self._position_s() > due_s + MAX_LAG_S:
                self._set(due_s, paused=self._paused)

    def _set(self, position_s: float, *, paused: bool) -> None:
        self._base_s, self._base_at_s, self._paused = position_s, time.monotonic(), paused

    def _position_s(self) -> float:
        if self._wanted_s is not None:
            return self._wanted_s
        gone_s = 0.0 if self._paused else (time.monotonic() - self._base_at_s) * self._speed
        return min(self.duration_s, self._base_s + gone_s)

    def _find_node(self) -> str:
        """Return the full name of the recorded node, '' if none was."""
        for topic, channel in self._channels.items():
            if channel.kind in (channels.DEADLINE, channels.ENGINE, channels.PIECE):
                return topic.rsplit('/', 1)[0]
        return ''
