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

"""The life of one language request, and its resumable state (sigma of the method)."""

from collections.abc import Callable
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import field
from enum import Enum

import torch

from oxygen_ros.checkpoint.tokenizer import StreamDecoder
from oxygen_ros.checkpoint.tokenizer import TextTokenizer
from oxygen_ros.config.prompts import memory_prompt
from oxygen_ros.engine.kv import Extent
from oxygen_ros.engine.kv import Prefix
from oxygen_ros.engine.rhythm import TextView
from oxygen_ros.engine.sampling import WordChoices
from oxygen_ros.types import EndReason
from oxygen_ros.types import LanguageRequest
from oxygen_ros.types import TokenDelta


class RequestState(str, Enum):
    """Where a request is in its life; the last four are final."""

    QUEUED = 'queued'           # waits for a frame, or for room
    PREFILLING = 'prefilling'   # has its frame; its own prompt was not run yet
    DECODING = 'decoding'
    FINISHED = 'finished'
    CANCELLED = 'cancelled'
    FAILED = 'failed'
    EXPIRED = 'expired'


END_STATES = {
    EndReason.EOS: RequestState.FINISHED, EndReason.LENGTH: RequestState.FINISHED,
    EndReason.STOP: RequestState.FINISHED, EndReason.CANCELLED: RequestState.CANCELLED,
    EndReason.EVICTED: RequestState.CANCELLED, EndReason.DEADLINE: RequestState.EXPIRED,
    EndReason.REFUSED: RequestState.FAILED, EndReason.ERROR: RequestState.FAILED,
}


class TextStream:
    """Tokens to text that may leave: whole characters, and nothing that may be a stop string."""

    def __init__(self, decoder: StreamDecoder, stop: Sequence[str]):
        self._decoder = decoder
        self._stop = tuple(word for word in stop if word)
        self._held = ''
        self.stopped = False   # a stop string came; the text ends before it

    def push(self, token_id: int) -> str:
        """Return the text that is certain after this token."""
        return self._certain(self._decoder.push(token_id))

    def flush(self) -> str:
        """Return what was held back, at the end of the text."""
        text = self._certain('' if self.stopped else self._decoder.flush()) + self._held
        self._held = ''
        return text

    def _certain(self, more: str) -> str:
        text, self._held = self._held + more, ''
        ends = [text.find(word) for word in self._stop if word in text]
        if ends:
            self.stopped = True
            return text[:min(ends)]
        held = max((length for word in self._stop for length in range(1, len(word))
                    if text.endswith(word[:length])), default=0)
        if held:
            text, self._held = text[:-held], text[-held:]
        return text


