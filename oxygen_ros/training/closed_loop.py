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
One session and one simulated table in lock-step: time stands still while the model thinks.

The session is the one the node runs, with its controller, limits and interpolation; only its
clock is stepped by hand.
"""

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import field

import numpy as np
from numpy.typing import NDArray

from oxygen_ros.clock import SteppedClock
from oxygen_ros.config import ControlConfig
from oxygen_ros.config import EngineConfig
from oxygen_ros.config import load_robot
from oxygen_ros.config import SchedulerConfig
from oxygen_ros.config import StandingTask
from oxygen_ros.runtime.outputs import Listener
from oxygen_ros.runtime.session import Session
from oxygen_ros.sim import CAMERAS
from oxygen_ros.sim import CUBE_COLORS
from oxygen_ros.sim import TableTop
from oxygen_ros.sim.expert import Expert
from oxygen_ros.sim.texts import describe
from oxygen_ros.sim.texts import seen_cubes
from oxygen_ros.sim.texts import Texts
from oxygen_ros.sim.trials import MAX_SECONDS
from oxygen_ros.training.moments import ROBOT
from oxygen_ros.types import ActionChunk
from oxygen_ros.types import EndReason
from oxygen_ros.types import TokenDelta

REPLAN_HZ = 5.0
WRONG_LIFT_M = 0.06          # another cube above this was fetched by mistake
_START_NS = 1_700_000_000_000_000_000

Pictures = dict[str, NDArray[np.uint8]]


@dataclass
class Episode:
    """What happened in one try."""

    success: bool
    seconds: float
    jerk: float                         # root mean square over time and arm joints, rad/s^3
    wrong_cubes: tuple[str, ...]        # other cubes that were lifted
    actions: list[NDArray] = field(default_factory=list)        # of every chunk
    texts: list[tuple[str, str, Texts]] = field(default_factory=list)   # task, text, truth


class Hearing(Listener):
    """Keeps chunks and the whole texts of one episode."""

    def __init__(self):
        self.chunks: list[ActionChunk] = []
        self.finished: list[tuple[str, int, str]] = []     # task, frame, text
        self._open: dict[str, str] = {}

    def on_chunk(self, chunk: ActionChunk) -> None:
        """Keep it."""
        self.chunks.append(chunk)

    def on_delta(self, delta: TokenDelta) -> None:
        """Join the pieces of a text."""
        text = self._open.pop(delta.request_id, '') + delta.text
        if not delta.final:
            self._open[delta.request_id] = text
        elif delta.reason in (EndReason.EOS, EndReason.STOP, EndReason.LENGTH):
            self.finished.append((delta.task, delta.frame_id, text))

    def clear(self) -> None:
        """Forget all of it."""
        self.chunks, self.finished, self._open = [], [], {}


class ClosedLoop:
    """A robot in the simulator that a checkpoint controls."""

    def __init__(self, checkpoint: str, table: TableTop, *, policy: str = 'oxygen',
                 tasks: Sequence[StandingTask] = (), num_denoise_steps: int = 10, seed: int = 0):
        self.table = table
        self._expert = Expert(table)      # says what phase the task is in, for the truth
        self._clock = SteppedClock(_START_NS)
        self._heard = Hearing()
        self.session = Session(
            load_robot(ROBOT), ControlConfig(realtime_priority=0),
            EngineConfig(checkpoint=checkpoint, policy=policy, seed=seed,
                         num_denoise_steps=num_denoise_steps,
                         scheduler=SchedulerConfig(replan_hz=REPLAN_HZ)),
            tasks, listener=self._heard, clock=self._clock, node_clock_ns=self._clock.now_ns,
            host='lockstep')
        self._has_texts = bool(tasks)
        self.session.configure()
        self.session.activate()

    def run(self, instruction: str, *, max_seconds: float = MAX_SECONDS,
            see: Callable[[Pictures], Mapping[str, NDArray[np.uint8]]] = lambda shown: shown,
            on_look: Callable[[Pictures], None] = lambda shown: None) -> Episode:
        """
        Try what the instruction says on the table as it is, until its task is done.

        The task that counts is the table's. `see` may change what the model is shown.
        """
        self.session.reset('new episode')
        self._heard.clear()
        self.session.set_instruction(instruction)
        rate_hz = self.session.robot.control_rate_hz
        period_ns, ticks_per_look = round(1e9 / rate_hz), round(rate_hz / REPLAN_HZ)
        truths: dict[int, Texts] = {}
        path, wrong = [self.table.joint_positions], set()
        for index in range(round(max_seconds * rate_hz)):
            self.session.measured(self.table.joint_positions, self._clock.now_ns())
            if index % ticks_per_look == 0:
                shown = {camera.slot: self.table.render(camera.slot) for camera in CAMERAS}
                frame_id = self._look(dict(see(shown)))
                on_look(shown)
                if self._has_texts:
                    truths[frame_id] = describe(self.table, self._expert.decide().phase,
                                                seen_cubes(shown.values()))
            self.session.run_until(self._clock.now_ns())
            command = self.session.tick(index, 0).command
            if command is not None:
                self.table.command(command)
            self.table.step(1 / rate_hz)
            self.session.run_until(self._clock.now_ns() + period_ns)
            path.append(self.table.joint_positions)
            wrong |= self._lifted_by_mistake()
            if self.table.success():
                break
        texts = [(task, text, truths[frame_id]) for task, frame_id, text in self._heard.finished
                 if frame_id in truths]
        return Episode(self.table.success(), (index + 1) / rate_hz, jerk(path, rate_hz),
                       tuple(sorted(wrong)), [chunk.actions for chunk in self._heard.chunks],
                       texts)

    def close(self) -> None:
        """End the session; the table stays."""
        self.session.close()

    def _look(self, pictures: Pictures) -> int:
        now_ns = self._clock.now_ns()
        for slot in pictures:
            self.session.seen(slot, now_ns)
        return self.session.observe(pictures, self.table.joint_positions, now_ns)

    def _lifted_by_mistake(self) -> set[str]:
        return {color for color in CUBE_COLORS if color != self.table.task.color
                and self.table.cube_position(color)[2] > WRONG_LIFT_M}


def jerk(path: Sequence[NDArray], rate_hz: float) -> float:
    """Return the root mean square of the third derivative of a path [n, joints], gripper apart."""
    if len(path) < 4:
        return 0.0
    third = np.diff(np.array(path)[:, :-1], n=3, axis=0) * rate_hz ** 3
    return float(np.sqrt(np.mean(third ** 2)))
