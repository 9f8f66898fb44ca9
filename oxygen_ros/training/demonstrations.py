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
Demonstrations: the simulator's teacher does the tasks, what it saw, did and could say is kept.

An episode follows from its number and a seed alone, whatever process runs it. Some episodes are
disturbed by a kick, so that the student learns to recover; no kept chunk of actions overlaps a
kick or a change of mind, because a student copies what it is shown, noise too.
"""

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

_MAX_DECISIONS = 150
_EXTRA_DECISIONS = 26        # after success
_KEEP_EVERY = 3              # decisions
_START = (np.array([0.15, -0.14, 0.06]), np.array([0.28, 0.16, 0.15]))   # m, grasp point
_START_GRIPPER = (-0.1, 1.2)
_PICK_CHANCE, _ANYWHERE_CHANCE, _KICK_CHANCE = 0.4, 0.5, 0.45
_SWITCH_CHANCE, _HIDE_CHANCE, _HIDDEN_FROM_START = 0.2, 0.3, 0.3
_KICK_RAD = np.array([0.12, 0.12, 0.12, 0.10, 0.15, 0.30])   # standard deviation


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
class Plan:
    """What happens in one episode besides the task; decision numbers, -1 for never."""

    kick: range                        # decisions with an offset
    offset: NDArray[np.float64]        # [6] rad
    switch: int                        # from here on another task
    hide: int                          # a cube that the task is not about disappears here


class Demonstrator:
    """Runs episodes on one simulated table."""

    def __init__(self, seed: int):
        self._seed = seed
        self._table = TableTop()
        self._space = action_space(load_robot(ROBOT))
        self._expert = Expert(self._table)

    def run(self, number: int, frames: Frames) -> bool:
        """Run one episode; its frames are kept only if it succeeds. Returns whether it did."""
        random = np.random.default_rng((self._seed, number))
        table, kept, commands = self._table, [], [self._begin(random)]
        plan = _draw_plan(random)
        instruction = _instruction(random, table.task)
        first, end, hidden = int(random.integers(_KEEP_EVERY)), None, ''
        for step in range(_MAX_DECISIONS):
            if step == plan.switch:
                table.task = _other_task(random, table.task, hidden)
                instruction = _instruction(random, table.task)
            if step == plan.hide:
                hidden = self._hide(random)
            decision = self._expert.decide()
            if step % _KEEP_EVERY == first and not _disturbed(step, plan):
                kept.append((step, self._look(instruction, decision.phase)))
            target = decision.target + (plan.offset if step in plan.kick else 0)
            commands.append(self._obey(commands[-1], target))
            if end is None and step > plan.switch and table.success():
                end = step + _EXTRA_DECISIONS
            if step == end:
                break
        if end is None:
            return False
        for step, frame in kept:
            if step + HORIZON <= len(commands):
                self._keep(frames, frame, commands[step:step + HORIZON], number)
        return True

    def close(self) -> None:
        """Free the renderer."""
        self._table.close()

    def _begin(self, random: np.random.Generator) -> NDArray[np.float64]:
        """Start the episode; return the command that holds the arm where it is."""
        verb = 'pick' if random.random() < _PICK_CHANCE else 'put'
        color = tuple(CUBE_COLORS)[random.integers(len(CUBE_COLORS))]
        self._table.reset(seed=int(random.integers(2 ** 31)), task=Task(verb, color),
                          spots='seen')
        if random.random() < _ANYWHERE_CHANCE:
            pose = None
            while pose is None:
                pose = self._expert.start_pose(random.uniform(*_START),
                                               random.uniform(*_START_GRIPPER))
            self._table.place_arm(pose)
        return self._table.joint_positions

    def _hide(self, random: np.random.Generator) -> str:
        """Make a cube disappear that the task is not about; return its colour."""
        others = [color for color in CUBE_COLORS if color != self._table.task.color]
        color = others[random.integers(len(others))]
        if self._table.held_cube() == color:
            return ''                  # nobody takes a cube out of the hand
        if random.random() < 0.5:
            self._table.cover_cube(color)
        else:
            self._table.remove_cube(color)
        return color

    def _look(self, instruction: str, phase: str) -> tuple:
        table = self._table
        pictures = [table.render(camera.slot) for camera in CAMERAS]
        shown = np.array([shown_cubes(picture) for picture in pictures])
        seen = [color for color, any_ in zip(CUBE_COLORS, shown.any(axis=0)) if any_]
        texts = describe(table, phase, seen)
        cubes = np.array([table.cube_position(color) for color in CUBE_COLORS])
        pixels = np.array([[table.project(camera.slot, cube) for cube in cubes]
                           for camera in CAMERAS])
        return (np.stack(pictures), table.joint_positions,
                (instruction, texts.subtask, texts.narration, texts.memory), cubes, pixels, shown)

    def _obey(self, before: NDArray, target: NDArray) -> NDArray[np.float64]:
        """Move the command from the last one to a target, no faster than allowed."""
        farthest = MAX_SPEED * DECISION_S
        after = np.clip(target, before - farthest, before + farthest)
        num_parts = round(DECISION_S / COMMAND_S)
        for part in range(1, num_parts + 1):
            self._table.command(before + (after - before) * part / num_parts)
            self._table.step(COMMAND_S)
        return after

    def _keep(self, frames: Frames, frame: tuple, commands: list[NDArray], number: int) -> None:
        images, joints, texts, cubes, pixels, shown = frame
        frames.images.append(images)
        frames.states.append(self._space.model_state(joints).astype(np.float32))
        frames.actions.append(self._space.actions(np.array(commands), joints).astype(np.float32))
        frames.texts.append(texts)
        frames.cubes.append(cubes.astype(np.float32))
        frames.pixels.append(pixels.astype(np.float32))
        frames.shown.append(shown)
        frames.episodes.append(number)


def _draw_plan(random: np.random.Generator) -> Plan:
    kick = switch = hide = -1
    length = int(random.integers(4, 9))
    offset = random.normal(size=len(_KICK_RAD)) * _KICK_RAD
    if random.random() < _KICK_CHANCE:
        kick = int(random.integers(3, 45))
    if random.random() < _SWITCH_CHANCE:
        switch = int(random.integers(5, 60))
    if random.random() < _HIDE_CHANCE:
        hide = 0 if random.random() < _HIDDEN_FROM_START else int(random.integers(1, 50))
    return Plan(range(kick, kick + length) if kick >= 0 else range(0), offset, switch, hide)


def _disturbed(step: int, plan: Plan) -> bool:
    """Return whether the chunk of a frame overlaps what the frame cannot foretell."""
    decisions = range(step - 1, step + HORIZON - 1)     # behind the commands of the chunk
    if plan.kick and max(decisions[0], plan.kick[0]) <= min(decisions[-1], plan.kick[-1]):
        return True
    return step < plan.switch <= decisions[-1]


def _instruction(random: np.random.Generator, task: Task) -> str:
    phrases = PHRASINGS[task.verb]
    return phrases[random.integers(len(phrases))].format(color=task.color)


def _other_task(random: np.random.Generator, task: Task, hidden: str) -> Task:
    """Return another task, every second time about the same cube, never about a hidden one."""
    same = [other for other in ALL_TASKS if other.color == task.color and other != task]
    rest = [other for other in ALL_TASKS if other.color not in (task.color, hidden)]
    pool = same if random.random() < 0.5 else rest
    return pool[random.integers(len(pool))]
