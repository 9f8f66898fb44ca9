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

"""Where the cubes lie when an episode begins."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from oxygen_ros.config.errors import require_choice
from oxygen_ros.sim.scene import CUBE_COLORS
from oxygen_ros.sim.scene import CUBE_HALF_M
from oxygen_ros.sim.scene import TRAY_CENTER

# 'any': all over the table; 'seen': the target never in a held-out spot; 'held_out': always.
SPOTS = ('any', 'seen', 'held_out')
HELD_OUT_SPOTS = ((0.19, -0.10), (0.25, -0.03), (0.20, 0.05))   # m, centres
HELD_OUT_RADIUS_M = 0.02

_AREA_LOW, _AREA_HIGH = (0.15, -0.15), (0.30, 0.085)   # m
_REACH_M = 0.315
_SPACING_M = 0.062
_IN_TRAY_CHANCE = 0.2        # of each cube that the task is not about
_TRAY_SPOTS = tuple((x, y) for x in (-0.022, 0.022) for y in (-0.022, 0.022))
_TRAY_FLOOR_M = 0.0045
_MAX_TURN_RAD = 0.2


@dataclass(frozen=True)
class Placement:
    """Where one cube lies: centre in m, turned about the vertical."""

    x: float
    y: float
    z: float
    turn_rad: float


def draw_layout(random: np.random.Generator, target: str, *,
                spots: str = 'any') -> dict[str, Placement]:
    """Return a placement per colour: apart on the table, or some in the tray, never the target."""
    require_choice('spots', spots, SPOTS)
    tray_spots = random.permutation(_TRAY_SPOTS)
    taken: list[NDArray] = []
    layout = {}
    for number, color in enumerate(CUBE_COLORS):
        height = CUBE_HALF_M
        if color != target and random.random() < _IN_TRAY_CHANCE:
            where = np.add(TRAY_CENTER, tray_spots[number] + random.uniform(-0.004, 0.004, 2))
            height += _TRAY_FLOOR_M
        else:
            where = _free_spot(random, taken, spots if color == target else 'any')
        taken.append(where)
        turn_rad = random.uniform(-_MAX_TURN_RAD, _MAX_TURN_RAD)
        layout[color] = Placement(float(where[0]), float(where[1]), height, turn_rad)
    return layout


def _free_spot(random: np.random.Generator, taken: list[NDArray], spots: str) -> NDArray:
    """Draw a place within reach that is not too near the taken ones."""
    while True:
        spot = random.uniform(_AREA_LOW, _AREA_HIGH)
        held_out = any(np.hypot(*(spot - center)) < HELD_OUT_RADIUS_M
                       for center in HELD_OUT_SPOTS)
        if (spots == 'any' or held_out == (spots == 'held_out')) and np.hypot(*spot) < _REACH_M \
                and all(np.hypot(*(spot - other)) > _SPACING_M for other in taken):
            return spot
