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

"""An engine on the tiny builtin model, with what tests need to drive and read it."""

from collections import defaultdict
from dataclasses import replace
from functools import lru_cache

import numpy as np
import torch

from oxygen_ros.checkpoint import load
from oxygen_ros.clock import ManualClock
from oxygen_ros.config import EngineConfig
from oxygen_ros.config import load_robot
from oxygen_ros.config import SchedulerConfig
from oxygen_ros.engine import Engine
from oxygen_ros.types import ActionChunk
from oxygen_ros.types import CycleReport
from oxygen_ros.types import LanguageRequest
from oxygen_ros.types import Observation
from oxygen_ros.types import TokenDelta

torch.set_num_threads(1)   # more threads on busy cores are slower by far

POLICIES = ('oxygen', 'shared', 'isolated', 'parallel')


@lru_cache(maxsize=4)
def tiny_policy(prefix_mode='bidirectional'):
    """Return the loaded model, one per mask mode for all tests."""
    policy = load('builtin:tiny', EngineConfig(), load_robot('so101'))
    if prefix_mode != policy.prefix_mode:
        policy.model.architecture = replace(policy.model.architecture, prefix_mode=prefix_mode)
        policy = replace(policy, prefix_mode=prefix_mode)
    return policy


def endless_policy():
    """Return the same model without an end token: every text has the length asked for."""
    return replace(tiny_policy(), end_ids=())


def request(request_id, prompt='Answer:', max_tokens=8, **fields):
    """Return a greedy request."""
    return LanguageRequest(request_id, fields.pop('task', 'ask'), prompt, max_tokens, **fields)


class Bench:
    """
    One engine and everything it emitted.

    steps: decode steps per frame; 0 leaves it to the scheduler, for which every piece of work
    takes no time here, because the clock stands still. kind: the engine's policy by name.
    """

    def __init__(self, *, steps=0, policy=None, prefix_mode='bidirectional', kind='oxygen',
                 max_batch=32, **config):
        self.robot = load_robot('so101')
        self.clock = ManualClock(1_000_000_000)
        self.events = []
        config = EngineConfig(
            **{'policy': kind, 'num_texts': 32, 'max_text_tokens': 256, **config},
            scheduler=SchedulerConfig(steps_per_frame=steps, max_batch=max_batch))
        self.engine = Engine(policy or tiny_policy(prefix_mode), self.robot, config,
                             clock=self.clock, emit=self.events.append)
        self.frame_id = 0

    def scene(self, seed, *, frame_id=0, instruction='put the red cube in the tray',
              cameras=None, epoch=0):
        """Return a picture and joints that depend on the seed only."""
        rng = np.random.default_rng(seed)
        images = {slot: rng.integers(0, 256, (48, 64, 3), dtype=np.uint8)
                  for slot in self.robot.camera_slots}
        state = rng.uniform(-0.5, 0.5, len(self.robot.joints)).astype(np.float32)
        if cameras is not None:
            images = {slot: images[slot] for slot in cameras}
        return Observation(frame_id or seed, 1000 * (frame_id or seed), images, state,
                           instruction, epoch)

    def step(self, seed=None, *requests, **scene):
        """Submit requests, then run one cycle on a new scene (None: without one)."""
        for one in requests:
            self.engine.submit(one)
        self.engine.step(None if seed is None else self.scene(seed, **scene))
        self.engine.kv.check_integrity()

    def drain(self):
        """Go on until every text has ended; with new frames only for those that wait for one."""
        for seed in range(10_000, 12_000):
            if not self.engine.busy and not self.engine.language.queued:
                return
            self.engine.scheduler.begin_frame(self.engine.now_s())   # allows further steps
            self.step(seed if self.engine.language.queued else None)
        raise AssertionError('texts do not end')

    def of(self, kind):
        """Return the events of one type."""
        return [event for event in self.events if isinstance(event, kind)]

    @property
    def chunks(self):
        """Return the actions by frame id, as bytes: equal means equal to the last bit."""
        return {chunk.frame_id: chunk.actions.tobytes() for chunk in self.of(ActionChunk)}

    @property
    def reports(self):
        """Return the cycle reports."""
        return self.of(CycleReport)

    @property
    def deltas(self):
        """Return the deltas by request id."""
        deltas = defaultdict(list)
        for delta in self.of(TokenDelta):
            deltas[delta.request_id].append(delta)
        return deltas

    @property
    def texts(self):
        """Return (text, reason) by request id of what has ended."""
        return {name: (''.join(delta.text for delta in deltas), deltas[-1].reason)
                for name, deltas in self.deltas.items() if deltas[-1].final}

    def alone(self, one, seed, **scene):
        """Return the text and reason of a request that has an engine for itself."""
        bench = Bench(policy=self.engine.policy)
        bench.step(seed, one, **scene)
        bench.drain()
        return bench.texts[one.request_id]
