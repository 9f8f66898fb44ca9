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

"""
Continuous batching over frames: texts about different frames decode in one pass.

A text joins when it meets a frame, leaves when it ends, and in between takes part in the steps
it is chosen for. What it says does not depend on who shares its batch: rows never see each
other, each text has its own rows in the pool and its own random numbers.
"""

from collections.abc import Callable
from collections.abc import Sequence
from dataclasses import dataclass
import logging

import torch

from oxygen_ros.checkpoint.base import LoadedPolicy
from oxygen_ros.engine.drafts import DraftBook
from oxygen_ros.engine.kv import KVManager
from oxygen_ros.engine.kv import Prefix
from oxygen_ros.engine.requests import Generation
from oxygen_ros.engine.requests import make_choices
from oxygen_ros.engine.requests import TextStream
from oxygen_ros.engine.requests import whole_text
from oxygen_ros.engine.requests import with_facts
from oxygen_ros.engine.sampling import Picker
from oxygen_ros.models.masked import StaticBackbone
from oxygen_ros.models.segment import Segment
from oxygen_ros.types import EndReason
from oxygen_ros.types import LanguageRequest
from oxygen_ros.types import TokenDelta

# Requests that may wait for a frame, as a multiple of the texts that may run.
QUEUE_FACTOR = 8
# Rows of static passes; a step with more rows, as of long prompts, runs with its own shape.
STATIC_ROWS = (1, 2, 4, 8, 16, 32, 64)

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class DecodePass:
    """The rows that one decode step adds to a forward pass."""

    batch: tuple[Generation, ...]
    token_ids: tuple[int, ...]         # of all texts that feed something, in order
    segments: tuple[Segment, ...]


