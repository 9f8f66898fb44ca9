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

"""Kinematics of an arm from its URDF, through Pinocchio."""

from collections.abc import Sequence
import logging
import time
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

from oxygen_ros.config import ConfigError
from oxygen_ros.config import RobotProfile
from oxygen_ros.spaces.kinematics import Kinematics
from oxygen_ros.spaces.kinematics import Pose

REMEDY = ('install Pinocchio: `pip install "pin>=3,<5"`, or apt install '
          'ros-$ROS_DISTRO-pinocchio')
TOLERANCE_M = 0.005        # a position missed by more is out of reach
TOLERANCE_RAD = 0.1        # a rotation too, if the arm has six joints or more
_MAX_ITERATIONS = 60
_MAX_STEP_RAD = 0.5        # of one iteration
_STILL = 1e-5              # a step this small ends the search, rad or m
_TELL_EVERY_S = 10.0

_logger = logging.getLogger(__name__)


class ArmKinematics(Kinematics):
    """
    Forward kinematics and inverse by damped least squares, warm-started along the sequence.

    Position and rotation are met together as well as `end_effector.rotation_weight` weighs them:
    an arm with five joints cannot meet six numbers. Joints stay inside the limits of the profile.
    """

    def __init__(self, robot: RobotProfile):
        self._pin = _pinocchio()
        joints = [i for i in range(len(robot.joints)) if i not in robot.grippers]
        names = [robot.joint_names[i] for i in joints]
        self._model = _reduced(self._pin, _read(self._pin, robot), names, robot.urdf)
        self._data = self._model.createData()
        self._frame = _tool_frame(self._model, robot)
        # Pinocchio has the joints in an order of its own: the chain's.
        order = [self._model.joints[self._model.getJointId(name)].idx_q for name in names]
        self._joints = [joints[order.index(i)] for i in range(len(order))]
        limits = np.array([robot.joints[i].range for i in self._joints])
        self._lower, self._upper = limits.T
        self._weights = np.array([1.0] * 3 + [robot.end_effector.rotation_weight] * 3)
        self._told_s = -_TELL_EVERY_S
        self.num_unreachable = 0      # poses so far that were out of reach

    def pose(self, state: NDArray) -> Pose:
        """Return the pose of the tool frame in the root frame of the URDF."""
        self._pin.forwardKinematics(self._model, self._data,
                                    np.asarray(state, np.float64)[self._joints])
        placement = self._pin.updateFramePlacement(self._model, self._data, self._frame)
        return Pose(placement.translation.copy(), placement.rotation.copy())

    def solve(self, poses: Sequence[Pose], state: NDArray) -> NDArray[np.float64]:
        """Return joints for every pose; counts and tells what is out of reach."""
        targets = np.tile(np.asarray(state, np.float64), (len(poses), 1))
        positions = np.asarray(state, np.float64)[self._joints]
        worst_m, num_missed = 0.0, 0
        for target, pose in zip(targets, poses):
            positions, error = self._nearest(np.clip(positions, self._lower, self._upper), pose)
            target[self._joints] = positions
            missed_m, missed_rad = np.linalg.norm(error[:3]), np.linalg.norm(error[3:])
            worst_m = max(worst_m, missed_m)
            num_missed += bool(missed_m > TOLERANCE_M or (len(positions) >= 6 and self._weights[3]
                               and missed_rad > TOLERANCE_RAD))
        if num_missed:
            self._tell(num_missed, len(poses), worst_m)
        return targets

    def _nearest(self, positions: NDArray, pose: Pose) -> tuple[NDArray, NDArray]:
        """Return the positions nearest to a pose, and what is missing: [6] m and rad."""
        damping = 1e-6
        error = self._error(positions, pose)
        for _ in range(_MAX_ITERATIONS):
            step = self._step(positions, error, damping)
            moved = np.clip(positions + step, self._lower, self._upper)
            if np.abs(moved - positions).max() < _STILL:
                break
            error_there = self._error(moved, pose)
            if self._cost(error_there) < self._cost(error):
                positions, error, damping = moved, error_there, max(damping / 10, 1e-9)
            elif damping > 1.0:
                break
            else:
                damping *= 10
        return positions, error

    def _error(self, positions: NDArray, pose: Pose) -> NDArray[np.float64]:
        """Return what leads from the tool to the pose, [6] along the axes of the base."""
        pin = self._pin
        pin.computeJointJacobians(self._model, self._data, positions)
        there = pin.updateFramePlacement(self._model, self._data, self._frame)
        return np.concatenate([pose.position - there.translation,
                               pin.log3(pose.rotation @ there.rotation.T)])

    def _cost(self, error: NDArray) -> float:
        weighted = self._weights * error
        return float(weighted @ weighted)

    def _step(self, positions: NDArray, error: NDArray, damping: float) -> NDArray[np.float64]:
        """Return the step of damped least squares from where `_error` was last called."""
        jacobian = self._weights[:, None] * self._pin.getFrameJacobian(
            self._model, self._data, self._frame, self._pin.LOCAL_WORLD_ALIGNED)
        gradient = jacobian.T @ (self._weights * error)
        # A joint that stands at a limit and would go on is left out, or it would waste the step.
        free = ~(((positions <= self._lower) & (gradient < 0))
                 | ((positions >= self._upper) & (gradient > 0)))
        step = np.zeros_like(positions)
        jacobian = jacobian[:, free]
        step[free] = np.linalg.solve(jacobian.T @ jacobian + damping * np.eye(jacobian.shape[1]),
                                     gradient[free])
        return step * min(1.0, _MAX_STEP_RAD / max(np.abs(step).max(), _STILL))

    def _tell(self, num_missed: int, num_poses: int, worst_m: float) -> None:
        self.num_unreachable += num_missed
        now_s = time.monotonic()
        if now_s - self._told_s >= _TELL_EVERY_S:
            self._told_s = now_s
            _logger.warning(
                '%d of %d poses of a chunk are out of reach, by up to %.0f mm: the nearest are '
                'commanded (%d so far)', num_missed, num_poses, worst_m * 1000,
                self.num_unreachable)


