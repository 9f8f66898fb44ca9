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

"""Keeps an engine process running: starts it, watches it, starts it again."""

from collections import deque
from dataclasses import replace
import logging
import os
import select
import threading
import time
from typing import Any
from typing import Protocol
from typing import Sequence

from oxygen_ros.config import EngineConfig
from oxygen_ros.config import RobotProfile
from oxygen_ros.config import StandingTask
from oxygen_ros.runtime.channel import ChannelClosed
from oxygen_ros.runtime.channel import ChannelFull
from oxygen_ros.runtime.open_texts import OpenTexts
from oxygen_ros.runtime.process import EngineProcess
from oxygen_ros.runtime.protocol import Cancel
from oxygen_ros.runtime.protocol import Close
from oxygen_ros.runtime.protocol import EngineInfo
from oxygen_ros.runtime.protocol import EngineState
from oxygen_ros.runtime.protocol import EngineStatus
from oxygen_ros.runtime.protocol import Failed
from oxygen_ros.runtime.protocol import Progress
from oxygen_ros.runtime.protocol import Ready
from oxygen_ros.runtime.protocol import Reset
from oxygen_ros.runtime.protocol import SetReplanRate
from oxygen_ros.runtime.protocol import SetTasks
from oxygen_ros.runtime.protocol import Start
from oxygen_ros.runtime.protocol import Submit
from oxygen_ros.runtime.protocol import Supervision
from oxygen_ros.runtime.watch import Watch
from oxygen_ros.types import ActionChunk
from oxygen_ros.types import CycleReport
from oxygen_ros.types import EndReason
from oxygen_ros.types import LanguageRequest
from oxygen_ros.types import Observation
from oxygen_ros.types import TokenDelta

logger = logging.getLogger(__name__)

_EXIT_S = 2.0            # between the end of what an engine sends and its exit, before SIGKILL
_POLL_S = 0.05           # longest time until silence, or room for a waiting message, is noticed


class HostEvents(Protocol):
    """Who hears from a host; called from its thread, one call at a time."""

    def chunk(self, chunk: ActionChunk) -> None:
        """Take a chunk."""

    def delta(self, delta: TokenDelta) -> None:
        """Take a piece of text."""

    def report(self, report: CycleReport) -> None:
        """Take the figures of one engine cycle."""

    def state(self, status: EngineStatus) -> None:
        """Take a change of state."""

    def replaced(self, status: EngineStatus) -> None:
        """Take over another engine, which is ready; the one before says no more but ends."""


