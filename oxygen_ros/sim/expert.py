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
The teacher: does the tasks by looking at the simulator's truth.

What it does depends on joints, cubes and task of the moment only, so that it recovers from any
miss, and a student that sees the same moment can learn all of it.
"""

from dataclasses import dataclass

import mujoco
import numpy as np
from numpy.typing import NDArray

from oxygen_ros.sim.scene import GRASP_SITE
from oxygen_ros.sim.scene import TRAY_CENTER
from oxygen_ros.sim.table_top import TableTop

DECISION_S = 0.05            # between decisions: the action rate of the profile
LEAD_M = 0.014               # how far ahead of the grasp point a command is; sets the speed
SLOW_LEAD_M = 0.009          # close to a cube
GRIPPER_LEAD_RAD = 0.14
OPEN, CLOSED = 1.0, -0.12    # gripper commands, rad
REST = np.array([0.18, 0.0, 0.14])   # m, where the grasp point goes when all is done

_TRAVEL_HEIGHT_M, _GRASP_HEIGHT_M, _CARRY_HEIGHT_M, _RELEASE_HEIGHT_M = 0.085, 0.02, 0.11, 0.05
_HOLD_HEIGHT_M = 0.13
_HELD_GRIPPER = (0.05, 0.47)         # rad, gripper joint around a cube
_NEAR_M = 0.022                      # cube centre to grasp point when between the fingers
_IK_STEPS, _IK_DAMPING, _MAX_IK_STEP_RAD = 4, 2e-5, 0.3
_CLOSE_ENOUGH_M, _START_TOLERANCE_M = 4e-4, 0.01
_TILT_WEIGHT_M, _YAW_WEIGHT_M = 0.1, 0.05    # of a radian against a metre


@dataclass(frozen=True)
class Decision:
    """What to do now."""

    target: NDArray[np.float64]   # [num_joints] rad, for the servos one decision later
    phase: str                    # 'reach' | 'lower' | 'close' | 'lift' | 'hold' | 'carry' |
    #                               'set down' | 'release' | 'done'


@dataclass(frozen=True)
class Goal:
    """Where the grasp point shall go."""

    point: NDArray[np.float64]    # [3] m
    gripper: float                # rad
    phase: str
    lead_m: float = LEAD_M


class Expert:
    """Decides for one table; one thread."""

    def __init__(self, table: TableTop):
        self._table = table
        self._arm = Kinematics(table.model)

    def decide(self) -> Decision:
        """Return what to do in this moment."""
        joints, task = self._table.joint_positions, self._table.task
        grasp, gripper = self._arm.grasp_point(joints), joints[-1]
        cube = self._table.cube_position(task.color)
        if self.holds(task.color):
            goal = self._pick(grasp) if task.verb == 'pick' else self._put(grasp)
        elif task.verb == 'put' and self._table.in_tray(task.color):
            clear = grasp[2] > 0.09 or np.hypot(*(grasp[:2] - TRAY_CENTER)) > 0.08
            goal = Goal(REST if clear else np.array([*grasp[:2], 0.12]), OPEN, 'done')
        else:
            goal = self._grasp(grasp, cube, gripper)
        away = goal.point - grasp
        share = min(1.0, goal.lead_m / max(float(np.linalg.norm(away)), 1e-9))
        target = self._arm.solve(grasp + away * share, joints)
        target[-1] = np.clip(goal.gripper, gripper - GRIPPER_LEAD_RAD, gripper + GRIPPER_LEAD_RAD)
        return Decision(target, goal.phase)

    def holds(self, color: str) -> bool:
        """Return whether a cube is between fingers that are closed around it."""
        joints = self._table.joint_positions
        away = self._table.cube_position(color) - self._arm.grasp_point(joints)
        low, high = _HELD_GRIPPER
        return bool(np.linalg.norm(away) < _NEAR_M and low < joints[-1] < high)

    def start_pose(self, grasp: NDArray, gripper: float) -> NDArray[np.float64] | None:
        """Return joints [num_joints] rad that bring the grasp point to a place, or None."""
        turn = -np.arctan2(grasp[1], grasp[0] - self._arm.base_x)
        start = np.array([turn, 0, 0, 1.2, turn - 1.57, gripper])
        pose = self._arm.solve(grasp, start, num_steps=60)
        away = np.linalg.norm(self._arm.grasp_point(pose) - grasp)
        return pose if away < _START_TOLERANCE_M else None

    def _pick(self, grasp: NDArray) -> Goal:
        up = np.array([*grasp[:2], _HOLD_HEIGHT_M])
        return Goal(up, CLOSED, 'hold' if grasp[2] > 0.105 else 'lift')

    def _put(self, grasp: NDArray) -> Goal:
        from_tray = np.abs(grasp[:2] - TRAY_CENTER).max()
        if from_tray < 0.028 and grasp[2] < 0.062:
            return Goal(grasp, OPEN, 'release')
        if from_tray < 0.028:
            return Goal(np.array([*TRAY_CENTER, _RELEASE_HEIGHT_M]), CLOSED, 'set down')
        if grasp[2] < 0.075 and from_tray > 0.045:
            return Goal(np.array([*grasp[:2], _CARRY_HEIGHT_M]), CLOSED, 'lift')
        return Goal(np.array([*TRAY_CENTER, _CARRY_HEIGHT_M]), CLOSED, 'carry')

    def _grasp(self, grasp: NDArray, cube: NDArray, gripper: float) -> Goal:
        aside = float(np.hypot(*(grasp[:2] - cube[:2])))
        # A funnel: the lower the hand, the closer to the cube's axis it has to be.
        allowed = 0.01
        if grasp[2] < _TRAVEL_HEIGHT_M:
            allowed = max(0.011, 0.008 + 0.1 * np.clip(grasp[2] - 0.03, 0, 0.05))
        if aside > allowed:
            over = grasp if grasp[2] < 0.055 and aside > 0.02 else cube   # first up, then aside
            return Goal(np.array([*over[:2], _TRAVEL_HEIGHT_M]), OPEN, 'reach')
        at = np.array([*cube[:2], _GRASP_HEIGHT_M])
        if grasp[2] > _GRASP_HEIGHT_M + 0.008:
            # The fingers must be open before they come down around the cube.
            return Goal(at, OPEN, 'lower', 0.016 if gripper > 0.6 else 0.006)
        return Goal(at, CLOSED, 'close', SLOW_LEAD_M)


class Kinematics:
    """Joint angles to the grasp point and back, on a copy of the arm."""

    def __init__(self, model: mujoco.MjModel):
        self._model, self._data = model, mujoco.MjData(model)
        self._grasp = model.site(GRASP_SITE).id
        self._frame = model.site('gripperframe').id   # its x axis is the direction of approach
        self._num_joints = model.nu
        self._low, self._high = model.actuator_ctrlrange.T
        mujoco.mj_kinematics(model, self._data)
        self.base_x = float(self._data.joint('shoulder_pan').xanchor[0])   # m

    def grasp_point(self, joints: NDArray) -> NDArray[np.float64]:
        """Return the point between the fingertips, [3] m."""
        self._data.qpos[:self._num_joints] = joints
        mujoco.mj_kinematics(self._model, self._data)
        return self._data.site_xpos[self._grasp].copy()

    def solve(self, point: NDArray, start: NDArray, *,
              num_steps: int = _IK_STEPS) -> NDArray[np.float64]:
        """
        Return joint angles that bring the grasp point to a place, from a start nearby.

        The hand points down near the table and tilts outwards with height, because the wrist
        cannot bend enough to point down from far above; the fingers open sideways.
        """
        joints, arm = start.copy(), self._num_joints - 1
        move = np.zeros((3, self._model.nv))
        turn = np.zeros((3, self._model.nv))
        for _ in range(num_steps):
            error = self._error(point, joints)
            if np.abs(error).max() < _CLOSE_ENOUGH_M:
                break
            mujoco.mj_comPos(self._model, self._data)
            mujoco.mj_jacSite(self._model, self._data, move, turn, self._grasp)
            jacobian = np.vstack([move[:, :arm], _TILT_WEIGHT_M * turn[:2, :arm],
                                  _YAW_WEIGHT_M * turn[2:, :arm]])
            damped = jacobian @ jacobian.T + _IK_DAMPING * np.eye(len(error))
            step = jacobian.T @ np.linalg.solve(damped, error)
            joints[:arm] += np.clip(step, -_MAX_IK_STEP_RAD, _MAX_IK_STEP_RAD)
            joints[:arm] = np.clip(joints[:arm], self._low[:arm], self._high[:arm])
        return joints

    def _error(self, point: NDArray, joints: NDArray) -> NDArray[np.float64]:
        """Return [6]: place in m, tilt and yaw in weighted rad."""
        here = self.grasp_point(joints)
        axes = self._data.site_xmat[self._frame].reshape(3, 3)
        tilt = 0.85 * np.clip((point[2] - 0.045) / 0.10, 0, 1.1)
        outwards = np.array([point[0] - self.base_x, point[1], 0])
        outwards /= np.linalg.norm(outwards)
        approach = np.sin(tilt) * outwards - np.cos(tilt) * np.array([0, 0, 1])
        (a, b, c), (d, e, f) = axes[:, 0], approach
        away = np.array([b * f - c * e, c * d - a * f, a * e - b * d])   # np.cross takes longer
        length = np.linalg.norm(away)
        if length > 1e-9:
            away *= np.arctan2(length, axes[:, 0] @ approach) / length
        yaw = np.arctan2(axes[0, 2], axes[1, 2])   # of the fingers' line, from the y axis
        yaw -= np.pi * np.round(yaw / np.pi)
        return np.concatenate([point - here, _TILT_WEIGHT_M * away[:2], [_YAW_WEIGHT_M * yaw]])
