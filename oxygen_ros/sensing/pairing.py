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

"""Pairs the newest picture of each camera with the joints of that moment."""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from oxygen_ros.config import RobotProfile
from oxygen_ros.sensing.joints import JointSample

NUM_JOINT_SAMPLES = 64    # about one second at 50 Hz, enough to look back to a picture's time


@dataclass(frozen=True)
class Paired:
    """What one observation is made of."""

    images: Mapping[str, NDArray[np.uint8]]
    state: NDArray[np.float32]
    stamp_ns: int              # the oldest stamp inside


class Pairing:
    """
    Decides when there is something new to look at. One thread.

    An observation is due when every live camera has a new picture, or when the fastest camera
    comes round again, so a slow or dead camera never holds up the others. Its picture then
    counts as new for those that are about to follow, or cameras of one rate would be paired a
    frame apart for ever. A required camera that is stale stops observations: the model must not
    act on a view it has lost.
    """

    def __init__(self, robot: RobotProfile):
        self._cameras = {camera.slot: camera for camera in robot.cameras}
        self._joints_max_age_ns = round(robot.joints_max_age_s * 1e9)
        self.clear()

    def clear(self) -> None:
        """Forget everything, for example when time jumped back."""
        self._pictures: dict[str, tuple[NDArray[np.uint8], int]] = {}
        self._new: set[str] = set()
        self._complete = False       # an observation was made: it is known which cameras live
        self._samples: deque[JointSample] = deque(maxlen=NUM_JOINT_SAMPLES)

    def joints(self, sample: JointSample) -> None:
        """Keep a joint state."""
        self._samples.append(sample)

    def picture(self, slot: str, image: NDArray[np.uint8], *, stamp_ns: int,
                now_ns: int) -> Paired | None:
        """Keep a picture; return an observation when one is due."""
        if slot in self._pictures and self._pictures[slot][1] == stamp_ns:
            return None                      # a repeated frame is not a new look
        came_round = slot in self._new
        self._pictures[slot] = (image, stamp_ns)
        self._new.add(slot)
        live = self._live(now_ns)
        expected = live if self._complete else self._cameras
        if not live or not (came_round or self._new.issuperset(expected)):
            return None
        if any(camera.required and slot not in live for slot, camera in self._cameras.items()):
            return None
        sample = self._joints_at(self._pictures[slot][1], now_ns)
        if sample is None:
            return None
        self._new.clear()
        self._complete = True
        if came_round:
            self._new.add(slot)
        stamps = [self._pictures[slot][1] for slot in live]
        return Paired(images={slot: self._pictures[slot][0] for slot in live},
                      state=sample.positions.astype(np.float32),
                      stamp_ns=min(*stamps, sample.stamp_ns))

    def _live(self, now_ns: int) -> tuple[str, ...]:
        """Return the cameras whose newest picture is young enough, in profile order."""
        return tuple(slot for slot, camera in self._cameras.items()
                     if slot in self._pictures
                     and abs(now_ns - self._pictures[slot][1]) <= camera.max_age_s * 1e9)

    def _joints_at(self, stamp_ns: int, now_ns: int) -> JointSample | None:
        """Return the joint state nearest in time to a picture, unless the joints are stale."""
        if not self._samples:
            return None
        if abs(now_ns - self._samples[-1].stamp_ns) > self._joints_max_age_ns:
            return None
        return min(self._samples, key=lambda sample: abs(sample.stamp_ns - stamp_ns))
