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

"""The engine: one look per frame, the chunk first, text in the time that is left."""

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Sequence
from contextlib import contextmanager
import logging
import math
import threading

import numpy as np
import torch

from oxygen_ros.checkpoint.base import LoadedPolicy
from oxygen_ros.checkpoint.base import ModelInputs
from oxygen_ros.clock import Clock
from oxygen_ros.config import ConfigError
from oxygen_ros.config import EngineConfig
from oxygen_ros.config import RobotProfile
from oxygen_ros.config import StandingTask
from oxygen_ros.engine.baselines import BASELINES
from oxygen_ros.engine.continuation import Continuation
from oxygen_ros.engine.copies import CopyCounter
from oxygen_ros.engine.costs import CostModel
from oxygen_ros.engine.kv import KVManager
from oxygen_ros.engine.kv import Prefix
from oxygen_ros.engine.kv import PrefixKey
from oxygen_ros.engine.language import DecodePass
from oxygen_ros.engine.language import LanguageExecutor
from oxygen_ros.engine.meter import Meter
from oxygen_ros.engine.requests import RequestState
from oxygen_ros.engine.scheduler import Scheduler
from oxygen_ros.engine.scheduler import step_rows
from oxygen_ros.engine.tasks import TaskTriggers
from oxygen_ros.models.pool import KVPool
from oxygen_ros.models.segment import Segment
from oxygen_ros.types import ActionChunk
from oxygen_ros.types import CycleReport
from oxygen_ros.types import EndReason
from oxygen_ros.types import LanguageRequest
from oxygen_ros.types import Observation
from oxygen_ros.types import TokenDelta

PAGE_ROWS = 16
NOISE_STREAM = 1_000_003    # keeps the noise of neighbouring seeds apart
SUFFIX_ROWS = 64   # per text, for its own prompt, where the pool size is chosen by the engine

logger = logging.getLogger(__name__)

Event = ActionChunk | TokenDelta | CycleReport


def _never() -> bool:
    return False


