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
"""An engine host whose checkpoint can be replaced while the robot moves."""

from collections import deque
from collections.abc import Sequence
from dataclasses import replace
import logging
import threading

import numpy as np

from oxygen_ros.config import EngineConfig
from oxygen_ros.config import RobotProfile
from oxygen_ros.config import StandingTask
from oxygen_ros.runtime.host import EngineHost
from oxygen_ros.runtime.host import HostEvents
from oxygen_ros.runtime.protocol import EngineState
from oxygen_ros.runtime.protocol import EngineStatus
from oxygen_ros.runtime.protocol import Supervision
from oxygen_ros.types import ActionChunk
from oxygen_ros.types import CycleReport
from oxygen_ros.types import EndReason
from oxygen_ros.types import LanguageRequest
from oxygen_ros.types import Observation
from oxygen_ros.types import TokenDelta

VERIFY_S = 10.0      # for the first chunk of a new engine; a slow model gets 20 of its steps

logger = logging.getLogger(__name__)


class SwapError(RuntimeError):
    """A checkpoint was not taken over; the message says why. The old one goes on."""


class Relay:
    """
    Stands between one engine and the session: silent, in charge, then only ending its texts.

    While silent it keeps what verification needs. `lock` is shared by all relays of a session:
    the threads of two hosts never speak at once.
    """

    def __init__(self, events: HostEvents, lock: threading.RLock, *, in_charge: bool):
        self._events, self._lock = events, lock
        self._in_charge, self._retired = in_charge, False
        self.chunks: deque[ActionChunk] = deque(maxlen=1)
        self.changed = threading.Event()

    def chunk(self, chunk: ActionChunk) -> None:
        """Pass on a chunk, or keep the newest."""
        with self._lock:
            if self._in_charge:
                self._events.chunk(chunk)
            elif not self._retired:
                self.chunks.append(chunk)
                self.changed.set()

    def delta(self, delta: TokenDelta) -> None:
        """Pass on a piece of text; of a retired engine, whose texts end."""
        with self._lock:
            if self._retired and delta.reason is EndReason.CANCELLED:
                delta = replace(delta, detail='another checkpoint was loaded')
            if self._in_charge or self._retired:
                self._events.delta(delta)

    def report(self, report: CycleReport) -> None:
        """Pass on figures."""
        with self._lock:
            if self._in_charge:
                self._events.report(report)

    def state(self, status: EngineStatus) -> None:
        """Pass on a change of state; before that, only say what a long load is at."""
        with self._lock:
            if self._in_charge:
                self._events.state(status)
            elif not self._retired:
                if status.detail:
                    logger.info('new checkpoint: %s', status.detail)
                self.changed.set()

    def take_charge(self, status: EngineStatus) -> None:
        """Speak for the session from now on."""
        self._in_charge = True
        self._events.replaced(status)

    def retire(self) -> None:
        """Say nothing any more but how open texts end."""
        self._in_charge, self._retired = False, True


