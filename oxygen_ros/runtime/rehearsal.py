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

"""A session driven by a made-up robot: for measurements without ROS, cameras or hardware."""

from collections.abc import Sequence
import threading
import time

import numpy as np
from numpy.typing import NDArray

from oxygen_ros.config import ControlConfig
from oxygen_ros.config import EngineConfig
from oxygen_ros.config import load_robot
from oxygen_ros.config import SchedulerConfig
from oxygen_ros.config import StandingTask
from oxygen_ros.runtime.outputs import Listener
from oxygen_ros.runtime.session import Session

_CAMERA_HZ = 30.0
_SATURATING_HZ = 500.0

Pictures = dict[str, NDArray[np.uint8]]


class Rehearsal:
    """
    An active session that sees made-up pictures, 30 a second.

    host: 'process' as on a robot, or 'inline': the engine in a thread of this process, where it
    shares the interpreter with the tick. replan_hz: by default more than any machine gives, so
    that the engine never rests. pictures: shown by turns, each [height, width, 3] by camera slot;
    noise by default. state: of the joints, all 0 by default.
    """

    def __init__(self, *, checkpoint: str, host: str, rate_hz: float,
                 replan_hz: float = _SATURATING_HZ, tasks: Sequence[StandingTask] = (),
                 listener: Listener | None = None, robot: str = 'so101',
                 pictures: Sequence[Pictures] = (), state: Sequence[float] = ()):
        robot = load_robot(robot)
        self.session = Session(
            robot, ControlConfig(),
            EngineConfig(checkpoint=checkpoint,
                         scheduler=SchedulerConfig(replan_hz=replan_hz)),
            tasks, listener=listener, node_clock_ns=time.monotonic_ns, host=host)
        self._robot = robot
        self._pictures = pictures or _noise(robot.camera_slots)
        self._state = np.array(state or [0.0] * len(robot.joints))
        self._stopping = threading.Event()
        self._threads = [threading.Thread(target=work, daemon=True)
                         for work in (self._sense, self._look)]
        self._period_s = 1.0 / rate_hz

    def start(self) -> None:
        """Load, warm up and let the robot move; blocks."""
        self.session.configure()
        self.session.activate()
        for thread in self._threads:
            thread.start()

    def stop(self) -> dict:
        """End everything; returns the figures of the run."""
        self._stopping.set()
        for thread in self._threads:
            thread.join(timeout=30)
        self.session.close()
        return self.session.summary()

    def _sense(self) -> None:
        """Report the joints, and that the cameras live."""
        while not self._stopping.wait(self._period_s):
            now_ns = time.monotonic_ns()
            self.session.measured(self._state, now_ns)
            for slot in self._robot.camera_slots:
                self.session.seen(slot, now_ns)

    def _look(self) -> None:
        """Hand pictures over; with an inline engine this runs it."""
        count = 0
        while not self._stopping.wait(1.0 / _CAMERA_HZ):
            self.session.observe(self._pictures[count % len(self._pictures)],
                                 self._state.astype(np.float32), time.monotonic_ns())
            count += 1


def _noise(slots: Sequence[str]) -> list[Pictures]:
    rng = np.random.default_rng(0)
    return [{slot: rng.integers(0, 256, (224, 224, 3), dtype=np.uint8) for slot in slots}
            for _ in range(4)]
