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

"""Robot profile: one small declarative YAML file per robot (config/robots/)."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
import yaml

from oxygen_ros.config.errors import ConfigError
from oxygen_ros.config.errors import require_choice
from oxygen_ros.config.errors import require_keys
from oxygen_ros.config.errors import require_range
from oxygen_ros.config.resources import find_share_file
from oxygen_ros.config.resources import share_folders
from oxygen_ros.config.urdf import with_urdf_limits

ACTION_SPACES = ('joint_position', 'joint_delta')
COMMAND_TYPES = ('joint_trajectory', 'float64_multi_array', 'joint_state')


@dataclass(frozen=True)
class Camera:
    """One camera slot of the model and the topic it is fed from."""

    slot: str                        # name the model knows it by
    topic: str                       # relative image topic
    compressed: bool = False         # subscribe to <topic>/compressed
    reliability: str = 'best_effort'
    max_age_s: float = 0.5           # older pictures are stale
    required: bool = True            # False: the model runs without it when it is not there

    def __post_init__(self):
        """Check every field."""
        require_choice(f'cameras.{self.slot}.reliability', self.reliability,
                       ('best_effort', 'reliable'))
        require_range(f'cameras.{self.slot}.max_age_s', self.max_age_s, 0.01, 60.0, 's')


@dataclass(frozen=True)
class Joint:
    """One joint with the limits that make it safe to move; a missing limit is None."""

    name: str
    lower: float | None = None             # unit
    upper: float | None = None             # unit
    max_velocity: float | None = None      # unit / s
    max_step: float | None = None          # unit per tick; None: max_velocity / rate
    unit: str = 'rad'

    def __post_init__(self):
        """Check every field that is there."""
        for key in ('lower', 'upper'):
            if getattr(self, key) is not None:
                require_range(f'joints.{self.name}.{key}', getattr(self, key), -1e6, 1e6)
        for key in ('max_velocity', 'max_step'):
            if getattr(self, key) is not None:
                require_range(f'joints.{self.name}.{key}', getattr(self, key), 1e-9, 1e6)
        if None not in (self.lower, self.upper) and self.lower >= self.upper:
            raise ConfigError(f'joints.{self.name}: lower {self.lower:g} is not below '
                              f'upper {self.upper:g}')

    @property
    def missing_limits(self) -> tuple[str, ...]:
        """Names of the limits that activation needs and this joint lacks."""
        return tuple(key for key in ('lower', 'upper', 'max_velocity')
                     if getattr(self, key) is None)


@dataclass(frozen=True)
class RobotProfile:
    """What the model needs to know about one robot."""

    name: str
    cameras: tuple[Camera, ...]
    joints: tuple[Joint, ...]              # order of the state and of the actions
    action_space: str = 'joint_position'   # joint_delta: relative to the state of the observation
    action_rate_hz: float = 20.0           # 1/dt between the actions of a chunk
    control_rate_hz: float = 50.0          # ticks and commands per second
    command_type: str = 'joint_trajectory'
    command_topic: str = 'command'
    joint_states_topic: str = 'joint_states'
    joints_max_age_s: float = 0.2
    # Largest distance between the measured state and the first command after activation, unit.
    start_jump: float = 0.2
    action_scale: tuple[float, ...] = ()   # model units -> unit, per joint; () = all 1
    instruction: str = ''                  # used until one arrives

    def __post_init__(self):
        """Check the profile as a whole."""
        if not self.joints:
            raise ConfigError(f'robot {self.name}: joints is empty; list every joint to command')
        if not self.cameras:
            raise ConfigError(f'robot {self.name}: cameras is empty; list at least one camera')
        for kind, names in (('joint', self.joint_names), ('camera', self.camera_slots)):
            twice = sorted({name for name in names if names.count(name) > 1})
            if twice:
                raise ConfigError(f'robot {self.name}: {kind} {twice[0]!r} is listed twice')
        require_choice(f'robot {self.name}: action_space', self.action_space, ACTION_SPACES)
        require_choice(f'robot {self.name}: command.type', self.command_type, COMMAND_TYPES)
        require_range(f'robot {self.name}: action_rate_hz', self.action_rate_hz, 1, 500, 'Hz')
        require_range(f'robot {self.name}: control_rate_hz', self.control_rate_hz, 10, 500, 'Hz')
        require_range(f'robot {self.name}: joints_max_age_s', self.joints_max_age_s, 0.01, 60, 's')
        require_range(f'robot {self.name}: start_jump', self.start_jump, 0, 1e6)
        if self.action_scale and len(self.action_scale) != len(self.joints):
            raise ConfigError(f'robot {self.name}: action_scale has {len(self.action_scale)} '
                              f'entries for {len(self.joints)} joints')

    @cached_property
    def joint_names(self) -> tuple[str, ...]:
        """Joint names in profile order."""
        return tuple(joint.name for joint in self.joints)

    @cached_property
    def camera_slots(self) -> tuple[str, ...]:
        """Camera slots in profile order."""
        return tuple(camera.slot for camera in self.cameras)

    @cached_property
    def scale(self) -> NDArray[np.float64]:
        """Model units to robot units per joint, [num_joints]."""
        return np.asarray(self.action_scale or [1.0] * len(self.joints), np.float64)

    @property
    def missing_limits(self) -> tuple[str, ...]:
        """Limits that activation needs and the profile lacks, as 'joint.limit'."""
        return tuple(f'{joint.name}.{key}' for joint in self.joints
                     for key in joint.missing_limits)


def list_robots() -> list[str]:
    """Return the names of the shipped profiles."""
    names = {path.stem for folder in share_folders()
             for path in (folder / 'config' / 'robots').glob('*.yaml')}
    return sorted(names)


def load_robot(name_or_path: str, *, urdf: str = '') -> RobotProfile:
    """
    Load a profile by shipped name ('so101') or by path of a YAML file.

    Limits that it leaves out come from `urdf`, or from the file behind its own key of that name.
    Raises ConfigError naming the file, the key and the remedy.
    """
    path = Path(name_or_path)
    if path.suffix not in ('.yaml', '.yml'):
        if name_or_path not in list_robots():
            raise ConfigError(f'robot {name_or_path!r} is not known; choose one of '
                              f'{", ".join(list_robots())}, or give the path of a .yaml profile')
        path = find_share_file(f'config/robots/{name_or_path}.yaml')
    if not path.is_file():
        raise ConfigError(f'robot profile {path} does not exist; check the path')
    try:
        data = yaml.safe_load(path.read_text(encoding='utf-8'))
        own_urdf = _beside(str((data or {}).pop('urdf', None) or ''), path)
        urdf = urdf or own_urdf
        robot = robot_from_dict(data)
        return with_urdf_limits(robot, urdf) if urdf else robot
    except yaml.YAMLError as error:
        raise ConfigError(f'robot profile {path} is not valid YAML: {error}') from error
    except ConfigError as error:
        raise ConfigError(f'{path}: {error}') from error
    except (TypeError, AttributeError) as error:
        raise ConfigError(f'{path}: {error}; see config/robots/template.yaml') from error


def robot_from_dict(data: dict) -> RobotProfile:
    """Build a profile from the parsed YAML; unknown keys are refused."""
    require_keys('profile', data, (
        'name', 'description', 'cameras', 'joints', 'joint_states', 'actions', 'control_rate_hz',
        'command', 'start_jump', 'instruction'))
    states, actions = data.get('joint_states') or {}, data.get('actions') or {}
    command = data.get('command') or {}
    require_keys('joint_states', states, ('topic', 'max_age_s'))
    require_keys('actions', actions, ('space', 'rate_hz', 'scale'))
    require_keys('command', command, ('topic', 'type'))
    cameras = []
    for slot, entry in (data.get('cameras') or {}).items():
        require_keys(f'cameras.{slot}', entry,
                     ('topic', 'compressed', 'reliability', 'max_age_s', 'required'))
        cameras.append(Camera(slot=str(slot), **entry))
    joints = []
    for name, entry in (data.get('joints') or {}).items():
        require_keys(f'joints.{name}', entry or {},
                     ('lower', 'upper', 'max_velocity', 'max_step', 'unit'))
        joints.append(Joint(name=str(name), **(entry or {})))
    return RobotProfile(
        name=str(data.get('name', 'robot')), cameras=tuple(cameras), joints=tuple(joints),
        action_space=actions.get('space', 'joint_position'),
        action_rate_hz=actions.get('rate_hz', 20.0),
        action_scale=tuple(float(value) for value in actions.get('scale') or ()),
        control_rate_hz=data.get('control_rate_hz', 50.0),
        command_type=command.get('type', 'joint_trajectory'),
        command_topic=command.get('topic', 'command'),
        joint_states_topic=states.get('topic', 'joint_states'),
        joints_max_age_s=states.get('max_age_s', 0.2),
        start_jump=data.get('start_jump', 0.2),
        instruction=str(data.get('instruction', '')))


def _beside(urdf: str, profile: Path) -> str:
    """Return a relative path as one from here: a profile names files beside itself."""
    if not urdf or '://' in urdf or urdf.startswith('~'):
        return urdf
    return str(profile.parent / urdf)
