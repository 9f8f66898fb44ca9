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

import numpy as np
from numpy.typing import NDArray

from oxygen_ros.config.end_effector import EndEffector
from oxygen_ros.config.errors import ConfigError
from oxygen_ros.config.errors import require_choice
from oxygen_ros.config.errors import require_range
from oxygen_ros.config.joint import Joint

ACTION_SPACES = ('joint_position', 'joint_delta', 'joint_velocity', 'ee_delta')
POSITION_TYPES = ('joint_trajectory', 'float64_multi_array', 'joint_state')
POSE_TYPES = ('pose_stamped', 'twist_stamped')             # for Cartesian controllers
RATE_TYPES = ('velocity_multi_array', 'twist_stamped')     # the robot is told how fast to go
COMMAND_TYPES = (*POSITION_TYPES, 'velocity_multi_array', *POSE_TYPES)
POSE_AXES = ('x', 'y', 'z', 'roll', 'pitch', 'yaw')   # m and rad, in the frame of the base


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
class RobotProfile:
    """What the model needs to know about one robot."""

    name: str
    cameras: tuple[Camera, ...]
    joints: tuple[Joint, ...]              # order of the state and of the actions
    action_space: str = 'joint_position'   # joint_delta: relative to the state of the observation
    action_rate_hz: float = 20.0           # 1/dt between the actions of a chunk
    horizon: int = 0                       # rows of a chunk that are used at most; 0 = all
    asset_id: str = ''                     # whose statistics of a checkpoint; '' = the only ones
    control_rate_hz: float = 50.0          # ticks and commands per second
    command_type: str = 'joint_trajectory'
    command_topic: str = 'command'
    command_frame: str = ''                # frame_id of a pose or twist
    gripper_topic: str = ''                # grippers apart from the arm; '' = in one message
    gripper_type: str = 'float64_multi_array'
    joint_states_topic: str = 'joint_states'
    pose_topic: str = ''                   # PoseStamped with the pose axes; '' = in joint_states
    joints_max_age_s: float = 0.2
    # Largest distance between the measured state and the first command after activation, unit.
    start_jump: float = 0.2
    # Columns of the model's actions to robot units: scale * column + offset.
    action_scale: tuple[float, ...] = ()   # () = all 1
    action_offset: tuple[float, ...] = ()  # () = all 0
    instruction: str = ''                  # used until one arrives
    description: str = ''                  # one line for people
    urdf: str = ''                         # file with the robot description, '' = none
    end_effector: EndEffector = EndEffector()   # ee_delta only

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
        require_range(f'robot {self.name}: actions.horizon', self.horizon, 0, 1000)
        require_range(f'robot {self.name}: control_rate_hz', self.control_rate_hz, 10, 500, 'Hz')
        require_range(f'robot {self.name}: joints_max_age_s', self.joints_max_age_s, 0.01, 60, 's')
        require_range(f'robot {self.name}: start_jump', self.start_jump, 0, 1e6)
        self._check_command()
        self._check_actions()

    def _check_command(self) -> None:
        """Check that the command has a place for every joint."""
        require_choice(f'robot {self.name}: command.gripper_type', self.gripper_type,
                       POSITION_TYPES)
        needs_pose = [what for what, is_used in (
            (f'command.type {self.command_type}', self.command_type in POSE_TYPES),
            ('joint_states.pose_topic', bool(self.pose_topic))) if is_used]
        if needs_pose and not self.pose_axes:
            raise ConfigError(f'robot {self.name}: {needs_pose[0]} is for robots that are told '
                              f'poses; list the axes {" ".join(POSE_AXES)} under joints')
        if self.command_type in POSE_TYPES:
            others = [joint.name for i, joint in enumerate(self.joints)
                      if i not in self.pose_axes and i not in self.grippers]
            if others:
                raise ConfigError(f'robot {self.name}: command.type {self.command_type} has no '
                                  f'place for joint {others[0]}; only the axes of the pose and '
                                  f'joints with role: gripper can be listed')
        if self.command_type not in POSITION_TYPES and self.grippers and not self.gripper_topic:
            raise ConfigError(f'robot {self.name}: command.type {self.command_type} has no place '
                              f'for the gripper; give command.gripper_topic')
        if self.gripper_topic and not self.grippers:
            raise ConfigError(f'robot {self.name}: command.gripper_topic is '
                              f'{self.gripper_topic!r}, but no joint has role: gripper')

    def _check_actions(self) -> None:
        """Check what the action space needs."""
        for key in ('action_scale', 'action_offset'):
            entries = getattr(self, key)
            if entries and len(entries) != self.num_columns:
                what = (f'{len(self.joints)} joints' if self.num_columns == len(self.joints)
                        else f'{self.num_columns} columns')
                raise ConfigError(f'robot {self.name}: {key} has {len(entries)} entries for '
                                  f'{what}')
            for value in entries:
                require_range(f'robot {self.name}: {key}', value, -1e6, 1e6)
        if self.action_space == 'ee_delta' and not self.pose_axes:
            if not (self.urdf and self.end_effector.tool_frame):
                raise ConfigError(
                    f'robot {self.name}: action space ee_delta needs the pose of the tool; give '
                    f'urdf and end_effector.tool_frame, or list the axes '
                    f'{" ".join(POSE_AXES)} under joints if the robot takes poses')

    @cached_property
    def joint_names(self) -> tuple[str, ...]:
        """Joint names in profile order."""
        return tuple(joint.name for joint in self.joints)

    @cached_property
    def camera_slots(self) -> tuple[str, ...]:
        """Camera slots in profile order."""
        return tuple(camera.slot for camera in self.cameras)

    @cached_property
    def grippers(self) -> tuple[int, ...]:
        """Indices of the joints whose role is gripper."""
        return tuple(i for i, joint in enumerate(self.joints) if joint.role == 'gripper')

    @cached_property
    def pose_axes(self) -> tuple[int, ...]:
        """Indices of x y z roll pitch yaw where the joints are those of a pose, else ()."""
        if not set(POSE_AXES) <= set(self.joint_names):
            return ()
        return tuple(self.joint_names.index(axis) for axis in POSE_AXES)

    @cached_property
    def turning(self) -> dict[str, float]:
        """Axes measured modulo one turn, with the middle of their limits, rad."""
        return {POSE_AXES[i]: sum(self.joints[axis].range) / 2
                for i, axis in enumerate(self.pose_axes) if i >= 3}

    @property
    def reads_joint_states(self) -> bool:
        """Whether joint states are needed: not if the pose is all there is to know."""
        return not self.pose_topic or len(self.joints) > len(POSE_AXES)

    @property
    def is_told_rates(self) -> bool:
        """Whether the command says how fast to go instead of where to; never for grippers."""
        return self.command_type in RATE_TYPES

    @property
    def num_columns(self) -> int:
        """Columns of the model's actions that this robot uses."""
        if self.action_space == 'ee_delta':
            return len(POSE_AXES) + len(self.grippers)
        return len(self.joints)

    @cached_property
    def scale(self) -> NDArray[np.float64]:
        """Model units to robot units per column of the actions, [num_columns]."""
        return np.asarray(self.action_scale or [1.0] * self.num_columns, np.float64)

    @cached_property
    def offset(self) -> NDArray[np.float64]:
        """Robot units at 0 of the model, per column of the actions, [num_columns]."""
        return np.asarray(self.action_offset or [0.0] * self.num_columns, np.float64)

    @property
    def missing_limits(self) -> tuple[str, ...]:
        """Limits that activation needs and the profile lacks, as 'joint.limit'."""
        return tuple(f'{joint.name}.{key}' for joint in self.joints
                     for key in joint.missing_limits)
