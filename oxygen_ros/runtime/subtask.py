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

"""Two-level control: which subtask the action prompt carries instead of the instruction."""

from collections.abc import Callable
import logging
import threading

from oxygen_ros.types import EndReason
from oxygen_ros.types import Subtask
from oxygen_ros.types import TokenDelta

MAX_CHARACTERS = 200
_CHOSEN = (EndReason.EOS, EndReason.STOP)   # a text cut off by its length is no order to a robot

logger = logging.getLogger(__name__)


class SubtaskError(ValueError):
    """A subtask that cannot be followed or held; the message says why."""


class SubtaskControl:
    """
    Holds the subtask in force: the newest of the model, or the operator's. Any thread.

    It never outlives what it was about: a text about a frame from before the last `forget` (new
    instruction, reset, activation) is ignored however late it ends, and so is one about an older
    frame than the subtask in force. `forget` also ends a hold.
    """

    def __init__(self, on_change: Callable[[Subtask], None]):
        self._on_change = on_change
        self._lock = threading.Lock()
        self._oldest_frame_id = 0
        self.current = Subtask()

    def read(self, delta: TokenDelta) -> None:
        """Take the end of a text that says what to do next; effective from the next frame on."""
        if delta.reason not in _CHOSEN or not delta.full_text.strip():
            return
        try:
            text = checked(delta.full_text)
        except SubtaskError as error:
            logger.warning('text %s is no subtask: %s', delta.request_id, error)
            return
        with self._lock:
            if self.current.held or delta.frame_id < self._oldest_frame_id:
                return
            self._oldest_frame_id = delta.frame_id
            self._set(Subtask(text, 'model', False, delta.request_id, delta.frame_id))

    def hold(self, text: str = '') -> Subtask:
        """
        Keep a subtask of the operator, or with '' the present one, whatever the model says.

        Raises SubtaskError if the text is unfit, or if there is none to hold.
        """
        with self._lock:
            if text.strip():
                self._set(Subtask(checked(text), 'operator', True))
            elif self.current.text:
                now = self.current
                self._set(Subtask(now.text, now.source, True, now.request_id, now.frame_id))
            else:
                raise SubtaskError('there is no subtask to hold; give its text')
            return self.current

    def release(self) -> Subtask:
        """Follow the model again; an operator's subtask ends, one of the model stays."""
        with self._lock:
            now = self.current
            if now.source == 'operator':
                self._set(Subtask())
            elif now.held:
                self._set(Subtask(now.text, now.source, False, now.request_id, now.frame_id))
            return self.current

    def forget(self, next_frame_id: int) -> None:
        """Follow the instruction again, until a text about next_frame_id or later says else."""
        with self._lock:
            self._oldest_frame_id = next_frame_id
            self._set(Subtask())

    def stop_following(self) -> None:
        """Drop the model's subtask because no task feeds it any more; a held one stays."""
        with self._lock:
            if not self.current.held:
                self._set(Subtask())

    def _set(self, subtask: Subtask) -> None:
        last, self.current = self.current, subtask
        if (last.text, last.source, last.held) != (subtask.text, subtask.source, subtask.held):
            self._on_change(subtask)


def checked(text: str) -> str:
    """Return a subtask as one line; raises SubtaskError."""
    text = ' '.join(text.split())
    if len(text) > MAX_CHARACTERS:
        raise SubtaskError(f'{text[:40]!r}... has {len(text)} characters; use at most '
                           f'{MAX_CHARACTERS}')
    if not text.isprintable():
        raise SubtaskError(f'{text!r} has characters that cannot be shown')
    return text
