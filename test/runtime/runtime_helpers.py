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

"""What the runtime tests share: a recorder of everything told, waiting, looking at processes."""

from collections import Counter
import gc
import os
from pathlib import Path
import threading
import time

import numpy as np

from oxygen_ros.runtime.protocol import Supervision
from oxygen_ros.runtime.session import Listener

QUICK = Supervision(hung_after_s=0.4, kill_after_s=1.2, backoff_s=0.05, max_backoff_s=0.2,
                    max_restarts=100)


class Recorder:
    """Keeps what a host tells, with the steady time of each state."""

    def __init__(self):
        self.chunks, self.deltas, self.states, self.reports = [], [], [], []
        self.ended = Counter()
        self._lock = threading.Lock()

    def chunk(self, chunk):
        self.chunks.append(chunk)

    def delta(self, delta):
        with self._lock:
            self.deltas.append(delta)
            self.ended[delta.request_id] += delta.final

    def report(self, report):
        self.reports.append(report)

    def state(self, status):
        self.states.append((time.monotonic(), status))

    def final(self, request_id):
        """Return the final delta of a request, None if it still runs."""
        with self._lock:
            return next((delta for delta in self.deltas
                         if delta.request_id == request_id and delta.final), None)

    def num_pieces(self, request_id):
        """Return how many deltas of a request have come."""
        with self._lock:
            return sum(delta.request_id == request_id for delta in self.deltas)


def wait_until(condition, *, timeout_s=20.0, what='condition'):
    """Wait for a condition, fail when it does not come true."""
    end_s = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < end_s, f'{what} did not come true within {timeout_s} s'
        time.sleep(0.005)


def is_running(pid):
    """Return whether a process exists and is no zombie."""
    try:
        state = Path(f'/proc/{pid}/stat').read_text().rsplit(')', 1)[1].split()[0]
    except OSError:
        return False
    return state not in 'ZX'


def num_fds():
    """Return how many descriptors this process has open, apart from garbage."""
    gc.collect()
    return len(os.listdir('/proc/self/fd'))


class Listening(Recorder, Listener):
    """A recorder for a session."""

    def __init__(self):
        super().__init__()
        self.facts, self.warnings, self.sentences, self.subtasks = [], [], [], []

    def on_chunk(self, chunk):
        self.chunk(chunk)

    def on_delta(self, delta):
        self.delta(delta)

    def on_engine_state(self, status):
        self.state(status)

    def on_fact(self, fact):
        self.facts.append(fact)

    def on_sentence(self, sentence):
        self.sentences.append(sentence)

    def on_subtask(self, subtask):
        self.subtasks.append(subtask)

    def on_warning(self, text):
        self.warnings.append(text)


class Robot:
    """Sensors at 20 Hz and ticks at 50 Hz for a session, from a thread, on the real clock."""

    def __init__(self, session):
        self.session = session
        self.results = []            # (steady time, TickResult)
        self.instants = {}           # frame id -> steady time it was observed
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *exception):
        self._ending.set()
        self._thread.join()

    def since(self, time_s):
        """Return the tick results after a time."""
        return [result for told_s, result in self.results if told_s > time_s]

    def last(self):
        """Return the newest tick result."""
        return self.results[-1][1]

    def _run(self):
        session, index, start_s = self.session, 0, time.monotonic()
        num_joints = len(session.robot.joints)
        while not self._ending.wait(max(0.0, start_s + index * 0.02 - time.monotonic())):
            now_ns = time.time_ns()
            session.measured(np.zeros(num_joints), now_ns)
            if index % 2 == 0:
                for slot in session.robot.camera_slots:
                    session.seen(slot, now_ns)
                frame_id = session.observe(
                    {slot: np.full((96, 96, 3), index % 200, np.uint8)
                     for slot in session.robot.camera_slots}, np.zeros(num_joints), now_ns)
                self.instants[frame_id] = time.monotonic()
            self.results.append((time.monotonic(), session.tick(index, 0)))
            index += 1
