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

"""What the robot should say about a moment, from the simulator's truth."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from oxygen_ros.sim.scene import CUBE_COLORS
from oxygen_ros.sim.table_top import TableTop

LOCATION_STEP_MM = 5
X_RANGE_MM, Y_RANGE_MM = (50, 400), (-250, 250)
HIDDEN = 'out of sight'

_MIN_PIXELS = 8          # of a cube's colour in a picture, for the cube to be seen
_MIN_BRIGHTNESS = 50     # of 255
_SUBTASKS = {
    'reach': 'reach for the {color} cube', 'lower': 'lower to the {color} cube',
    'close': 'close on the {color} cube', 'lift': 'lift the {color} cube',
    'hold': 'hold the {color} cube', 'carry': 'carry the {color} cube to the tray',
    'set down': 'lower the {color} cube into the tray', 'release': 'release the {color} cube',
    'done': 'done',
}


@dataclass(frozen=True)
class Texts:
    """One text per standing task."""

    subtask: str      # what the arm does now
    narration: str    # where each cube is, in words
    memory: str       # one line 'subject | relation | object' per cube that is seen


def describe(table: TableTop, phase: str, seen: Iterable[str]) -> Texts:
    """Return the texts about this moment; phase is the expert's, seen the visible colours."""
    seen, held = set(seen), table.held_cube()
    words, facts = [], []
    for color in CUBE_COLORS:
        if color not in seen:
            words.append(f'{color} {HIDDEN}')
            continue
        place = table.place_of(color, held=held)
        words.append(f'{color} {place}')
        known = held == color or table.in_tray(color)
        facts.append(f'{color} cube | is | {place if known else location(table, color)}')
    return Texts(_SUBTASKS[phase].format(color=table.task.color), ', '.join(words),
                 '\n'.join(facts))


def location(table: TableTop, color: str) -> str:
    """Return where a cube lies, 'at X Y mm' from the arm's base: ahead, then to its left."""
    return _at(*table.cube_position(color)[:2])


def random_place(random: np.random.Generator) -> str:
    """Return some place a fact could name."""
    if random.random() < 0.1:
        return 'in the tray'
    return _at(random.uniform(0.1, 0.35), random.uniform(-0.2, 0.2))


def _at(x_m: float, y_m: float) -> str:
    x_mm, y_mm = (int(round(value * 1000 / LOCATION_STEP_MM)) * LOCATION_STEP_MM
                  for value in (x_m, y_m))
    return f'at {np.clip(x_mm, *X_RANGE_MM)} {np.clip(y_mm, *Y_RANGE_MM)} mm'


def parse_location(place: str) -> NDArray[np.float64] | None:
    """Return [x, y] in m of 'at X Y mm'; None for any other words."""
    words = place.split()
    if len(words) != 4 or words[0] != 'at' or words[3] != 'mm':
        return None
    try:
        return np.array([int(words[1]), int(words[2])]) / 1000
    except ValueError:
        return None


def seen_cubes(pictures: Iterable[NDArray[np.uint8]]) -> tuple[str, ...]:
    """Return the colours of the cubes that show in any of these pictures."""
    shown = np.any([shown_cubes(picture) for picture in pictures], axis=0)
    return tuple(color for color, is_shown in zip(CUBE_COLORS, shown) if is_shown)


def shown_cubes(picture: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Return for each cube, [3], whether enough of its colour shows in a picture."""
    channels = np.moveaxis(picture, -1, 0).astype(np.uint16)     # red, green, blue: as the cubes
    counts = []
    for own, first, second in zip(channels, np.roll(channels, 1, 0), np.roll(channels, 2, 0)):
        # A cube's own channel outshines the other two.
        pure = (own > _MIN_BRIGHTNESS) & (10 * own > 16 * np.maximum(first, second))
        counts.append(np.count_nonzero(pure))
    return np.array(counts) >= _MIN_PIXELS
