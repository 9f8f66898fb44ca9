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
The simulated robot as a plain class, for the node, for tests and for training.

Threads: one thread at a time; pictures only on the thread that asked for the first one.
"""

import mujoco
import numpy as np
from numpy.typing import NDArray

from oxygen_ros.sim.layout import draw_layout
from oxygen_ros.sim.rendering import Renderer
from oxygen_ros.sim.scene import build_model
from oxygen_ros.sim.scene import CAMERAS
from oxygen_ros.sim.scene import COVER
from oxygen_ros.sim.scene import COVER_HALF_M
from oxygen_ros.sim.scene import COVER_PARKED
from oxygen_ros.sim.scene import CUBE_COLORS
from oxygen_ros.sim.scene import CUBE_HALF_M
from oxygen_ros.sim.scene import FINGERTIPS
from oxygen_ros.sim.scene import GRASP_SITE
from oxygen_ros.sim.scene import TIMESTEP_S
from oxygen_ros.sim.scene import TRAY_CENTER
from oxygen_ros.sim.scene import TRAY_HALF_M
from oxygen_ros.sim.tasks import ALL_TASKS
from oxygen_ros.sim.tasks import Task

# Gripper 14 cm above the table in front of the arm, jaws half open.
HOME = np.array([-0.101, -1.439, 0.762, 1.443, -1.356, 0.7])
START_SPREAD = np.array([0.15, 0.10, 0.10, 0.10, 0.15, 0.3])  # rad, uniform around HOME

LIFTED_M = 0.075             # cube centre above the table when picked up
IN_TRAY_HEIGHT_M = 0.04      # cube centre below this lies in the tray, not above it
REMOVED = (-0.5, -0.1)       # m, behind the arm: where cubes are that were taken away
OPEN_RAD = 0.5               # gripper joint of an open hand
_WHOLE_STATE = mujoco.mjtState.mjSTATE_INTEGRATION
LEFT_OF_M, RIGHT_OF_M = -0.065, 0.01   # y; left and right as the front camera sees them


class TableTop:
    """SO-101 arm before a table with three cubes and a tray."""

    def __init__(self, seed: int = 0):
        self._model = build_model()
        self._data = mujoco.MjData(self._model)
        self._renderer: Renderer | None = None
        self._sizes = {camera.slot: camera.size for camera in CAMERAS}
        self._num_joints = self._model.nu
        self._low, self._high = self._model.actuator_ctrlrange.T
        self.joint_names = tuple(self._model.actuator(i).name for i in range(self._num_joints))
        self.task = ALL_TASKS[0]
        self.reset(seed=seed)

    def reset(self, *, seed: int | None = None, task: Task | None = None,
              spots: str = 'any') -> None:
        """
        Begin a new episode with other cube positions, start pose and, unless given, task.

        A seed makes this and the following episodes repeatable. spots says where the cube of
        the task may lie (sim.layout.SPOTS).
        """
        if seed is not None:
            self._random = np.random.default_rng(seed)
        mujoco.mj_resetData(self._model, self._data)
        drawn = ALL_TASKS[self._random.integers(len(ALL_TASKS))]
        self.task = task or drawn
        self._place_cubes(spots)
        start = HOME + self._random.uniform(-START_SPREAD, START_SPREAD)
        self._data.qpos[:self._num_joints] = start
        self.command(start)
        mujoco.mj_forward(self._model, self._data)
        self.step(10 * TIMESTEP_S)  # lets the cubes settle

    def command(self, positions: NDArray) -> None:
        """Set the servos' target, [num_joints] rad; targets out of range are clipped."""
        target = np.asarray(positions, np.float64)
        if target.shape != (self._num_joints,) or not np.isfinite(target).all():
            raise ValueError(f'command is {positions}; give {self._num_joints} finite angles')
        self._data.ctrl[:] = np.clip(target, self._low, self._high)

    def step(self, duration_s: float) -> None:
        """Let the world run for duration_s, a multiple of the time step."""
        num_steps = round(duration_s / TIMESTEP_S)
        if num_steps < 1 or abs(num_steps * TIMESTEP_S - duration_s) > 1e-9:
            raise ValueError(f'duration is {duration_s} s; give a multiple of {TIMESTEP_S} s')
        mujoco.mj_step(self._model, self._data, num_steps)

    def render(self, slot: str, *, size: int | None = None) -> NDArray[np.uint8]:
        """Return what a camera sees now, [size, size, 3] RGB; size None is the camera's own."""
        if slot not in self._sizes:
            raise ValueError(f'camera is {slot!r}; choose one of {", ".join(self._sizes)}')
        if self._renderer is None:
            self._renderer = Renderer(self._model)
        return self._renderer.render(self._data, slot, size=size or self._sizes[slot])

    def project(self, slot: str, point: NDArray) -> NDArray[np.float64]:
        """
        Return where a point [3] m is in a camera's picture: column and row, 0 to 1 inside.

        Not-a-number behind the camera.
        """
        camera = self._model.camera(slot).id
        axes = self._data.cam_xmat[camera].reshape(3, 3)
        right, up, back = (np.asarray(point) - self._data.cam_xpos[camera]) @ axes
        if back >= 0:
            return np.full(2, np.nan)
        scale = 0.5 / np.tan(np.radians(self._model.cam_fovy[camera]) / 2) / -back
        return np.array([0.5 + right * scale, 0.5 - up * scale])

    @property
    def model(self) -> mujoco.MjModel:
        """The compiled scene."""
        return self._model

    @property
    def backend(self) -> str:
        """Name of the rendering back end, '' before the first picture."""
        return self._renderer.backend if self._renderer else ''

    @property
    def time_s(self) -> float:
        """Simulated time since the last reset."""
        return float(self._data.time)

    @property
    def joint_positions(self) -> NDArray[np.float64]:
        """Measured angles, [num_joints] rad."""
        return self._data.qpos[:self._num_joints].copy()

    @property
    def joint_velocities(self) -> NDArray[np.float64]:
        """Measured angular velocities, [num_joints] rad/s."""
        return self._data.qvel[:self._num_joints].copy()

    @property
    def grasp_point(self) -> NDArray[np.float64]:
        """Point between the fingertips, [3] m."""
        return self._data.site(GRASP_SITE).xpos.copy()

    def cube_position(self, color: str) -> NDArray[np.float64]:
        """Return the centre of a cube, [3] m."""
        return self._data.body(color).xpos.copy()

    def place_cube(self, color: str, position: tuple[float, float, float]) -> None:
        """Move a cube's centre to a position, m, upright and at rest."""
        self._data.joint(color).qpos[:] = (*position, 1, 0, 0, 0)
        self._data.joint(color).qvel[:] = 0
        mujoco.mj_forward(self._model, self._data)

    def place_arm(self, positions: NDArray) -> None:
        """Put the arm at rest at these angles, [num_joints] rad, without moving there."""
        self.command(positions)
        self._data.qpos[:self._num_joints] = self._data.ctrl
        self._data.qvel[:self._num_joints] = 0
        mujoco.mj_forward(self._model, self._data)

    def cover_cube(self, color: str) -> None:
        """Put the cover over a cube, which no camera sees then."""
        x, y, _ = self.cube_position(color)
        self._data.mocap_pos[self._model.body(COVER).mocapid[0]] = (x, y, COVER_HALF_M)
        mujoco.mj_forward(self._model, self._data)

    def remove_cube(self, color: str) -> None:
        """Take a cube away from the table."""
        number = list(CUBE_COLORS).index(color)
        self.place_cube(color, (*np.add(REMOVED, (0, 0.1 * number)), CUBE_HALF_M))

    def snapshot(self) -> NDArray[np.float64]:
        """Return all that decides how the world goes on, for restore."""
        state = np.empty(mujoco.mj_stateSize(self._model, _WHOLE_STATE))
        mujoco.mj_getState(self._model, self._data, state, _WHOLE_STATE)
        return state

    def restore(self, snapshot: NDArray) -> None:
        """Put the world back to where snapshot was taken; the task stays."""
        mujoco.mj_setState(self._model, self._data, snapshot, _WHOLE_STATE)
        mujoco.mj_forward(self._model, self._data)

    def held_cube(self) -> str | None:
        """Return the colour of the cube that both fingertips touch."""
        tips = {self._model.geom(name).id for name in FINGERTIPS}
        cubes = {self._model.geom(color).id: color for color in CUBE_COLORS}
        touching: dict[int, set[int]] = {cube: set() for cube in cubes}
        for first, second in self._data.contact.geom[:self._data.ncon]:
            for tip, cube in ((first, second), (second, first)):
                if tip in tips and cube in cubes:
                    touching[cube].add(tip)
        return next((cubes[cube] for cube, by in touching.items() if by == tips), None)

    def facts(self) -> tuple[tuple[str, str, str], ...]:
        """Return the truth as (subject, relation, object), in words."""
        held = self.held_cube()
        return tuple((f'{color} cube', 'is', self.place_of(color, held=held))
                     for color in CUBE_COLORS)

    def place_of(self, color: str, *, held: str | None) -> str:
        """Say where a cube is; held is the colour of the cube in the hand."""
        if color == held:
            return 'in the gripper'
        if self.in_tray(color):
            return 'in the tray'
        y = self.cube_position(color)[1]
        if y < LEFT_OF_M:
            return 'on the left'
        return 'in the middle' if y < RIGHT_OF_M else 'on the right'

    def success(self) -> bool:
        """Return whether the task is done now."""
        if self.task.verb == 'pick':
            return bool(self.cube_position(self.task.color)[2] > LIFTED_M)
        gripper = self.joint_positions[self.joint_names.index('gripper')]
        return self.in_tray(self.task.color) and bool(gripper > OPEN_RAD)

    def close(self) -> None:
        """Free the renderer, on the thread that rendered."""
        if self._renderer is not None:
            self._renderer.close()
            self._renderer = None

    def in_tray(self, color: str) -> bool:
        """Return whether a cube lies in the tray."""
        x, y, z = self.cube_position(color)
        offset = max(abs(x - TRAY_CENTER[0]), abs(y - TRAY_CENTER[1]))
        return bool(offset < TRAY_HALF_M and z < IN_TRAY_HEIGHT_M)

    def _place_cubes(self, spots: str) -> None:
        self._uncover()
        layout = draw_layout(self._random, self.task.color, spots=spots)
        for color, place in layout.items():
            half_turn = place.turn_rad / 2
            self._data.joint(color).qpos[:] = (place.x, place.y, place.z,
                                               np.cos(half_turn), 0, 0, np.sin(half_turn))

    def _uncover(self) -> None:
        self._data.mocap_pos[self._model.body(COVER).mocapid[0]] = COVER_PARKED
