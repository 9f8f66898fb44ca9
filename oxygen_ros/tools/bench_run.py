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
Runs policies frame by frame side by side and keeps their figures apart.

All policies share one set of weights and one process and take turns on every frame, so that
whatever else the machine does hits all alike. Each has its own clock, which runs only while it
has its turn: times inside a text are those of a machine that runs this policy alone.
"""

from dataclasses import dataclass
from dataclasses import field
from dataclasses import replace
import time
from typing import Iterator
from typing import Sequence

import numpy as np
import torch

from oxygen_ros.checkpoint import load
from oxygen_ros.checkpoint import LoadedPolicy
from oxygen_ros.config import Camera
from oxygen_ros.config import EngineConfig
from oxygen_ros.config import Joint
from oxygen_ros.config import RobotProfile
from oxygen_ros.config import SchedulerConfig
from oxygen_ros.engine.engine import Engine
from oxygen_ros.tools.bench_machine import EnergyCounter
from oxygen_ros.tools.bench_machine import resident_mb
from oxygen_ros.tools.bench_machine import UNAVAILABLE
from oxygen_ros.types import ActionChunk
from oxygen_ros.types import LanguageRequest
from oxygen_ros.types import Observation
from oxygen_ros.types import TokenDelta

PROMPT = ' Subtask:'
# Both off by default in the engine; here to see what they bring.
VARIANTS = {'oxygen+piggyback': {'policy': 'oxygen', 'piggyback': True},
            'oxygen+drafts': {'policy': 'oxygen', 'draft_tokens': 4}}
NUM_SLOTS = 3      # cameras the model knows; fewer real ones are dropped, not padded
PICTURE = (224, 224)


@dataclass(frozen=True)
class Setting:
    """One point of the grid."""

    model: str = 'tiny'
    num_tokens: int = 30           # per text
    tokens_per_frame: int = 6      # decode steps after each frame; `oxygen` only
    num_cameras: int = 2           # real ones
    num_denoise_steps: int = 10
    texts_per_frame: int = 1       # new texts about each frame
    num_frames: int = 30           # measured
    num_threads: int = 1
    weights: str = 'float32'

    @property
    def fill_frames(self) -> int:
        """Frames until as many texts end as start; run before measuring."""
        return -(-self.num_tokens // self.tokens_per_frame)

    @property
    def num_texts(self) -> int:
        """Texts that are open at once."""
        return max(1, (self.fill_frames + 1) * self.texts_per_frame)


class TurnClock:
    """A steady clock that runs only while its policy has its turn."""

    def __init__(self):
        self._spent_ns = 0
        self._since_ns: int | None = None

    def now_ns(self) -> int:
        """Return the time spent in own turns."""
        turn_ns = 0 if self._since_ns is None else time.perf_counter_ns() - self._since_ns
        return self._spent_ns + turn_ns

    def begin(self) -> None:
        """Start a turn."""
        self._since_ns = time.perf_counter_ns()

    def end(self) -> None:
        """End the turn."""
        self._spent_ns, self._since_ns = self.now_ns(), None


@dataclass
class Figures:
    """What one policy did in the measured frames; times in seconds on its own clock."""

    frame_s: list[float] = field(default_factory=list)
    cpu_s: list[float] = field(default_factory=list)       # of the process, per frame
    action_s: list[float] = field(default_factory=list)    # observation to chunk
    ttft_s: list[float] = field(default_factory=list)
    gap_s: list[float] = field(default_factory=list)       # between tokens of one text
    request_s: list[float] = field(default_factory=list)
    tokens: int = 0
    rss_mb: float = 0.0
    joules: float = 0.0


class Contestant:
    """One policy in the benchmark, with its engine, clock and figures."""

    def __init__(self, policy_name: str, policy: LoadedPolicy, robot: RobotProfile,
                 setting: Setting, energy: EnergyCounter):
        self.name = policy_name
        self._setting, self._energy = setting, energy
        self._clock = TurnClock()
        self._figures = Figures()
        self._last_token_s: dict[str, float] = {}
        self._began_s = 0.0
        config = EngineConfig(
            checkpoint=f'builtin:{setting.model}',
            num_denoise_steps=setting.num_denoise_steps, num_threads=setting.num_threads,
            num_texts=setting.num_texts, max_text_tokens=setting.num_tokens,
            scheduler=SchedulerConfig(steps_per_frame=setting.tokens_per_frame,
                                      max_batch=setting.num_texts),
            **VARIANTS.get(policy_name, {'policy': policy_name}))
        self._engine = Engine(policy, robot, config, clock=self._clock, emit=self._take)
        self._turn(self._engine.warm_up)

    def run_frame(self, observation: Observation) -> None:
        """Ask for the new texts about this observation and run its cycle."""
        mark = self._energy.start()
        cpu_s = time.process_time()
        self._turn(lambda: self._cycle(observation))
        self._figures.cpu_s.append(time.process_time() - cpu_s)
        self._figures.joules += self._energy.since_j(mark)
        self._figures.rss_mb = max(self._figures.rss_mb, resident_mb())

    def start_measuring(self) -> None:
        """Forget the figures of the frames that filled the pipeline."""
        self._figures = Figures()
        self._engine.meter.restart()
        self._manager_from_s = self._engine.kv.spent_s

    def result(self) -> dict:
        """Return the figures of the measured frames."""
        figures, engine = self._figures, self._engine
        total_s = sum(figures.frame_s)
        num_frames = len(figures.frame_s)
        use = engine.kv.stats()
        replans_per_s = num_frames / total_s
        return {
            'frame_ms_p50': _ms(figures.frame_s, 50), 'frame_ms_p99': _ms(figures.frame_s, 99),
            'frame_cpu_ms_p50': _ms(figures.cpu_s, 50),
            'action_ms_p50': _ms(figures.action_s, 50), 'action_ms_p99': _ms(figures.action_s, 99),
            'replans_per_s': replans_per_s,
            'action_hz': replans_per_s * engine.policy.horizon,
            'tokens_per_s': figures.tokens / total_s,
            'ttft_ms_p50': _ms(figures.ttft_s, 50),
            'itl_ms_p50': _ms(figures.gap_s, 50), 'itl_ms_p99': _ms(figures.gap_s, 99),
            'request_ms_p50': _ms(figures.request_s, 50),
            'kv_bytes_copied': use.bytes_copied, 'kv_bytes_peak': use.bytes_peak,
            'manager_share': (engine.kv.spent_s - self._manager_from_s) / total_s,
            'rss_mb_peak': figures.rss_mb,
            'encodes_per_frame': engine.meter.encodes / num_frames,
            'joules_per_frame': (figures.joules / num_frames if self._energy.available
                                 else UNAVAILABLE),
            'texts_finished': len(figures.request_s),
            'draft_acceptance': engine.language.drafts.acceptance,
        }

    def close(self) -> None:
        """End open texts."""
        self._turn(self._engine.close)

    def _cycle(self, observation: Observation) -> None:
        self._began_s = self._engine.now_s()
        for index in range(self._setting.texts_per_frame):
            self._engine.submit(LanguageRequest(
                f'{observation.frame_id}-{index}', 'bench', PROMPT,
                max_tokens=self._setting.num_tokens))
        self._engine.step(observation)
        self._figures.frame_s.append(self._engine.now_s() - self._began_s)

    def _turn(self, work) -> None:
        self._clock.begin()
        try:
            work()
        finally:
            self._clock.end()

    def _take(self, event) -> None:
        now_s = self._clock.now_ns() * 1e-9
        if isinstance(event, ActionChunk):
            self._figures.action_s.append(now_s - self._began_s)
        elif isinstance(event, TokenDelta):
            self._take_delta(event, now_s)

    def _take_delta(self, delta: TokenDelta, now_s: float) -> None:
        self._figures.tokens += delta.num_tokens
        if delta.num_tokens:
            last_s = self._last_token_s.get(delta.request_id)
            if last_s is not None:
                self._figures.gap_s.append((now_s - last_s) / delta.num_tokens)
            self._last_token_s[delta.request_id] = now_s
        if delta.final:
            self._last_token_s.pop(delta.request_id, None)
            self._figures.ttft_s.append(delta.ttft_s)
            self._figures.request_s.append(delta.duration_s)


def bench_robot() -> RobotProfile:
    """Return an arm with as many camera slots as the model knows."""
    return RobotProfile(
        name='bench', cameras=tuple(Camera(f'camera_{index}', f'camera_{index}/image')
                                    for index in range(NUM_SLOTS)),
        joints=tuple(Joint(f'joint_{index}', -3.0, 3.0, 2.0) for index in range(7)),
        instruction='put the red cube on the blue plate')


def synthetic_observation(frame_id: int, num_cameras: int, robot: RobotProfile) -> Observation:
    """Return smooth coloured pictures that move a little from frame to frame."""
    rows, columns = np.mgrid[0:PICTURE[0], 0:PICTURE[1]] / PICTURE[0]
    images = {}
    for index, slot in enumerate(robot.camera_slots[:num_cameras]):
        phase = 0.05 * frame_id + index
        waves = [np.sin(6 * rows + phase), np.cos(5 * columns - phase),
                 np.sin(4 * (rows + columns) + 2 * phase)]
        images[slot] = (127.5 + 127 * np.stack(waves, axis=-1)).astype(np.uint8)
    state = 0.5 * np.sin(0.1 * frame_id + np.arange(len(robot.joints)))
    return Observation(frame_id, frame_id * 100_000_000, images, state.astype(np.float32),
                       robot.instruction)


def load_weights(setting: Setting, robot: RobotProfile) -> LoadedPolicy:
    """Return the model; texts have no end token, so that every policy does equal work."""
    torch.set_num_threads(setting.num_threads)
    config = EngineConfig(checkpoint=f'builtin:{setting.model}',
                          num_denoise_steps=setting.num_denoise_steps,
                          weights=setting.weights)
    policy = load(config.checkpoint, config, robot)
    return replace(policy, end_ids=(),
                   suppressed_ids=tuple({*policy.suppressed_ids, *policy.end_ids}))


def run_setting(setting: Setting, policies: Sequence[str], policy: LoadedPolicy,
                robot: RobotProfile, on_frame=lambda done, total: None) -> dict[str, dict]:
    """Return the figures of every policy at one point of the grid."""
    energy = EnergyCounter()
    contestants = [Contestant(name, policy, robot, setting, energy) for name in policies]
    total = setting.fill_frames + setting.num_frames
    for frame, observation in enumerate(_observations(total, setting, robot)):
        if frame == setting.fill_frames:
            for contestant in contestants:
                contestant.start_measuring()
        first = frame % len(contestants)   # nobody always runs on the caches of the same other
        for contestant in contestants[first:] + contestants[:first]:
            contestant.run_frame(observation)
        on_frame(frame + 1, total)
    results = {contestant.name: contestant.result() for contestant in contestants}
    for contestant in contestants:
        contestant.close()
    return results


def _observations(total: int, setting: Setting, robot: RobotProfile) -> Iterator[Observation]:
    for frame in range(total):
        yield synthetic_observation(frame + 1, setting.num_cameras, robot)


def _ms(values_s: list[float], percent: float) -> float | None:
    """Return a percentile in milliseconds; None when nothing was measured."""
    return 1e3 * float(np.percentile(values_s, percent)) if values_s else None