class LanguageExecutor:
    """All open texts of one engine; knows nothing of frames' timing."""

    def __init__(self, policy: LoadedPolicy, kv: KVManager, *, num_texts: int,
                 max_text_tokens: int, reserve_rows: int, now_s: Callable[[], float],
                 draft_tokens: int = 0):
        self._policy, self._kv, self._now_s = policy, kv, now_s
        self._backbone = policy.model.backbone
        self._num_texts, self._max_text_tokens = num_texts, max_text_tokens
        self._reserve_rows = reserve_rows   # stay free for the next frame's prefix and actions
        self._queued: dict[str, Generation] = {}
        self._running: dict[str, Generation] = {}
        self._suffixes: dict[str, tuple[int, ...]] = {}   # of prompts seen; tasks repeat theirs
        self._picker = Picker(suppressed_ids=policy.suppressed_ids, end_ids=policy.end_ids,
                              device=kv.pool.keys.device)
        self._static: StaticBackbone | None = None
        self.drafts = DraftBook(draft_tokens)
        self.num_tokens = 0                 # real tokens since the start

    def use_static_shapes(self) -> None:
        """
        Run decode steps with tensors of few fixed sizes over the whole pool.

        What a GPU wants: few kernels for many texts, and nothing that keeps a graph from being
        captured. Reads rows that nobody sees, so a CPU is faster without.
        """
        self._static = StaticBackbone(
            self._backbone, self._kv.pool, buckets=STATIC_ROWS,
            region=(0, self._kv.pool.num_rows), idle_row=self._kv.num_rows)

    @property
    def queued(self) -> tuple[Generation, ...]:
        """Texts that wait for a frame or for room, most important first."""
        return tuple(sorted(self._queued.values(),
                            key=lambda text: (-text.request.priority, text.submitted_s)))

    @property
    def running(self) -> tuple[Generation, ...]:
        """Texts that have a frame, oldest first."""
        return tuple(self._running.values())

    def is_open(self, task: str) -> bool:
        """Return whether a text of this task has not ended."""
        return any(text.request.task == task
                   for texts in (self._queued, self._running) for text in texts.values())

    def submit(self, request: LanguageRequest) -> list[TokenDelta]:
        """Queue a request; one that can never run is refused with a reason."""
        if request.request_id in self._queued or request.request_id in self._running:
            logger.warning('request %s is open already; the second one is ignored',
                           request.request_id)
            return []
        text = Generation(request, (), 0, self._now_s(),
                          TextStream(self._policy.tokenizer.stream(), request.stop))
        try:
            refusal = self._prepare(text)
        except ValueError as error:
            refusal = str(error)
        except Exception as error:   # one odd prompt must not stop the robot
            logger.exception('request %s cannot be prepared', request.request_id)
            return [text.end(EndReason.ERROR, self._now_s(), detail=repr(error))]
        if refusal:
            return [text.end(EndReason.REFUSED, self._now_s(), detail=refusal)]
        self._queued[request.request_id] = text
        return []

    def admit(self, prefix: Prefix, *, at_most: int | None = None) -> list[TokenDelta]:
        """
        Start queued texts on a frame, most important first, as far as there is room.

        Room for the next frame's prefix always stays. A text may push out less important ones;
        one that still does not fit keeps its place in the queue, and so does what is behind it.
        """
        deltas: list[TokenDelta] = []
        for text in self.queued[:at_most]:
            sizes = (text.num_rows, self._reserve_rows)
            if len(self._running) >= self._num_texts or not self._kv.fits(sizes):
                deltas += self._make_room(text, sizes)
            if len(self._running) >= self._num_texts or not self._kv.fits(sizes):
                break
            self._kv.share(prefix, prefix_mode=self._policy.prefix_mode)
            text.begin(prefix, self._kv.acquire(text.num_rows, kind='text'))
            self._running[text.request_id] = self._queued.pop(text.request_id)
        return deltas

    def step(self, request_ids: Sequence[str]) -> list[TokenDelta]:
        """Run one decode step for these texts; each gets its next token (or prompt and token)."""
        rows = self.begin_step(request_ids)
        try:
            hidden = self.run(rows)
        except Exception as error:
            return self._isolate_failure(rows.batch, error)
        return self.finish_step(rows, hidden)

    def begin_step(self, request_ids: Sequence[str]) -> DecodePass:
        """Return the rows of a decode step, ready for any forward pass."""
        batch = tuple(self._running[request_id] for request_id in request_ids)
        for text in batch:
            text.draft = self.drafts.guess(text)
        feeding = [text for text in batch if text.feeding]
        return DecodePass(
            batch, tuple(token for text in feeding for token in text.feeding + text.draft),
            self._kv.batch(feeding))

    def run(self, rows: DecodePass) -> torch.Tensor | None:
        """Return the hidden rows of a step in a pass of its own; None if there are none."""
        if not rows.segments:
            return None
        hidden = self._backbone.embed(rows.token_ids)
        if self._static and hidden.shape[0] <= STATIC_ROWS[-1]:
            return self._static.forward(hidden, rows.segments)
        return self._backbone.forward(hidden, rows.segments, self._kv.pool)

    def finish_step(self, rows: DecodePass, hidden: torch.Tensor | None) -> list[TokenDelta]:
        """Pick the next tokens from the hidden rows of a step."""
        if not rows.batch:
            return []
        parts, row = [], 0
        for text in rows.batch:
            if not text.feeding:   # empty prompt: the prefix's true last row predicts the token
                parts.append(text.prefix.last_hidden)
                continue
            row += text.num_feeding
            parts.append(hidden[row - 1 - len(text.draft):row])
        self._picker.load(self._backbone.logits(torch.cat(parts)))
        deltas, row = [], 0
        for text in rows.batch:
            try:
                if text.extent is not None:   # else it ended since its rows were run
                    if text.feeding:
                        self._kv.update(text, len(text.feeding))
                    deltas += self._continue(text, row)
            except Exception as error:   # one text's fault ends that text only
                logger.exception('text %s failed', text.request_id)
                deltas.append(self._end(text, EndReason.ERROR, detail=repr(error)))
            row += 1 + len(text.draft)
        return deltas

    def cancel(self, request_id: str, *, detail: str = '') -> list[TokenDelta]:
        """End a text now; an id that is not open is no error, its end may be on the way."""
        return self._end_all((request_id,), EndReason.CANCELLED, detail)

    def expire(self, request_ids: Sequence[str]) -> list[TokenDelta]:
        """End texts whose time is over."""
        return self._end_all(request_ids, EndReason.DEADLINE, 'its time was over')

    def end_all(self, reason: EndReason, detail: str) -> list[TokenDelta]:
        """End every open text."""
        return self._end_all((*self._queued, *self._running), reason, detail)

    def _prepare(self, text: Generation) -> str:
        """Fill in prompt and limit; return why it can never run, '' if it can."""
        request = text.request
        if request.max_tokens < 1:
            return f'max_tokens is {request.max_tokens}; ask for at least 1'
        text.facts, prompt = with_facts(request, self._policy.suffix_ids)
        if prompt not in self._suffixes:
            if len(self._suffixes) >= 256:   # questions differ: keep only recent prompts
                self._suffixes.clear()
            self._suffixes[prompt] = tuple(self._policy.suffix_ids(prompt))
        text.suffix_ids = self._suffixes[prompt]
        text.choices = make_choices(request, self._policy.suffix_ids)
        # Choices bound their text themselves; cutting it would leave a line that does not parse.
        text.limit = max(request.max_tokens, text.choices.longest if text.choices else 0)
        if request.sampling.temperature > 0:
            text.generator = torch.Generator().manual_seed(request.sampling.seed)
        if text.limit > self._max_text_tokens:
            return (f'{text.limit} tokens are more than max_text_tokens '
                    f'{self._max_text_tokens}; ask for fewer or raise it')
        needed = self._kv.rounded(text.num_rows) + 2 * self._kv.rounded(self._reserve_rows)
        if needed > self._kv.num_rows:
            return (f'the text and two frames need {needed} KV rows, the pool has '
                    f'{self._kv.num_rows}; raise pool_tokens or shorten the text')
        if len(self._queued) >= QUEUE_FACTOR * self._num_texts:
            return (f'{len(self._queued)} texts are waiting, at most '
                    f'{QUEUE_FACTOR * self._num_texts} may; ask again later')
        return ''

    def _make_room(self, text: Generation, sizes: tuple[int, int]) -> list[TokenDelta]:
        """Push out less important texts, the youngest of the least important first."""
        lesser = [other for other in reversed(self.running)
                  if other.request.priority < text.request.priority]
        lesser.sort(key=lambda other: other.request.priority)
        if len(self._running) >= self._num_texts:
            count = next((count for count in range(1, len(lesser) + 1)
                          if self._kv.fits(sizes, without=lesser[:count])), 0)
            evicted = lesser[:count]
            for other in evicted:
                self._kv.release(other.extent)
                self._kv.release(other.prefix)
        else:
            evicted = self._kv.evict(lesser, sizes)
        return [self._close(other, EndReason.EVICTED,
                            detail=f'made room for {text.request_id}') for other in evicted]

    def _isolate_failure(self, batch: Sequence[Generation], error: Exception) -> list[TokenDelta]:
        """Run the texts of a failed pass one by one, so that only the faulty one ends."""
        if len(batch) > 1:
            return [delta for text in batch for delta in self.step((text.request_id,))]
        logger.error('text %s failed', batch[0].request_id, exc_info=error)
        return [self._end(batch[0], EndReason.ERROR, detail=repr(error))]

    def _continue(self, text: Generation, row: int) -> list[TokenDelta]:
        """Take the token of a row, and those of the rows behind it while the draft was right."""
        pieces = ''
        self.drafts.num_guessed += len(text.draft)
        for guess in (*text.draft, None):
            token = self._picker.pick(row, text.request.sampling, generator=text.generator,
                                      choices=text.choices)
            self.drafts.num_accepted += token == guess
            reason = None
            if token in self._policy.end_ids:
                reason = EndReason.EOS
            else:
                text.add(token, self._now_s())
                self.num_tokens += 1
                pieces += text.stream.push(token)
                if text.stream.stopped:
                    reason = EndReason.STOP
                elif text.choices and not text.choices.allowed():
                    reason = EndReason.EOS
                elif len(text.token_ids) == text.limit:
                    reason = EndReason.LENGTH
            if reason:
                return [self._end(text, reason, pieces)]
            if token != guess:
                break
            self._kv.update(text, 1)
            row += 1
        delta = text.delta(pieces)
        return [delta] if delta else []

    def _end_all(self, request_ids: Sequence[str], reason: EndReason,
                 detail: str) -> list[TokenDelta]:
        texts = [self._queued.get(request_id) or self._running.get(request_id)
                 for request_id in request_ids]
        return [self._end(text, reason, detail=detail) for text in texts if text]

    def _end(self, text: Generation, reason: EndReason, pieces: str = '', *,
             detail: str = '') -> TokenDelta:
        """End a text and give back everything it holds."""
        if text.extent is not None:
            self._kv.release(text.extent)
            self._kv.release(text.prefix)
        return self._close(text, reason, pieces, detail=detail)

    def _close(self, text: Generation, reason: EndReason, pieces: str = '', *,
               detail: str = '') -> TokenDelta:
        text.prefix = text.extent = None
        self._queued.pop(text.request_id, None)
        self._running.pop(text.request_id, None)
        full_text = None
        if reason is not EndReason.ERROR:
            pieces += text.stream.flush()
            full_text = whole_text(self._policy.tokenizer, text)
        self.drafts.remember(text, reason)
        return text.end(reason, self._now_s(), text=pieces, detail=detail, full_text=full_text)
