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

"""The engine process: takes the newest observation, steps the engine, sends what comes out."""

import ctypes
import gc
import logging
import os
import select
import signal
import socket
import sys
import time
from typing import Any
from typing import Callable

from oxygen_ros.config import ConfigError
from oxygen_ros.policy.realtime import SpareTimeCollector
from oxygen_ros.runtime.channel import Channel
from oxygen_ros.runtime.channel import ChannelClosed
from oxygen_ros.runtime.fault_injection import with_faults
from oxygen_ros.runtime.process import NUM_CHUNK_SLOTS
from oxygen_ros.runtime.process import unpack
from oxygen_ros.runtime.protocol import Cancel
from oxygen_ros.runtime.protocol import Close
from oxygen_ros.runtime.protocol import EngineInfo
from oxygen_ros.runtime.protocol import Failed
from oxygen_ros.runtime.protocol import Progress
from oxygen_ros.runtime.protocol import Ready
from oxygen_ros.runtime.protocol import Reset
from oxygen_ros.runtime.protocol import SetReplanRate
from oxygen_ros.runtime.protocol import SetTasks
from oxygen_ros.runtime.protocol import Start
from oxygen_ros.runtime.protocol import Submit
from oxygen_ros.runtime.shared_frames import SharedRing
from oxygen_ros.types import ActionChunk
from oxygen_ros.types import Observation

logger = logging.getLogger(__name__)

_BEAT_S = 0.1                 # longest sleep between two signs of life
_PR_SET_PDEATHSIG = 1

Load = Callable[[Start, Callable[[Any], None], Callable[[str], None]], tuple[Any, EngineInfo]]


class Worker:
    """The loop of the engine process; everything runs on its main thread."""

    def __init__(self, channel: Channel, frames: SharedRing, chunks: SharedRing,
                 frame_event: int, chunk_event: int, *, load: Load):
        self._channel = channel
        self._frames = frames
        self._chunks = chunks
        self._frame_event = frame_event
        self._chunk_event = chunk_event
        self._load = load
        self._commands: list[Any] = []
        self._closing = False
        self._engine: Any = None
        self._collector = SpareTimeCollector()
        self._poller = select.poll()
        self._poller.register(channel.fileno(), select.POLLIN)
        self._poller.register(frame_event, select.POLLIN)

    def run(self) -> None:
        """Serve until told to close; raises ChannelClosed when the session is gone."""
        self._start()
        while not self._closing:
            self._beat()
            self._obey()
            observation = self._newest()
            if observation is not None or self._engine.busy:
                self._engine.step(observation, interrupted=self._is_interrupted)
            self._channel.flush()
            self._wait()
        self._engine.close()
        self._drain()

    def _start(self) -> None:
        while not self._commands:
            self._poller.poll()
            self._commands = self._channel.receive()
        start = self._commands.pop(0)
        self._engine, info = self._load(
            start, self._emit, lambda text: self._channel.send(Progress(text)))
        gc.freeze()     # model and libraries live on: no need to look at them again
        self._engine.reset(start.epoch)
        self._engine.set_tasks(start.tasks)
        self._beat()
        self._channel.send(Ready(info))

    def _emit(self, event: Any) -> None:
        """Send what the engine produced; a chunk goes by shared memory, ahead of all text."""
        self._beat()
        if isinstance(event, ActionChunk):
            meta = (event.frame_id, event.stamp_ns, event.dt_s, event.epoch, event.encode_s,
                    event.denoise_s)
            self._chunks.put(meta, [event.actions])
            os.eventfd_write(self._chunk_event, 1)
        else:
            self._channel.send(event)

    def _beat(self) -> None:
        self._chunks.heartbeat_ns = time.monotonic_ns()

    def _obey(self) -> None:
        commands, self._commands = self._commands + self._channel.receive(), []
        for command in commands:
            if isinstance(command, Submit):
                self._engine.submit(command.request)
            elif isinstance(command, Cancel):
                self._engine.cancel(command.request_id)
            elif isinstance(command, SetTasks):
                self._engine.set_tasks(command.tasks)
            elif isinstance(command, SetReplanRate):
                self._engine.set_replan_rate(command.replan_hz)
            elif isinstance(command, Reset):
                self._engine.reset(command.epoch)
            elif isinstance(command, Close):
                self._closing = True

    def _newest(self) -> Observation | None:
        """Take the newest observation once action work is due; until then it may be replaced."""
        if self._due_in_s() > 0:
            return None
        found = self._frames.newest()
        return None if found is None else unpack(*found)

    def _due_in_s(self) -> float:
        now_s = time.monotonic()
        return max(0.0, self._engine.next_frame_s(now_s) - now_s)

    def _is_interrupted(self) -> bool:
        """Tell the engine between two decode steps whether something more urgent waits."""
        self._beat()
        self._commands += self._channel.receive()
        return bool(self._commands) or (self._frames.has_newer and self._due_in_s() <= 0)

    def _wait(self) -> None:
        """Sleep until there is something to do, at most one heartbeat."""
        if self._commands or self._closing:
            return
        timeout_s = _BEAT_S
        if self._frames.has_newer:
            timeout_s = min(timeout_s, self._due_in_s())
        if self._engine.busy:
            timeout_s = min(timeout_s, self._engine.next_work_s())
        self._collector.rest(timeout_s)
        self._poller.poll(timeout_s * 1e3)
        try:
            os.eventfd_read(self._frame_event)
        except BlockingIOError:
            pass

    def _drain(self) -> None:
        """Give the last deltas a moment to leave."""
        end_s = time.monotonic() + 1.0
        while not self._channel.flush() and time.monotonic() < end_s:
            time.sleep(0.01)


def die_with(parent_pid: int) -> None:
    """Have the kernel kill this process when its parent ends, however that ends."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent_pid:
        sys.exit('the session ended before its engine started')


def main(argv: list[str], *, load: Load | None = None) -> int:
    """Run the engine process; argv: parent pid and the inherited descriptors."""
    parent_pid, socket_fd, frames_fd, chunks_fd, frame_event, chunk_event = map(int, argv)
    die_with(parent_pid)
    # Ctrl-C reaches the whole process group; the session decides when the engine ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # A collection among the objects of these libraries takes 100 ms and more, and it comes in the
    # middle of whatever happens to allocate: of loading, or of an action.
    gc.disable()
    logging.basicConfig(format='[engine] %(levelname)s %(message)s')
    channel = Channel(socket.socket(fileno=socket_fd))
    try:
        if load is None:
            from oxygen_ros.runtime.inline import load_engine
            load = with_faults(load_engine)
        Worker(channel, SharedRing.attach(frames_fd),
               SharedRing.attach(chunks_fd, num_slots=NUM_CHUNK_SLOTS), frame_event, chunk_event,
               load=load).run()
    except ChannelClosed:
        return 0
    except ConfigError as error:
        channel.send(Failed(str(error), permanent=True))
        return 2
    except Exception as error:
        logger.exception('the engine failed')
        channel.send(Failed(f'{type(error).__name__}: {error}'))
        return 1
    return 0


def leave(code: int) -> None:
    """Exit without tearing libraries down: torch takes a second for it and has nothing to save."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == '__main__':
    leave(main(sys.argv[1:]))
