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

"""Ticks in one thread while engine, sensors and operator call from others."""

import threading
import time

import numpy as np

from oxygen_ros.policy import chunks
from oxygen_ros.policy import Ticker
from oxygen_ros.types import ActionChunk
from oxygen_ros.types import Verdict

STEP = np.array([0.02, 0.05])


def test_wire_stays_right_while_every_thread_writes(new_rig):
    controller = new_rig().controller
    commands, verdicts, failures, epoch = [], set(), [], [0]
    finished = threading.Event()

    def tick(index, lateness_ns):
        result = controller.tick(time.time_ns(), index, lateness_ns)
        verdicts.add(result.verdict)
        if result.command is not None:
            commands.append(result.command)

    def repeat(action):
        count = 0
        try:
            while not finished.is_set():
                count += 1
                action(count)
                time.sleep(0.0005)
        except Exception as error:
            failures.append(error)

    def sense(count):
        now_ns = time.time_ns()
        controller.measured([0.1 * np.sin(count), 1.0], now_ns, now_ns)
        controller.seen('front', now_ns, now_ns)

    def plan(count):
        actions = np.full((5, 2), np.nan if count % 7 == 0 else np.sin(count), np.float32)
        controller.add_chunk(ActionChunk(count, time.time_ns(), actions, 0.05, epoch[0]))

    def operate(count):
        verb = count % 40
        if verb == 0:
            controller.stop()
        elif verb == 5:
            controller.resume()
        elif verb == 20:
            controller.engine_state(False)
        elif verb == 22:
            controller.engine_state(True)

    def reset(count):
        if count % 100 == 0:
            epoch[0] += 1
            controller.invalidate(epoch[0])

    threads = [threading.Thread(target=repeat, args=(action,))
               for action in (sense, plan, operate, reset)]
    ticker = Ticker(500, tick, on_error=failures.append)
    for thread in threads:
        thread.start()
    ticker.start()
    time.sleep(1.5)
    assert ticker.stop()
    finished.set()
    for thread in threads:
        thread.join(10)
    assert failures == []
    assert {Verdict.FRESH, Verdict.FALLBACK, Verdict.STOPPED} <= verdicts
    steps = np.abs(np.diff(commands, axis=0))
    assert len(steps) > 20
    # The ticker runs at 500 Hz; the limits are those of the profile's 50 Hz.
    assert (steps <= STEP + 1e-9).all()
    assert (np.abs(np.array(commands)[:, 0]) <= 1).all()


def test_chunk_added_during_a_reset_does_not_survive_it(new_rig, monkeypatch):
    """The engine's thread must not put back what a reset has just thrown away."""
    slow_replace = chunks.replace

    def replace(*args, **changes):
        time.sleep(0.002)  # between reading the plan and writing it: let the reset go first
        return slow_replace(*args, **changes)

    monkeypatch.setattr(chunks, 'replace', replace)
    rig = new_rig()
    buffer = rig.controller.chunks
    actions = np.zeros((100, 2), np.float32)
    for epoch in range(1, 30):
        barrier = threading.Barrier(2)

        def add(epoch=epoch, barrier=barrier):
            barrier.wait(10)
            for count in range(3):
                buffer.add(ActionChunk(count + 1, rig.now_ns, actions, 0.05, epoch=epoch - 1))

        thread = threading.Thread(target=add)
        thread.start()
        barrier.wait(10)
        time.sleep(0.001)
        buffer.invalidate(epoch)
        thread.join(10)
        assert buffer.at(rig.now_ns) is None
