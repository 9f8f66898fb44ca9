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

"""Reads facts out of text: one per line, 'subject | relation | object', perhaps '| 0.9'."""

import math
from typing import Callable

from oxygen_ros.types import EndReason
from oxygen_ros.types import MemoryFact
from oxygen_ros.types import TokenDelta

MAX_FIELD_CHARACTERS = 200
_WHOLE = (EndReason.EOS, EndReason.LENGTH, EndReason.STOP)


class MalformedFact(ValueError):
    """A line that is no fact; the message quotes it."""


def parse_fact(line: str) -> tuple[str, str, str, float | None]:
    """
    Split a line into subject, relation, object and confidence; raises MalformedFact.

    The confidence is an optional fourth field, a number from 0 to 1; None where it is not given.
    """
    fields = [' '.join(part.split()) for part in line.split('|')]
    confidence = _confidence(fields.pop()) if len(fields) == 4 else None
    if len(fields) != 3 or not all(fields):
        raise MalformedFact(f'{line!r} is not "subject | relation | object" with or '
                            'without "| confidence"')
    if any(len(part) > MAX_FIELD_CHARACTERS for part in fields):
        raise MalformedFact(f'{line[:60]!r}... has a field over {MAX_FIELD_CHARACTERS} characters')
    if any(not part.isprintable() for part in fields):
        raise MalformedFact(f'{line!r} has characters that cannot be shown')
    return *fields, confidence


def _confidence(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value <= 1:
        raise MalformedFact(f'confidence {text!r} is no number from 0 to 1')
    return value


class FactReader:
    """
    Collects the deltas of memory texts and reads each line as it is complete.

    The last line counts only when its text came to a regular end: of a text that was cut off
    nobody knows how it would have gone on. One thread.
    """

    def __init__(self, on_malformed: Callable[[str], None]):
        self._on_malformed = on_malformed
        self._unread: dict[str, str] = {}    # request id -> text after the last line end

    def push(self, delta: TokenDelta) -> list[MemoryFact]:
        """Take a delta; returns the facts it completes."""
        text = self._unread.pop(delta.request_id, '') + delta.text
        *lines, rest = text.split('\n')
        if not delta.final:
            self._unread[delta.request_id] = rest
        elif delta.reason in _WHOLE:
            lines.append(rest)
        facts = []
        for line in lines:
            if not line.strip():
                continue
            try:
                subject, relation, thing, confidence = parse_fact(line)
            except MalformedFact as error:
                self._on_malformed(str(error))
            else:
                facts.append(MemoryFact(subject, relation, thing, delta.stamp_ns, delta.frame_id,
                                        delta.request_id, confidence=confidence))
        return facts
