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

"""Robot profiles from YAML files: one small declarative file per robot (config/robots/)."""

from dataclasses import fields
from pathlib import Path

import yaml

from oxygen_ros.config.end_effector import EndEffector
from oxygen_ros.config.errors import ConfigError
from oxygen_ros.config.errors import require_keys
from oxygen_ros.config.joint import Joint
from oxygen_ros.config.joint import Linkage
from oxygen_ros.config.resources import find_share_file
from oxygen_ros.config.resources import share_folders
from oxygen_ros.config.robot import Camera
from oxygen_ros.config.robot import RobotProfile
from oxygen_ros.config.urdf import resolve
from oxygen_ros.config.urdf import with_urdf_limits

# Keys of a profile: at the top, and in the sections that are not dataclasses themselves.
TOP_KEYS = ('name', 'description', 'asset_id', 'cameras', 'joint_states', 'urdf', 'joints',
            'actions', 'end_effector', 'control_rate_hz', 'command', 'start_jump', 'instruction')
SECTION_KEYS = {
    'joint_states': ('topic', 'max_age_s', 'pose_topic'),
    'actions': ('space', 'rate_hz', 'horizon', 'scale', 'offset'),
    'command': ('topic', 'type', 'frame_id', 'gripper_topic', 'gripper_type'),
}


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
    path = find_robot(name_or_path)
    try:
        data = yaml.safe_load(path.read_text(encoding='utf-8'))
        own_urdf = _beside(str((data or {}).get('urdf') or ''), path)
        return robot_from_dict(data, urdf=urdf or own_urdf)
    except yaml.YAMLError as error:
        raise ConfigError(f'robot profile {path} is not valid YAML: {error}') from error
    except ConfigError as error:
        raise ConfigError(f'{path}: {error}') from error
    except (TypeError, AttributeError) as error:
        raise ConfigError(f'{path}: {error}; see config/robots/template.yaml') from error


def find_robot(name_or_path: str) -> Path:
    """Return the file of a profile; raises ConfigError where there is none."""
    path = Path(name_or_path)
    if path.suffix not in ('.yaml', '.yml'):
        if name_or_path not in list_robots():
            raise ConfigError(f'robot {name_or_path!r} is not known; choose one of '
                              f'{", ".join(list_robots())}, or give the path of a .yaml profile')
        path = find_share_file(f'config/robots/{name_or_path}.yaml')
    if not path.is_file():
        raise ConfigError(f'robot profile {path} does not exist; check the path')
    return path


def robot_from_dict(data: dict, *, urdf: str = '') -> RobotProfile:
    """
    Build a profile from the parsed YAML; unknown keys are refused.

    `urdf`: the file to use, '' for none; the key of that name is relative to a file.
    """
    require_keys('profile', data, TOP_KEYS)
    states, actions, command = (_section(data, name) for name in SECTION_KEYS)
    robot = RobotProfile(
        name=str(data.get('name', 'robot')), urdf=str(resolve(urdf)) if urdf else '',
        cameras=tuple(_part(Camera, f'cameras.{slot}', entry, slot=str(slot))
                      for slot, entry in (data.get('cameras') or {}).items()),
        joints=tuple(_joint(str(name), entry or {})
                     for name, entry in (data.get('joints') or {}).items()),
        action_space=actions.get('space', 'joint_position'),
        action_rate_hz=actions.get('rate_hz', 20.0),
        horizon=actions.get('horizon', 0), asset_id=str(data.get('asset_id') or ''),
        action_scale=_numbers('actions.scale', actions.get('scale')),
        action_offset=_numbers('actions.offset', actions.get('offset')),
        end_effector=_end_effector(data.get('end_effector') or {}),
        control_rate_hz=data.get('control_rate_hz', 50.0),
        command_type=command.get('type', 'joint_trajectory'),
        command_topic=command.get('topic', 'command'),
        command_frame=str(command.get('frame_id') or ''),
        gripper_topic=str(command.get('gripper_topic') or ''),
        gripper_type=command.get('gripper_type', 'float64_multi_array'),
        pose_topic=str(states.get('pose_topic') or ''),
        joint_states_topic=states.get('topic', 'joint_states'),
        joints_max_age_s=states.get('max_age_s', 0.2),
        start_jump=data.get('start_jump', 0.2),
        instruction=str(data.get('instruction', '')),
        description=str(data.get('description') or ''))
    return with_urdf_limits(robot, urdf) if urdf else robot


def _section(data: dict, name: str) -> dict:
    section = data.get(name) or {}
    require_keys(name, section, SECTION_KEYS[name])
    return section


def _part(kind: type, where: str, entry: dict, **given):
    """Make a dataclass of a mapping that may hold its fields and no others."""
    require_keys(where, entry, tuple(field.name for field in fields(kind)
                                     if field.name not in given))
    return kind(**entry, **given)


def _joint(name: str, entry: dict) -> Joint:
    entry = _copied(f'joints.{name}', entry)
    if entry.get('state_gains') is not None:
        entry['state_gains'] = _numbers(f'joints.{name}.state_gains', entry['state_gains'])
    if entry.get('linkage') is not None:
        where = f'joints.{name}.linkage'
        linkage = _copied(where, entry['linkage'])
        for key in ('slide', 'state', 'action'):
            linkage[key] = _numbers(f'{where}.{key}', linkage.get(key))
        entry['linkage'] = _part(Linkage, where, linkage)
    return _part(Joint, f'joints.{name}', entry, name=name)


def _end_effector(entry: dict) -> EndEffector:
    entry = _copied('end_effector', entry)
    if entry.get('rotation_near') is not None:
        entry['rotation_near'] = _numbers('end_effector.rotation_near', entry['rotation_near'])
    return _part(EndEffector, 'end_effector', entry)


def _copied(where: str, entry: dict) -> dict:
    if not isinstance(entry, dict):
        raise ConfigError(f'{where} is {entry!r}; it must be a mapping')
    return dict(entry)


def _numbers(where: str, values) -> tuple[float, ...]:
    if values is None:
        return ()
    if not isinstance(values, list):
        raise ConfigError(f'{where} is {values!r}; give a list of numbers')
    for value in values:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise ConfigError(f'{where} has the entry {value!r}; give numbers')
    return tuple(float(value) for value in values)


def _beside(urdf: str, profile: Path) -> str:
    """Return a relative path as one from here: a profile names files beside itself."""
    if not urdf or '://' in urdf or urdf.startswith('~'):
        return urdf
    return str(profile.parent / urdf)