def _pinocchio():
    """Import Pinocchio, which only arms with ee_delta need."""
    try:
        import pinocchio
    except ImportError as error:
        raise ConfigError(f'action space ee_delta needs the kinematics of the arm ({error}); '
                          f'{REMEDY}') from error
    return pinocchio


def _read(pin, robot: RobotProfile):
    """Return the model of a URDF; a continuous joint is one without limits, not a circle."""
    root = ElementTree.parse(robot.urdf).getroot()
    for joint in root.iter('joint'):
        if joint.get('type') == 'continuous':
            joint.set('type', 'revolute')
            limit = joint.find('limit')
            if limit is None:
                limit = ElementTree.SubElement(joint, 'limit', effort='0', velocity='0')
            limit.set('lower', '-1e9')
            limit.set('upper', '1e9')
    try:
        return pin.buildModelFromXML(ElementTree.tostring(root, encoding='unicode'))
    except (RuntimeError, ValueError) as error:
        raise ConfigError(f'urdf {robot.urdf} is no robot that Pinocchio can read: '
                          f'{error}') from error


def _reduced(pin, model, names: Sequence[str], urdf: str):
    """Return the model with only the joints of the arm; all others stand still at zero."""
    known = list(model.names)[1:]
    missing = [name for name in names if name not in known]
    if missing:
        raise ConfigError(f'joint {missing[0]} is not in urdf {urdf}; correct the name, or give '
                          f'it role: gripper if it does not move the tool. The urdf has: '
                          f'{", ".join(sorted(known))}')
    others = [model.getJointId(name) for name in known if name not in names]
    return pin.buildReducedModel(model, others, pin.neutral(model))


def _tool_frame(model, robot: RobotProfile) -> int:
    name = robot.end_effector.tool_frame
    if not model.existFrame(name):
        raise ConfigError(f'end_effector.tool_frame {name!r} is not in urdf {robot.urdf}; it has: '
                          f'{", ".join(frame.name for frame in model.frames)}')
    return model.getFrameId(name)