class Engine:
    """
    Runs one policy on one robot; all methods are called from one thread.

    `emit` receives events in order: the chunk of a frame, the pieces of texts, one CycleReport
    at the end of a cycle that did anything. It must not block.
    """

    def __init__(self, policy: LoadedPolicy, robot: RobotProfile, config: EngineConfig, *,
                 clock: Clock, emit: Callable[[Event], None]):
        self.policy, self.robot, self.config = policy, robot, config
        self._clock, self._emit, self._emit_lock = clock, emit, threading.Lock()
        self.kv = make_manager(policy, config)
        self.costs = CostModel(config.scheduler.cost_quantile)
        self.scheduler = Scheduler(config.scheduler, self.costs)
        self.language = LanguageExecutor(
            policy, self.kv, num_texts=config.num_texts, max_text_tokens=config.max_text_tokens,
            reserve_rows=frame_rows(policy), now_s=self.now_s, draft_tokens=config.draft_tokens)
        if config.device != 'cpu':
            self.language.use_static_shapes()
        self._riders: tuple[DecodePass, torch.Tensor] | None = None   # ran in the last encode
        self.triggers = TaskTriggers(seed=config.seed)
        self.meter = Meter(clock, self.costs)
        self._epoch = 0
        self._continuation = Continuation(policy, robot, device=config.device)
        self._baseline = BASELINES.get(config.policy)

    def step(self, observation: Observation | None = None, *,
             interrupted: Callable[[], bool] = _never) -> None:
        """
        Run one cycle: with a new observation encode, share, act; then speak while time is left.

        interrupted() is asked before every decode step: True ends the cycle, because an
        observation that is due or a command waits. It may itself call submit, cancel, set_tasks,
        reset and close.
        """
        with self._cycle(observation) as observation:
            if self._baseline:
                return self._baseline(self, observation)
            if observation:
                with self.encoded(observation) as prefix:   # once per frame, whatever the tasks
                    self.share(prefix)                      # every text reads the same rows
                    self.act(prefix, observation)           # the chunk leaves first
            self.speak(interrupted)

    @contextmanager
    def encoded(self, observation: Observation, *, shared: bool = True) -> Iterator[Prefix]:
        """Encode an observation; its prefix lives on after the block as long as texts read it."""
        with self.meter.stage('encode'):
            inputs = self.policy.prepare(observation, self.robot)
            key = self.kv.key(observation.frame_id, self.policy.prefix_mode,
                              token_ids=inputs.token_ids, slots=inputs.slots,
                              images=inputs.images)
            prefix = self.kv.retrieve(key) if shared else None
            if prefix is None:
                prefix = self._encode(observation, inputs, key)
                if shared:
                    self.kv.store(prefix)
        try:
            yield prefix
        finally:
            self.kv.release(prefix)

    def share(self, prefix: Prefix, *, at_most: int | None = None) -> None:
        """Start waiting texts on a frame: they hold its prefix, nothing is run or copied."""
        self.emit_all(self.language.admit(prefix, at_most=at_most))

    def act(self, prefix: Prefix, observation: Observation) -> None:
        """Denoise one chunk and send it."""
        begin, end = prefix.rows
        with self.meter.stage('denoise'):
            actions = self.policy.model.expert.denoise(
                self._noise(observation.stamp_ns), (begin, end), end, prefix.num_rows,
                self.kv.pool, self.config.num_denoise_steps,
                self._continuation.guidance(observation))
            actions = self.policy.robot_actions(actions, observation, self.robot)
        chunk = ActionChunk(
            observation.frame_id, observation.stamp_ns, actions, 1 / self.robot.action_rate_hz,
            observation.epoch, self.meter.encode_s, self.meter.denoise_s)
        self.emit_all([chunk])
        self._continuation.sent(chunk)
        self.scheduler.end_actions(self.now_s())

    def _noise(self, stamp_ns: int) -> torch.Tensor:
        """
        Return where the denoising of a frame starts, [horizon, action_dim].

        Other noise for every stamp: with one for all, a chunk would err in the same direction
        each time, and the errors add up. The same for equal stamps, so that replays agree.
        """
        seed = (self.config.seed * NOISE_STREAM + stamp_ns) % 2 ** 63
        return torch.randn(self.policy.horizon, self.policy.action_dim,
                           generator=torch.Generator().manual_seed(seed)).to(self.config.device)

    def speak(self, interrupted: Callable[[], bool] = _never) -> None:
        """Run decode steps until the scheduler says stop; an observation waits for one at most."""
        if self._riders:
            riders, self._riders = self._riders, None
            self.emit_all(self.language.finish_step(*riders))
        self.expire()   # also in overload, when no step runs: an expired text gives its rows back
        while not interrupted():
            texts = [text.view() for text in self.language.running]
            chosen = self.scheduler.plan_decode(self.now_s(), texts)
            if not chosen:
                return
            with self.meter.stage('decode', batch=step_rows(texts, chosen)):
                deltas = self.language.step(chosen)
            self.emit_all(deltas)
            self.expire()

    def speak_to_end(self) -> None:
        """Run decode steps until every text has ended; what the baselines do in every frame."""
        while self.language.running:
            self.expire()
            texts = [text.view() for text in self.language.running]
            chosen = [text.request_id for text in texts][:self.config.scheduler.max_batch]
            if chosen:
                with self.meter.stage('decode', batch=step_rows(texts, chosen)):
                    deltas = self.language.step(chosen)
                self.emit_all(deltas)

    def expire(self) -> None:
        """End the texts, running or waiting, whose time is over."""
        texts = [text.view() for text in self.language.running + self.language.queued]
        self.emit_all(self.language.expire(self.scheduler.expired(self.now_s(), texts)))

    def submit(self, request: LanguageRequest) -> None:
        """Start a text on the next encoded frame."""
        self.emit_all(self.language.submit(request))

    def cancel(self, request_id: str) -> None:
        """End a text before its next decode step; unknown ids are ignored."""
        self.emit_all(self.language.cancel(request_id, detail='cancelled on request'))

    def set_tasks(self, tasks: Sequence[StandingTask]) -> None:
        """Replace the standing tasks; open texts of tasks that are gone end."""
        gone = {task.name for task in self.triggers.tasks} - {task.name for task in tasks}
        self.triggers.set(tasks)
        for text in self.language.running + self.language.queued:
            if text.request.task in gone:
                self.emit_all(self.language.cancel(text.request_id, detail='its task was removed'))

    def set_replan_rate(self, replan_hz: float) -> None:
        """Aim at this many chunks per second from the next frame on."""
        self.scheduler.set_replan_rate(replan_hz)

    def reset(self, epoch: int) -> None:
        """End every text and forget every frame; observations of an older epoch are ignored."""
        self._epoch = epoch
        self._continuation.forget()
        self.scheduler.forget_rhythm()   # else looks in a new rhythm would wait for the old one
        self.emit_all(self.language.end_all(EndReason.CANCELLED, 'the episode was reset'))
        self.triggers.reset()
        self.idle_check()

    def close(self) -> None:
        """End every text; the engine may be dropped afterwards."""
        self.triggers.set(())
        self.emit_all(self.language.end_all(EndReason.CANCELLED, 'the engine was closed'))

    @property
    def busy(self) -> bool:
        """Whether step() without an observation has text to go on with."""
        return bool(self.language.running)

    def next_work_s(self) -> float:
        """Return for how long step() without an observation would do nothing, inf without text."""
        texts = [text.view() for text in self.language.running]
        now_s = self.now_s()
        at_s = self.scheduler.next_decode_s(now_s, texts)
        return math.inf if at_s is None else max(0.0, at_s - now_s)

    def next_frame_s(self, now_s: float) -> float:
        """Return when the next frame may start (engine clock) to keep the replan rate."""
        return self.scheduler.next_frame_s(now_s)

    def idle_check(self) -> None:
        """Raise RuntimeError if rows are owned although no text is open."""
        self.kv.check_integrity()
        use = self.kv.stats()
        if use.pages_used and not self.language.running:
            raise RuntimeError(f'{use.pages_used} of {use.pages_total} KV pages belong to nobody')

    def warm_up(self) -> None:
        """Run every stage on an empty scene: pays for first times, measures what stages cost."""
        emit, self._emit = self._emit, lambda event: None
        try:
            # The first round pays for first times, and shows whether any KV byte is moved.
            self.meter.recording = False
            with CopyCounter(self.kv.pool) as copies:
                self._rehearse(self.config.num_texts)
            self.meter.recording = True
            for num_texts in (1, self.config.num_texts):
                self._rehearse(num_texts)
        finally:
            self._emit = emit
        self.meter.restart()
        self.kv.forget_peak()
        self.kv.count_copied(copies.num_bytes)
        self.language.num_tokens = 0

    def now_s(self) -> float:
        """Return the engine clock in seconds."""
        return self._clock.now_ns() * 1e-9

    def emit_all(self, events: Sequence[Event]) -> None:
        """Send events, one thread at a time."""
        for event in events:
            with self._emit_lock:
                self._emit(event)

    def start_tasks(self, observation: Observation) -> None:
        """Queue the texts that standing tasks want about this frame."""
        for request in self.triggers.due(observation, self.now_s(), self.language.is_open):
            self.submit(request)

    @contextmanager
    def _cycle(self, observation: Observation | None) -> Iterator[Observation | None]:
        """Wrap a cycle: what is void is dropped, due tasks are queued, the report goes out."""
        if observation and observation.epoch < self._epoch:
            observation = None
        self.meter.begin()
        tokens, manager_s = self.language.num_tokens, self.kv.spent_s
        if observation:
            self.meter.frames += 1
            self.scheduler.begin_frame(self.now_s())
            self.start_tasks(observation)
        with torch.inference_mode():
            yield observation
        if observation or self.meter.decode_steps:
            frame_id = observation.frame_id if observation else 0
            self.emit_all([self._report(frame_id, tokens, manager_s)])

    def _report(self, frame_id: int, tokens: int, manager_s: float) -> CycleReport:
        plan, meter = self.scheduler.report(), self.meter
        return CycleReport(
            frame_id, meter.encodes, meter.frames, meter.encode_s, meter.denoise_s,
            meter.decode_s, meter.decode_steps, self.language.num_tokens - tokens,
            len(self.language.running), len(self.language.queued), self.kv.stats(),
            self.kv.spent_s - manager_s, plan.rates_met, plan.detail,
            self.language.drafts.num_guessed, self.language.drafts.num_accepted)

    def _encode(self, observation: Observation, inputs: ModelInputs, key: PrefixKey) -> Prefix:
        model, rows = self.policy.model, inputs.num_rows
        extent = self.kv.acquire(rows + self.policy.horizon, kind='prefix')
        try:
            hidden = model.embed_prefix(inputs.images.to(self.config.device),
                                        list(inputs.token_ids))
            segment = model.prefix_segment(rows, num_image_rows=inputs.num_image_rows,
                                           write=extent.start)
            hidden = self._prefill(hidden, segment)
        except BaseException:
            self.kv.release(extent)
            raise
        self.meter.count_encode()
        return Prefix(key, extent, rows, observation.stamp_ns, hidden[-1:].clone())

    def _prefill(self, hidden: torch.Tensor, segment: Segment) -> torch.Tensor:
        """Run the rows of a prefix; with piggyback, those of running texts in the same pass."""
        backbone, pool = self.policy.model.backbone, self.kv.pool
        if self.config.piggyback and self._baseline is None:
            try:
                riders = self.language.begin_step(self._ready_to_ride())
                both = backbone.forward(torch.cat((hidden, backbone.embed(riders.token_ids))),
                                        (segment, *riders.segments), pool)
                self._riders = riders, both[segment.num_rows:]
                return both[:segment.num_rows]
            except Exception:   # an action must not fail for a text; its own step shows the fault
                logger.exception('piggyback failed; the frame is encoded without texts')
        return backbone.forward(hidden, (segment,), pool)

    def _ready_to_ride(self) -> list[str]:
        """Return the texts whose next token is one row and due; nobody is paced any faster."""
        now_s = self.now_s()
        ready = [text.request_id for text in self.language.running
                 if text.state is RequestState.DECODING
                 and self.scheduler.next_decode_s(now_s, [text.view()]) <= now_s]
        return ready[:self.config.scheduler.max_batch]

    def _rehearse(self, num_texts: int) -> None:
        robot = self.robot
        observation = Observation(
            0, 0, {slot: np.zeros((48, 64, 3), np.uint8) for slot in self.policy.cameras},
            np.zeros(len(robot.joints), np.float32), robot.instruction)
        for index in range(num_texts):
            self.submit(LanguageRequest(f'warm-up-{index}', 'warm-up', 'Task:', max_tokens=3))
        with torch.inference_mode():
            with self.encoded(observation, shared=False) as prefix:
                self.share(prefix)
                self.act(prefix, observation)
            self.speak_to_end()


