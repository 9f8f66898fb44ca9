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

"""What there is to see, newest first to forget; browsers fetch what they have not seen yet."""

import base64
from collections import deque
from collections.abc import Callable
from contextlib import contextmanager
import threading
import uuid

import cv2
import numpy as np
from numpy.typing import NDArray

PICTURE_SIDE = 480           # px, longest side that is sent
JPEG_QUALITY = 80
_KEPT = {'samples': 1200, 'cycles': 200, 'pieces': 2000, 'facts': 200}


class Board:
    """
    Keeps the newest entries of every kind, each under a number that counts up.

    `update(since)` returns what came after a number, so any number of readers keep their own
    place and a slow one loses only what was forgotten meanwhile. Any thread.
    """

    def __init__(self, *, now_s: Callable[[], float]):
        self.run = uuid.uuid4().hex[:8]      # numbers of another run mean nothing here
        self.num_readers = 0
        self._now_s = now_s
        self._lock = threading.Lock()
        self._number = 0
        self._logs = {kind: deque(maxlen=kept) for kind, kept in _KEPT.items()}
        self._values: dict[str, tuple[int, object]] = {}

    @property
    def is_watched(self) -> bool:
        """Whether anybody looks; if not, pictures and samples need not be made."""
        return self.num_readers > 0

    @contextmanager
    def reader(self):
        """Count a reader for as long as it looks."""
        with self._lock:
            self.num_readers += 1
        try:
            yield
        finally:
            with self._lock:
                self.num_readers -= 1

    def picture(self, camera: str, picture: NDArray[np.uint8]) -> None:
        """Show [H, W, 3] RGB as the newest picture of a camera."""
        height, width = picture.shape[:2]
        scale = PICTURE_SIDE / max(height, width)
        if scale < 1:
            picture = cv2.resize(picture, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
        _, jpeg = cv2.imencode('.jpg', cv2.cvtColor(picture, cv2.COLOR_RGB2BGR),
                               (cv2.IMWRITE_JPEG_QUALITY, JPEG_QUALITY))
        self.put(f'camera {camera}', {
            'width': width, 'height': height, 'jpeg': base64.b64encode(jpeg).decode('ascii')})

    def sample(self, kind: str, names: list[str], values: list[float]) -> None:
        """Show joint positions: kind 'state' or 'command', robot units."""
        self.add('samples', {'kind': kind, 'names': names,
                             'values': [round(value, 5) for value in values]})

    def add(self, kind: str, entry: dict) -> None:
        """Append to a log: samples, cycles, pieces or facts."""
        with self._lock:
            self._number += 1
            self._logs[kind].append((self._number, {'t': self._now_s(), **entry}))

    def put(self, key: str, value) -> None:
        """Replace what is shown under a key."""
        with self._lock:
            self._number += 1
            self._values[key] = self._number, {'t': self._now_s(), 'value': value}

    def clear(self) -> None:
        """Forget everything but the source, as before a jump within a recording."""
        with self._lock:
            self.run = uuid.uuid4().hex[:8]
            for log in self._logs.values():
                log.clear()
            self._values = {key: value for key, value in self._values.items() if key == 'source'}

    def update(self, since: int) -> tuple[dict, int]:
        """Return what came after number `since` (0: everything kept) and the newest number."""
        with self._lock:
            update = {'now': self._now_s(), 'run': self.run}
            values = {key: value for key, (number, value) in self._values.items()
                      if number > since}
            if values:
                update['values'] = values
            for kind, log in self._logs.items():
                # Newest first and stop at what is known: the logs are long, the news short.
                news = []
                for number, entry in reversed(log):
                    if number <= since:
                        break
                    news.append(entry)
                if news:
                    update[kind] = news[::-1]
            return update, self._number
