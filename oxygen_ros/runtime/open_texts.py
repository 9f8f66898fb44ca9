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

"""Texts that are being written: makes sure each ends exactly once, whatever the engine does."""

from dataclasses import dataclass
from dataclasses import replace
import threading
import time

from oxygen_ros.types import EndReason
from oxygen_ros.types import LanguageRequest
from oxygen_ros.types import TokenDelta


@dataclass
class _Open:
    task: str
    started_ns: int       # steady clock
    asked: bool           # by the session; else a standing task of the engine
    frame_id: int = 0
    stamp_ns: int = 0
    num_deltas: int = 0
    ttft_s: float = 0.0
    text: str = ''        # of all pieces so far


class OpenTexts:
    """
    Follows every request from submission to its final delta; any thread.

    An engine that starts again counts its standing texts from 1 again, so their ids get the
    number of the run appended: an id means one text as long as the session lives.
    """

    def __init__(self):
        self._open: dict[str, _Open] = {}
        self._lock = threading.Lock()
        self.run = 0         # engines before the present one

    def __len__(self) -> int:
        """Return how many texts are open."""
        return len(self._open)

    def submit(self, request: LanguageRequest) -> None:
        """Note a request; raises ValueError if its id is in use."""
        with self._lock:
            if request.request_id in self._open:
                raise ValueError(f'request id {request.request_id!r} is already running')
            self._open[request.request_id] = _Open(request.task, time.monotonic_ns(), asked=True)

    def follow(self, delta: TokenDelta) -> TokenDelta | None:
        """Note a delta of the engine; returns it as listeners shall see it, None if it is void."""
        with self._lock:
            text = self._open.get(delta.request_id)
            if text is None:
                delta = replace(delta, request_id=self._public_id(delta.request_id))
                text = self._open.get(delta.request_id)
            if text is None:
                if delta.index > 0:
                    return None      # goes on after its end was declared
                text = _Open(delta.task, time.monotonic_ns(), asked=False)
                self._open[delta.request_id] = text
            if text.asked and not text.num_deltas:
                text.ttft_s = (time.monotonic_ns() - text.started_ns) / 1e9
            text.num_deltas += 1
            text.text += delta.text
            text.frame_id, text.stamp_ns = delta.frame_id, delta.stamp_ns
            if delta.final:
                del self._open[delta.request_id]
            return delta

    def end(self, request_id: str, reason: EndReason, detail: str) -> TokenDelta | None:
        """End a text without the engine; None if it is not open."""
        with self._lock:
            text = self._open.pop(request_id, None)
            return None if text is None else _final(request_id, text, reason, detail)

    def end_all(self, reason: EndReason, detail: str) -> list[TokenDelta]:
        """End every open text because its engine is gone; the next engine starts afresh."""
        with self._lock:
            texts, self._open = self._open, {}
            self.run += 1
        return [_final(request_id, text, reason, detail) for request_id, text in texts.items()]

    def engine_id(self, request_id: str) -> str:
        """Return the id the engine knows a text by."""
        text = self._open.get(request_id)
        if text is None or text.asked:
            return request_id
        return request_id.removesuffix(f'.{self.run}')

    def _public_id(self, engine_id: str) -> str:
        return f'{engine_id}.{self.run}' if self.run else engine_id


def _final(request_id: str, text: _Open, reason: EndReason, detail: str) -> TokenDelta:
    return TokenDelta(request_id, text.task, text.frame_id, text.stamp_ns, text.num_deltas, '', 0,
                      final=True, reason=reason, detail=detail, ttft_s=text.ttft_s,
                      duration_s=(time.monotonic_ns() - text.started_ns) / 1e9,
                      full_text=text.text)
