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

"""A small robot and a rig that plays its sensors, its engine and its clock tick by tick."""

import gc

import numpy as np
import pytest

from oxygen_ros.config import Camera
from oxygen_ros.config import ControlConfig
from oxygen_ros.config import Joint
from oxygen_ros.config import RobotProfile
from oxygen_ros.policy import Controller
from oxygen_ros.types import ActionChunk
from oxygen_ros.types import Verdict

RATE_HZ = 50
PERIOD_NS = 20_000_000
START_NS = 1_700_000_000_000_000_000
THERE = [0.015, 1.0]   # one step away from where the robot starts


@pytest.fixture(autouse=True)
def heap_of_other_tests():
    """Spare tickers what other files have loaded; each looks through all garbage as it starts."""
    gc.freeze()
    yield
    gc.unfreeze()


def make_profile(**changes) -> RobotProfile:
    """Make two joints that may do 0.02 and 0.05 per tick, and two cameras, one optional."""
    cameras = (Camera('front', 'front/image', max_age_s=0.3),
               Camera('wrist', 'wrist/image', max_age_s=0.3, required=False))
    joints = (Joint('lift', lower=-1.0, upper=1.0, max_velocity=1.0),
              Joint('grip', lower=0.0, upper=2.0, max_velocity=5.0, max_step=0.05))
    fields = {'name': 'bench', 'cameras': cameras, 'joints': joints, 'action_rate_hz': 20.0,
              'control_rate_hz': float(RATE_HZ), 'joints_max_age_s': 0.2, 'start_jump': 0.1}
    return RobotProfile(**{**fields, **changes})


class Rig:
    """A controller and everything around it; healthy sensors report before every tick."""

    def __init__(self, profile=None, *, is_active=True, **control):
        self.profile = profile or make_profile()
        self.controller = Controller(self.profile, ControlConfig(**control))
        self.now_ns = START_NS
        self.index = -1
        self.frame_id = 0
        self.epoch = 0
        self.position = np.array([0.0, 1.0])
        self.joints_report = True
        self.reporting_cameras = {'front', 'wrist'}
        if is_active:
            self.controller.activate()

    def report(self) -> None:
        """Let the sensors that work report now."""
        if self.joints_report:
            self.controller.measured(self.position, self.now_ns, self.now_ns)
        for slot in self.reporting_cameras:
            self.controller.seen(slot, self.now_ns, self.now_ns)

    def tick(self, *, skipped: int = 0):
        """Go on by one period after `skipped` missed ones; return the TickResult."""
        self.index += 1 + skipped
        self.now_ns += (1 + skipped) * PERIOD_NS
        self.report()
        return self.controller.tick(self.now_ns, self.index)

    def ticks(self, count: int) -> list:
        """Return the results of several ticks."""
        return [self.tick() for _ in range(count)]

    def follow(self, count: int = 5) -> list:
        """Let the robot follow a fresh chunk for some ticks; return their results."""
        self.chunk(THERE)
        results = self.ticks(count)
        assert {result.verdict for result in results} == {Verdict.FRESH}
        return results

    @staticmethod
    def verdicts(results) -> list:
        """Return (verdict, cause) of each tick."""
        return [(result.verdict, result.cause) for result in results]

    def chunk(self, actions, *, age_s: float = 0.0, **changes) -> bool:
        """Let the engine deliver a chunk about a new frame taken age_s ago."""
        self.frame_id += 1
        if not isinstance(actions, np.ndarray):
            actions = np.tile(np.float32(actions), (20, 1))
        fields = {'frame_id': self.frame_id, 'stamp_ns': self.now_ns - round(age_s * 1e9),
                  'actions': actions, 'dt_s': 0.05, 'epoch': self.epoch}
        return self.controller.add_chunk(ActionChunk(**{**fields, **changes}))


@pytest.fixture(scope='session')
def new_rig():
    """Return the class, for as many rigs as a test needs."""
    return Rig


@pytest.fixture
def rig():
    """Return a rig of the default configuration, active."""
    return Rig()


@pytest.fixture(scope='session')
def new_profile():
    """Return the maker of profiles."""
    return make_profile