def frame_rows(policy: LoadedPolicy) -> int:
    """Return the rows the largest prefix and its actions need."""
    return policy.max_prefix_rows + policy.horizon


def make_manager(policy: LoadedPolicy, config: EngineConfig) -> KVManager:
    """Return the KV manager with its pool; ConfigError if not even actions would fit."""
    def pages(num_rows: int) -> int:
        return -(-num_rows // PAGE_ROWS)

    frame, text = pages(frame_rows(policy)), pages(SUFFIX_ROWS + config.max_text_tokens)
    # Every text on a frame of its own, one frame being encoded, and one kept free for the next.
    total = config.pool_tokens // PAGE_ROWS or config.num_texts * (frame + text) + 2 * frame
    needed = frame * (2 if config.policy == 'parallel' else 1)
    if total < needed:
        raise ConfigError(f'pool_tokens is {config.pool_tokens}; the frames of {policy.name} need '
                          f'{needed * PAGE_ROWS}, set that or more, or 0 to have it chosen')
    # One page more than is handed out: rows of static passes that carry no text write there.
    pool = KVPool(policy.model.architecture, (total + 1) * PAGE_ROWS, device=config.device,
                  dtype=policy.model.backbone.embedding.dtype)
    return KVManager(pool, page_rows=PAGE_ROWS, num_pages=total)