class EngineHost:
    """
    The engine in a child process, with one thread of this process that serves it.

    No method but `wait_ready` and `close` waits, whatever the child does. Every request that was
    submitted ends with exactly one final delta.
    """

    def __init__(self, robot: RobotProfile, config: EngineConfig, events: HostEvents, *,
                 supervision: Supervision):
        self._robot = robot
        self._config = config
        self._events = events
        self._supervision = supervision
        self._tasks: tuple[StandingTask, ...] = ()
        self._epoch = 0
        self._texts = OpenTexts()
        self._undelivered: deque[TokenDelta] = deque()   # ends declared by callers' threads
        self._process: EngineProcess | None = None
        self._status = EngineStatus(EngineState.STOPPED)
        self._settled = threading.Event()                # READY or FAILED for the first time
        self._closing = False
        self._wake_lock = threading.Lock()
        self._wake_event = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._row = 0                                    # restarts in a row
        self._failure = Failed('')
        # A child lives as long as the thread that started it, so that is this thread.
        self._thread = threading.Thread(target=self._run, name='oxygen_host', daemon=True)

    @property
    def status(self) -> EngineStatus:
        """Return the engine's state, pid and restarts."""
        return self._status

    @property
    def config(self) -> EngineConfig:
        """What the engine runs, now and after a restart."""
        return self._config

    def follow(self, other: 'EngineHost') -> None:
        """Count on from another engine of the session: no id of its texts comes again."""
        self._texts.run = other._texts.run + 1

    def start(self) -> None:
        """Start the engine; its state says when it is ready."""
        self._set_state(EngineState.STARTING)
        self._thread.start()

    def wait_ready(self) -> EngineStatus:
        """Wait until the first engine is ready, has failed, or `close` was called."""
        self._settled.wait()
        return self._status

    def observe(self, observation: Observation) -> bool:
        """
        Hand over the newest observation; True if it replaced one that was not taken yet.

        Raises OSError when there is no memory for it.
        """
        process = self._process
        return process is not None and process.observe(observation)

    def submit(self, request: LanguageRequest) -> None:
        """Start a text; raises ValueError if its id is in use."""
        process = self._process
        self._texts.submit(request)
        if process is None or self._status.state not in (EngineState.READY, EngineState.HUNG):
            self._refuse(request.request_id, f'the engine is {self._status.state.name.lower()}; '
                                             'ask again when it is ready')
            return
        try:
            process.channel.send(Submit(request))
        except ChannelFull as error:
            self._refuse(request.request_id, f'the engine cannot take it: {error}')
        if process is not self._process:     # it ended meanwhile, perhaps before this text began
            self._refuse(request.request_id, 'the engine ended; ask again when it is ready')

    def cancel(self, request_id: str) -> None:
        """End a text with CANCELLED."""
        self._command(Cancel(self._texts.engine_id(request_id)))

    def set_tasks(self, tasks: Sequence[StandingTask]) -> None:
        """Replace the standing tasks, also for engines that start later."""
        self._tasks = tuple(tasks)
        self._command(SetTasks(self._tasks))

    def set_replan_rate(self, replan_hz: float) -> None:
        """Look at the world this often, also with engines that start later."""
        scheduler = replace(self._config.scheduler, replan_hz=replan_hz)
        self._config = replace(self._config, scheduler=scheduler)
        self._command(SetReplanRate(replan_hz))

    def reset(self, epoch: int) -> None:
        """Forget frames and texts; observations of an older epoch are void."""
        self._epoch = epoch
        self._command(Reset(epoch))

    def close(self) -> None:
        """End the engine and this host, at most close_timeout_s and a moment later."""
        self._closing = True
        self._settled.set()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._wake()
            self._thread.join(self._supervision.close_timeout_s + 3.0)
        if not self._thread.is_alive():
            with self._wake_lock:
                event, self._wake_event = self._wake_event, -1
            if event >= 0:
                os.close(event)

    # Callers' threads

    def _command(self, message: Any) -> None:
        process = self._process
        if process is None:
            return
        try:
            process.channel.send(message)
        except ChannelFull as error:     # the child has been frozen for long and will be killed
            logger.warning('%s not sent: %s', type(message).__name__, error)

    def _wake(self) -> None:
        """End the wait of the host's thread, unless another caller has just closed all."""
        with self._wake_lock:
            if self._wake_event >= 0:
                os.eventfd_write(self._wake_event, 1)

    def _refuse(self, request_id: str, detail: str) -> None:
        delta = self._texts.end(request_id, EndReason.REFUSED, detail)
        if delta is not None:
            self._undelivered.append(delta)
            if self._thread.is_alive():
                self._wake()
            else:
                self._deliver()

    # The host's own thread

    def _run(self) -> None:
        try:
            while not self._closing:
                if self._live():
                    self._rest(self._backoff_s())
                else:
                    self._rest(None)     # FAILED: refuse what comes, until closed
        finally:
            self._settled.set()
            self._end_texts(EndReason.CANCELLED, 'the session was closed')
            self._set_state(EngineState.STOPPED)

    def _live(self) -> bool:
        """Run one engine from start to end; True if another shall be started."""
        self._failure = Failed('')
        start = Start(self._robot, self._config, self._tasks, self._epoch)
        try:
            process = EngineProcess(start)
        except OSError as error:
            return self._ended(f'cannot be started: {error}', ready_s=0.0)
        self._process = process
        # From here on changes reach the process; these came while it was being made.
        if self._epoch != start.epoch:
            self._command(Reset(self._epoch))
        if self._tasks is not start.tasks:
            self._command(SetTasks(self._tasks))
        if self._config is not start.config:
            self._command(SetReplanRate(self._config.scheduler.replan_hz))
        self._set_state(self._status.state, self._status.detail)   # tells the pid
        watch = Watch(process.chunks, self._supervision)
        reason = 'serving it failed, see the log'
        try:
            reason = self._serve(process, watch)
        except Exception:
            logger.exception('serving the engine failed')
        how = reason or self._failure.message or 'died'
        restart = self._ended(how, ready_s=watch.ready_s)          # first of all: the robot must
        exit_text = process.end(timeout_s=0.0 if reason else _EXIT_S)  # know at once
        self._drain(process)
        self._process = None
        process.close()
        if self._closing:
            self._end_texts(EndReason.CANCELLED, 'the session was closed')
            return False
        logger.warning('the engine %s (%s)', how, exit_text)
        self._end_texts(EndReason.ERROR, f'the engine {how}')
        if not self._failure.message:
            self._set_state(self._status.state, f'{self._status.detail} ({exit_text})')
        if not restart:
            self._settled.set()
        return restart

    def _ended(self, how: str, *, ready_s: float) -> bool:
        """Set the state after the end of an engine; True if another shall be started."""
        if self._closing:
            return False
        self._row = 1 if ready_s >= self._supervision.stable_s else self._row + 1
        if not self._settled.is_set() or self._failure.permanent:
            self._set_state(EngineState.FAILED, how)
        elif self._row > self._supervision.max_restarts:
            self._set_state(EngineState.FAILED, f'{how}, {self._row} times in a row')
        else:
            self._set_state(EngineState.RESTARTING, how, restarts=self._status.restarts + 1)
        return self._status.state is EngineState.RESTARTING

    def _serve(self, process: EngineProcess, watch: Watch) -> str:
        """Pass on what the engine sends; returns why it must be killed, '' when it is gone."""
        poller = select.poll()
        for fd in (process.channel.fileno(), process.chunk_event, self._wake_event):
            poller.register(fd, select.POLLIN)
        while True:
            poller.poll(_POLL_S * 1e3)
            _clear(self._wake_event)
            _clear(process.chunk_event)
            self._deliver()
            if self._closing and not watch.is_closing:
                self._command(Close())
                watch.close()
            process.channel.flush()
            try:
                self._take(process, watch)
            except ChannelClosed:
                return ''
            reason = watch.look()
            if reason:
                return reason
            if watch.is_hung != (self._status.state is EngineState.HUNG) and not self._closing:
                self._set_state(EngineState.HUNG if watch.is_hung else EngineState.READY,
                                watch.detail)

    def _take(self, process: EngineProcess, watch: Watch) -> None:
        """Take chunks, which are urgent, then messages."""
        self._take_chunks(process)
        for message in process.channel.receive():
            if isinstance(message, TokenDelta):
                self._follow(message)
                self._take_chunks(process)
            elif isinstance(message, CycleReport):
                self._events.report(message)
            elif isinstance(message, Progress):
                self._set_state(self._status.state, message.text)
            elif isinstance(message, Failed):
                self._failure = message
            elif isinstance(message, Ready):
                watch.ready(message.info)
                self._set_state(EngineState.READY, info=message.info)
                self._settled.set()

    def _follow(self, delta: TokenDelta) -> None:
        followed = self._texts.follow(delta)
        if followed is not None:
            self._events.delta(followed)

    def _take_chunks(self, process: EngineProcess) -> None:
        found = process.chunks.next()
        while found is not None:
            (frame_id, stamp_ns, dt_s, epoch, encode_s, denoise_s), (actions,) = found
            self._events.chunk(ActionChunk(frame_id, stamp_ns, actions, dt_s, epoch, encode_s,
                                           denoise_s))
            found = process.chunks.next()

    def _drain(self, process: EngineProcess) -> None:
        """Pass on the last messages of a process that has ended."""
        try:
            for message in process.channel.receive():
                if isinstance(message, Failed):
                    self._failure = message
                elif isinstance(message, TokenDelta):
                    self._follow(message)
        except ChannelClosed:
            pass

    def _backoff_s(self) -> float:
        limits = self._supervision
        return min(limits.max_backoff_s, limits.backoff_s * 2.0 ** min(self._row - 1, 30))

    def _rest(self, duration_s: float | None) -> None:
        """Wait, delivering refusals meanwhile; None: until closed."""
        end_s = None if duration_s is None else time.monotonic() + duration_s
        while not self._closing:
            left_s = None if end_s is None else end_s - time.monotonic()
            if left_s is not None and left_s <= 0:
                return
            select.select([self._wake_event], [], [], left_s)
            _clear(self._wake_event)
            self._deliver()

    def _deliver(self) -> None:
        while self._undelivered:
            self._events.delta(self._undelivered.popleft())

    def _end_texts(self, reason: EndReason, detail: str) -> None:
        self._deliver()
        for delta in self._texts.end_all(reason, detail):
            self._events.delta(delta)

    def _set_state(self, state: EngineState, detail: str = '', *, restarts: int | None = None,
                   info: EngineInfo | None = None) -> None:
        last, process = self._status, self._process
        self._status = EngineStatus(
            state, detail, 0 if process is None else process.pid,
            last.restarts if restarts is None else restarts, info or last.info)
        if self._status != last:
            self._events.state(self._status)


def _clear(event: int) -> None:
    try:
        os.eventfd_read(event)
    except BlockingIOError:
        pass