@dataclass(eq=False)
class Generation:
    """One text from its submission to its end; everything needed to go on in any later frame."""

    request: LanguageRequest
    suffix_ids: tuple[int, ...]            # its own prompt after the shared prefix
    limit: int                             # tokens it may have at most
    submitted_s: float                     # engine clock
    stream: TextStream
    choices: WordChoices | None = None     # None: free text
    generator: torch.Generator | None = None   # None: greedy
    state: RequestState = RequestState.QUEUED
    prefix: Prefix | None = None           # set on admission, until the end
    extent: Extent | None = None           # its own rows, likewise
    num_written: int = 0                   # own rows that hold keys and values
    feeding: tuple[int, ...] = ()          # ids the next pass runs before it can pick a token
    draft: tuple[int, ...] = ()            # guesses of what follows, checked in the same pass
    token_ids: list[int] = field(default_factory=list)   # real ones, without end token
    first_token_s: float = 0.0
    last_token_s: float | None = None
    about: tuple[int, int] = (0, 0)        # frame id and stamp of the frame, kept after the end
    facts: tuple[str, ...] = ()            # of the request: those that its prompt has room for
    _next_index: int = 0
    _num_sent: int = 0
    _sent: str = ''                        # text of all pieces so far

    @property
    def request_id(self) -> str:
        """Return the id of its request."""
        return self.request.request_id

    @property
    def num_feeding(self) -> int:
        """Return the rows that the next forward pass adds."""
        return len(self.feeding) + len(self.draft)

    @property
    def num_rows(self) -> int:
        """Return the own rows it needs: the last token is never fed back."""
        return max(1, len(self.suffix_ids) + self.limit - 1)

    @property
    def expires_s(self) -> float | None:
        """Return when its time is over; None = never."""
        expiry_s = self.request.expiry_s
        return None if expiry_s is None else self.submitted_s + expiry_s

    def begin(self, prefix: Prefix, extent: Extent) -> None:
        """Take its place on a frame."""
        self.prefix, self.extent, self.feeding = prefix, extent, self.suffix_ids
        self.about = (prefix.frame_id, prefix.stamp_ns)
        self.state = RequestState.PREFILLING

    def add(self, token_id: int, now_s: float) -> None:
        """Take in the token picked last; it is fed in the next pass."""
        if not self.token_ids:
            self.first_token_s, self.state = now_s, RequestState.DECODING
        self.token_ids.append(token_id)
        self.last_token_s, self.feeding = now_s, (token_id,)
        if self.choices:
            self.choices.push(token_id)

    def view(self) -> TextView:
        """Return what the scheduler needs to know."""
        request = self.request
        waiting = len(self.feeding) if self.state is RequestState.PREFILLING else 0
        return TextView(
            request.request_id, priority=request.priority,
            target_tokens_per_s=request.target_tokens_per_s, submitted_s=self.submitted_s,
            expires_s=self.expires_s, tokens_done=len(self.token_ids),
            last_token_s=self.last_token_s, prompt_tokens_left=waiting)

    def delta(self, text: str) -> TokenDelta | None:
        """Return the next piece, None while there is no text to send."""
        return self._piece(text) if text else None

    def end(self, reason: EndReason, now_s: float, *, text: str = '', detail: str = '',
            full_text: str | None = None) -> TokenDelta:
        """Reach the end of life; return the one final piece. full_text None: what was sent."""
        if self.state in END_STATES.values():
            raise RuntimeError(f'request {self.request_id} has ended as {self.state.value} before')
        self.state = END_STATES[reason]
        ttft_s = self.first_token_s - self.submitted_s if self.token_ids else 0.0
        return self._piece(text, final=True, reason=reason, detail=detail, ttft_s=ttft_s,
                           duration_s=now_s - self.submitted_s, facts=self.facts,
                           full_text=self._sent + text if full_text is None else full_text)

    def _piece(self, text: str, **fields) -> TokenDelta:
        num_tokens = len(self.token_ids) - self._num_sent
        index, self._num_sent = self._next_index, len(self.token_ids)
        self._next_index += 1
        self._sent += text
        return TokenDelta(self.request_id, self.request.task, *self.about, index, text,
                          num_tokens, **fields)


def whole_text(tokenizer: TextTokenizer, text: Generation) -> str:
    """Return the text of all tokens at once: what the pieces must amount to."""
    whole = tokenizer.decode(text.token_ids)
    ends = [whole.find(word) for word in text.request.stop if word in whole]
    return whole[:min(ends)] if ends else whole


def with_facts(request: LanguageRequest, encode: Callable[[str], Sequence[int]]
               ) -> tuple[tuple[str, ...], str]:
    """Return the facts, most useful first, that memory_tokens allow, and the prompt with them."""
    fits, too_many = 0, len(request.facts) + 1
    while too_many - fits > 1:      # by bisection: frames wait meanwhile
        middle = (fits + too_many) // 2
        if len(encode(memory_prompt(request.facts[:middle]))) <= request.memory_tokens:
            fits = middle
        else:
            too_many = middle
    facts = request.facts[:fits]
    return facts, memory_prompt(facts) + request.prompt


def make_choices(request: LanguageRequest,
                 encode: Callable[[str], Sequence[int]]) -> WordChoices | None:
    """Return the constraint of a request; ValueError for a position without a word."""
    if not request.choices:
        return None
    if not all(words and all(words) for words in request.choices):
        raise ValueError(f'choices of {request.task} hold an empty position or word; '
                         'give at least one word per position')
    return WordChoices(request.choices, encode)
