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

"""Several streams of text on one terminal, each word at once, no line cut in two by another."""

CONTINUED = '…'      # in front of words that go on below a line of another kind


class Transcript:
    """
    Lays out pieces of concurrent texts for a terminal.

    One text is written live. Pieces of the others are kept; when the live one ends, texts that
    ended meanwhile are written whole and the oldest open one goes live.
    """

    def __init__(self):
        self._texts: dict[str, tuple[str, str]] = {}   # request -> (task, text), oldest first
        self._ended: set[str] = set()
        self._live: str | None = None
        self._live_task = ''
        self._is_mid_line = False

    def add(self, request_id: str, task: str, text: str, *, final: bool) -> str:
        """Take a piece; return what to write now."""
        text = text.replace('\n', ' ')
        if not text and not (final and (request_id == self._live or request_id in self._texts)):
            return ''        # a text that ends without a word, as at a reset, leaves no trace
        shown = ''
        if self._live is None:
            self._live, self._live_task = request_id, task
            shown = _heading(task)
        if request_id == self._live:
            if not shown and not self._is_mid_line:
                if not text:
                    return self._next() if final else ''
                shown = _heading(self._live_task) + CONTINUED
            self._is_mid_line = not final
            shown += text
            return shown + ('\n' + self._next() if final else '')
        self._texts[request_id] = (task, self._texts.get(request_id, (task, ''))[1] + text)
        if final:
            self._ended.add(request_id)
        return shown

    def interrupt(self) -> str:
        """Return what must be written before a line of another kind."""
        if not self._is_mid_line:
            return ''
        self._is_mid_line = False
        return '\n'

    def _next(self) -> str:
        """Write what has ended meanwhile and choose the next live text."""
        shown, self._live = '', None
        for request_id, (task, text) in list(self._texts.items()):
            if request_id in self._ended:
                shown += _heading(task) + text + '\n'
                self._ended.discard(request_id)
                del self._texts[request_id]
        if self._texts:
            self._live = next(iter(self._texts))
            self._live_task, text = self._texts.pop(self._live)
            shown += _heading(self._live_task) + text
            self._is_mid_line = True
        return shown


def _heading(task: str) -> str:
    return f'{task:<9} '
