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

"""Moments of episodes: what was seen, what is done next, what can be said about it."""

from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import field

import numpy as np
from numpy.typing import NDArray

from oxygen_ros.config import load_robot
from oxygen_ros.sim import ALL_TASKS
from oxygen_ros.sim import CAMERAS
from oxygen_ros.sim import CUBE_COLORS
from oxygen_ros.sim import TableTop
from oxygen_ros.sim import Task
from oxygen_ros.sim.expert import DECISION_S
from oxygen_ros.sim.expert import Expert
from oxygen_ros.sim.tasks import PHRASINGS
from oxygen_ros.sim.texts import describe
from oxygen_ros.sim.texts import shown_cubes
from oxygen_ros.spaces import action_space

ROBOT = 'table_top'          # profile: says what the model's numbers mean
HORIZON = 12                 # actions per chunk, DECISION_S apart
MAX_SPEED = 4.0              # rad/s, of commands
COMMAND_S = 0.01             # commands move in a straight line from decision to decision

_START = (np.array([0.15, -0.14, 0.06]), np.array([0.28, 0.16, 0.15]))   # m, grasp point
_START_GRIPPER = (-0.1, 1.2)
_PICK_CHANCE, _ANYWHERE_CHANCE = 0.4, 0.5


@dataclass
class Frames:
    """What is kept of some moments; a list entry per frame."""

    images: list[NDArray[np.uint8]] = field(default_factory=list)     # [2 cameras, s, s, 3]
    states: list[NDArray[np.float32]] = field(default_factory=list)   # [state size], model's
    actions: list[NDArray[np.float32]] = field(default_factory=list)  # [HORIZON, action size]
    #                                       model's; the first is the command obeyed already
    texts: list[tuple[str, ...]] = field(default_factory=list)   # instruction, subtask,
    #                                                              narration, memory
    cubes: list[NDArray[np.float32]] = field(default_factory=list)    # [3 colours, 3] m
    pixels: list[NDArray[np.float32]] = field(default_factory=list)   # [2 cameras, 3 colours, 2]
    #                                       column, row, 0 to 1
    shown: list[NDArray[np.bool_]] = field(default_factory=list)      # [2 cameras, 3 colours]
    episodes: list[int] = field(default_factory=list)

    def arrays(self) -> dict[str, NDArray]:
        """Return everything as arrays, frames first."""
        return {name: np.array(getattr(self, name)) for name in self.__dataclass_fields__}


@dataclass(frozen=True)
class Moment:
    """What is known before it is decided what to do."""

    images: dict[str, NDArray[np.uint8]]       # by camera
    joints: NDArray[np.float64]                # [num_joints] rad
    texts: tuple[str, ...]                     # as in Frames
    cubes: NDArray[np.float64]
    pixels: NDArray[np.float64]
    shown: NDArray[np.bool_]


class Stage:
    """One simulated table on which episodes are played, with the teacher beside it."""

    def __init__(self):
        self.table = TableTop()
        self.expert = Expert(self.table)
        self._space = action_space(load_robot(ROBOT))

    def begin(self, random: np.random.Generator) -> NDArray[np.float64]:
        """Start an episode; return the command that holds the arm where it is."""
        verb = 'pick' if random.random() < _PICK_CHANCE else 'put'
        color = tuple(CUBE_COLORS)[random.integers(len(CUBE_COLORS))]
        self.table.reset(seed=int(random.integers(2 ** 31)), task=Task(verb, color), spots='seen')
        if random.random() < _ANYWHERE_CHANCE:
            pose = None
            while pose is None:
                pose = self.expert.start_pose(random.uniform(*_START),
                                              random.uniform(*_START_GRIPPER))
            self.table.place_arm(pose)
        return self.table.joint_positions

    def hide(self, random: np.random.Generator) -> str:
        """Make a cube disappear that the task is not about; return its colour."""
        others = [color for color in CUBE_COLORS if color != self.table.task.color]
        color = others[random.integers(len(others))]
        if self.table.held_cube() == color:
            return ''                  # nobody takes a cube out of the hand
        if random.random() < 0.5:
            self.table.cover_cube(color)
        else:
            self.table.remove_cube(color)
        return color

    def look(self, instruction: str, phase: str) -> Moment:
        """Return what the table is like now; phase is the teacher's."""
        table = self.table
        images = {camera.slot: table.render(camera.slot) for camera in CAMERAS}
        shown = np.array([shown_cubes(picture) for picture in images.values()])
        seen = [color for color, any_ in zip(CUBE_COLORS, shown.any(axis=0)) if any_]
        texts = describe(table, phase, seen)
        cubes = np.array([table.cube_position(color) for color in CUBE_COLORS])
        pixels = np.array([[table.project(camera.slot, cube) for cube in cubes]
                           for camera in CAMERAS])
        return Moment(images, table.joint_positions,
                      (instruction, texts.subtask, texts.narration, texts.memory),
                      cubes, pixels, shown)

    def obey(self, before: NDArray, target: NDArray) -> NDArray[np.float64]:
        """Move the command from the last one to a target, no faster than allowed."""
        farthest = MAX_SPEED * DECISION_S
        after = np.clip(target, before - farthest, before + farthest)
        num_parts = round(DECISION_S / COMMAND_S)
        for part in range(1, num_parts + 1):
            self.table.command(before + (after - before) * part / num_parts)
            self.table.step(COMMAND_S)
        return after

    def keep(self, frames: Frames, moment: Moment, commands: Sequence[NDArray],
             number: int) -> None:
        """Add a moment of an episode to the frames, with the HORIZON commands from it on."""
        frames.images.append(np.stack(list(moment.images.values())))
        frames.states.append(self._space.model_state(moment.joints).astype(np.float32))
        frames.actions.append(
            self._space.actions(np.array(commands), moment.joints).astype(np.float32))
        frames.texts.append(moment.texts)
        frames.cubes.append(moment.cubes.astype(np.float32))
        frames.pixels.append(moment.pixels.astype(np.float32))
        frames.shown.append(moment.shown)
        frames.episodes.append(number)

    def close(self) -> None:
        """Free the renderer."""
        self.table.close()


def phrase(random: np.random.Generator, task: Task) -> str:
    """Return the task in some words."""
    phrases = PHRASINGS[task.verb]
    return phrases[random.integers(len(phrases))].format(color=task.color)


def other_task(random: np.random.Generator, task: Task, hidden: str) -> Task:
    """Return another task, every second time about the same cube, never about a hidden one."""
    same = [other for other in ALL_TASKS if other.color == task.color and other != task]
    rest = [other for other in ALL_TASKS if other.color not in (task.color, hidden)]
    pool = same if random.random() < 0.5 else rest
    return pool[random.integers(len(pool))]