class SwapHost:
    """Has the interface of EngineHost; `load` puts another engine in the place of this one."""

    def __init__(self, robot: RobotProfile, config: EngineConfig, events: HostEvents, *,
                 supervision: Supervision):
        self._robot, self._events, self._supervision = robot, events, supervision
        self._events_lock = threading.RLock()
        self._lock = threading.Lock()        # of what follows; held for moments only
        self._loading = threading.Lock()     # one load at a time
        self._config = config
        self._relay = Relay(events, self._events_lock, in_charge=True)
        self._host = EngineHost(robot, config, self._relay, supervision=supervision)
        self._candidate: EngineHost | None = None
        self._tasks: tuple[StandingTask, ...] = ()
        self._epoch = 0
        self._closing = False

    @property
    def status(self) -> EngineStatus:
        """Return the state of the engine in charge."""
        return self._host.status

    @property
    def config(self) -> EngineConfig:
        """What the engine in charge runs."""
        return self._config

    def start(self) -> None:
        """Start the engine; its state says when it is ready."""
        self._host.start()

    def wait_ready(self) -> EngineStatus:
        """Wait until the first engine is ready, has failed, or `close` was called."""
        return self._host.wait_ready()

    def observe(self, observation: Observation) -> bool:
        """Hand over the newest observation, also to an engine that waits to be verified."""
        with self._lock:
            replaced = self._host.observe(observation)
            if self._candidate is not None:
                try:
                    self._candidate.observe(observation)
                except OSError as error:     # no shared memory for a second picture
                    logger.warning('new checkpoint: no observation for it (%s)', error)
            return replaced

    def submit(self, request: LanguageRequest) -> None:
        """Start a text; raises ValueError if its id is in use."""
        with self._lock:
            self._host.submit(request)

    def cancel(self, request_id: str) -> None:
        """End a text with CANCELLED."""
        with self._lock:
            self._host.cancel(request_id)

    def set_tasks(self, tasks: Sequence[StandingTask]) -> None:
        """Replace the standing tasks."""
        with self._lock:
            self._tasks = tuple(tasks)
            self._host.set_tasks(self._tasks)

    def set_replan_rate(self, replan_hz: float) -> None:
        """Look at the world this often."""
        with self._lock:
            scheduler = replace(self._config.scheduler, replan_hz=replan_hz)
            self._config = replace(self._config, scheduler=scheduler)
            self._host.set_replan_rate(replan_hz)

    def reset(self, epoch: int) -> None:
        """Forget frames and texts; observations of an older epoch are void."""
        with self._lock:
            self._epoch = epoch
            self._host.reset(epoch)

    def close(self) -> None:
        """End all engines."""
        with self._lock:
            self._closing = True
            host, candidate = self._host, self._candidate
        if candidate is not None:
            candidate.close()
        host.close()

    def load(self, checkpoint: str, *, asset_id: str, tokenizer: str, verify: bool) -> str:
        """
        Replace the engine by one with another checkpoint; blocks until that is in charge.

        verify: wait for its chunk about a live observation, which must come. Returns what was
        done, in words. Raises SwapError; then the old engine goes on as if nothing had been.
        """
        if not self._loading.acquire(blocking=False):
            raise SwapError('another checkpoint is being loaded; wait for it')
        try:
            return self._load(checkpoint, asset_id, tokenizer, verify)
        finally:
            self._candidate = None
            self._loading.release()

    def _load(self, checkpoint: str, asset_id: str, tokenizer: str, verify: bool) -> str:
        relay = Relay(self._events, self._events_lock, in_charge=False)
        config = replace(self._config, checkpoint=checkpoint, asset_id=asset_id,
                         tokenizer=tokenizer)
        candidate = EngineHost(self._robot, config, relay, supervision=self._supervision)
        taken = False
        try:
            with self._lock:
                if self._closing:
                    raise SwapError('the session is closing')
                self._candidate = candidate
            candidate.start()
            status = candidate.wait_ready()
            if status.state is not EngineState.READY:
                raise SwapError(status.detail or 'closed while it was loading')
            if verify:
                self._verify(candidate, relay)
            with self._lock:
                if self._closing:
                    raise SwapError('the session is closing')
                old = self._take_over(candidate, relay)
            taken = True
        finally:
            if not taken:
                relay.retire()
                candidate.close()
        old.close()
        return f'{status.info.checkpoint} is in charge' + (
            ', verified on a live observation' if verify else
            '; not verified on an observation, because the robot is not active')

    def _verify(self, candidate: EngineHost, relay: Relay) -> None:
        """Raise SwapError unless the candidate answers an observation with a sane chunk."""
        status = candidate.status
        relay.changed.clear()
        if not relay.chunks and candidate.status.state is EngineState.READY:
            relay.changed.wait(max(VERIFY_S, 20 * status.info.step_s))
        if candidate.status.state is not EngineState.READY:
            raise SwapError(f'it failed on a live observation: the engine '
                            f'{candidate.status.detail}')
        if not relay.chunks:
            raise SwapError('it gave no actions for a live observation in time; check that '
                            'cameras and joints are there')
        actions, wanted = relay.chunks[-1].actions, len(self._robot.joints)
        if actions.ndim != 2 or actions.shape[1] != wanted or not np.isfinite(actions).all():
            raise SwapError(f'its actions for a live observation are not {wanted} finite numbers '
                            'each')

    def _take_over(self, candidate: EngineHost, relay: Relay) -> EngineHost:
        """Flip, between two calls of anybody; returns the engine that was in charge."""
        candidate.follow(self._host)
        candidate.set_replan_rate(self._config.scheduler.replan_hz)
        candidate.reset(self._epoch)
        candidate.set_tasks(self._tasks)
        with self._events_lock:
            self._relay.retire()
            relay.take_charge(candidate.status)
        old, self._host, self._relay = self._host, candidate, relay
        self._config, self._candidate = candidate.config, None
        return old


def exchange(host: object, checkpoint: str, *, asset_id: str = '', tokenizer: str = '',
             verify: bool) -> tuple[str, EngineConfig]:
    """
    Load another checkpoint into a session's host; returns what was done and the new configuration.

    Raises SwapError, also for a host that cannot; then the old one goes on.
    """
    if not isinstance(host, SwapHost) or host.status.state is not EngineState.READY:
        raise SwapError('no engine process is ready; configure the session first')
    done = host.load(checkpoint, asset_id=asset_id, tokenizer=tokenizer, verify=verify)
    return done, host.config
