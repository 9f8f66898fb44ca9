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

"""Cuts streamed text into whole sentences, for speech."""

import re

from oxygen_ros.types import EndReason
from oxygen_ros.types import Sentence
from oxygen_ros.types import TokenDelta

# The mark, closing quotes or brackets, then space: '3.5' has no end inside. A line end is one.
_END = re.compile(r'(?<=[.!?…])["\'”’)\]]*\s+|(?<=[。！？])|\s*\n\s*')
_COMPLETE = re.compile(r'[.!?…。！？]["\'”’)\]]*\s*$')
_CHOSEN = (EndReason.EOS, EndReason.STOP)      # ends that the model chose


class SentenceReader:
    """
    Collects the deltas of texts and returns each sentence as soon as it is complete. One thread.

    The rest at the end of a text counts where the model chose that end, or where it closes with
    a mark; of a text that was cut off nobody wants to hear half a sentence.
    """

    def __init__(self):
        self._unread: dict[str, str] = {}    # request id -> text after the last sentence

    def push(self, delta: TokenDelta) -> list[Sentence]:
        """Take a delta; return the sentences it completes."""
        text = self._unread.pop(delta.request_id, '') + delta.text
        sentences, start = [], 0
        for end in _END.finditer(text):
            if end.end() > start:
                sentences.append(text[start:end.end()])
                start = end.end()
        rest = text[start:]
        if not delta.final:
            self._unread[delta.request_id] = rest
        elif delta.reason in _CHOSEN or (delta.reason is EndReason.LENGTH
                                             and _COMPLETE.search(rest)):
            sentences.append(rest)
        return [Sentence(' '.join(sentence.split()), delta.task, delta.request_id)
                for sentence in sentences if any(letter.isalnum() for letter in sentence)]
