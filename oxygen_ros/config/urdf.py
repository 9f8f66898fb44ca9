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

"""Joint limits from a robot description: URDF fills what a profile leaves out."""

from dataclasses import dataclass
from dataclasses import replace
import math
import os
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from oxygen_ros.config.errors import ConfigError

if TYPE_CHECKING:
    from oxygen_ros.config.robot import Joint
    from oxygen_ros.config.robot import RobotProfile

_MOVING = ('revolute', 'prismatic', 'continuous')
_ATTRIBUTES = {'lower': 'lower', 'upper': 'upper', 'velocity': 'max_velocity'}


@dataclass(frozen=True)
class UrdfJoint:
    """A joint that moves, with the limits that the description gives; rad or m."""

    kind: str                          # revolute, prismatic, continuous
    limits: dict[str, float]           # lower, upper, max_velocity: those that are there


def with_urdf_limits(robot: 'RobotProfile', path: str) -> 'RobotProfile':
    """
    Return the profile with what it leaves out taken from a URDF file.

    A limit of the profile wins: it may be tighter than what the hardware can do. Raises
    ConfigError for a file that is none, and for a joint that needs a limit and is not in it.
    """
    file = resolve(path)
    described = read_urdf(file)
    return replace(robot, joints=tuple(_filled(joint, described, file) for joint in robot.joints))


def resolve(path: str) -> Path:
    """Return the file that a path or a package:// address names."""
    if not path.startswith('package://'):
        return Path(path).expanduser()
    package, _, relative = path.removeprefix('package://').partition('/')
    prefixes = [prefix for prefix in os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep)
                if prefix]
    for prefix in prefixes:
        file = Path(prefix) / 'share' / package / relative
        if file.exists():
            return file
    raise ConfigError(f'urdf {path} is in none of {", ".join(prefixes) or "no prefix at all"}; '
                      f'source the setup.bash of the workspace that has {package}')


def read_urdf(file: Path) -> dict[str, UrdfJoint]:
    """Return every joint that moves, by name."""
    remedy = 'give the URDF of the robot; a .xacro file must be expanded first: xacro FILE'
    try:
        root = ElementTree.parse(file).getroot()
    except OSError as error:
        raise ConfigError(f'urdf {file} cannot be read ({error.strerror}); check the path '
                          f'(urdf_file, or urdf in the robot profile)') from error
    except ElementTree.ParseError as error:
        raise ConfigError(f'urdf {file} is not XML ({error}); {remedy}') from error
    if root.tag != 'robot':
        raise ConfigError(f'urdf {file} begins with <{root.tag}>, not <robot>; {remedy}')
    joints = {}
    for element in root.iter('joint'):
        name, kind = element.get('name'), element.get('type')
        if name and kind in _MOVING:      # joints inside <transmission> have no type
            joints[name] = UrdfJoint(kind, _limits(element, kind, where=f'{file}: joint {name}'))
    if not joints:
        raise ConfigError(f'urdf {file} has no joint that moves; {remedy}')
    return joints


def _limits(element: ElementTree.Element, kind: str, *, where: str) -> dict[str, float]:
    given = element.find('limit')
    limits = {}
    for attribute, name in _ATTRIBUTES.items():
        text = None if given is None else given.get(attribute)
        if text is None:
            continue
        try:
            value = float(text)
        except ValueError:
            raise ConfigError(f'{where}: {attribute} is {text!r}; give a number') from None
        if not math.isfinite(value):
            raise ConfigError(f'{where}: {attribute} is {text}; give a finite number')
        limits[name] = value
    # Exporters write 0 where nobody knew: no joint could move that fast, or in no room at all.
    if limits.get('max_velocity', 1.0) <= 0:
        del limits['max_velocity']
    if kind == 'continuous' or limits.get('lower', 0.0) >= limits.get('upper', 0.0):
        limits.pop('lower', None)
        limits.pop('upper', None)
    return limits


def _filled(joint: 'Joint', described: dict[str, UrdfJoint], file: Path) -> 'Joint':
    if not joint.missing_limits:
        return joint
    found = described.get(joint.name)
    if found is None:
        raise ConfigError(
            f'joint {joint.name} is not in urdf {file}, and the profile lacks its '
            f'{", ".join(joint.missing_limits)}; correct the name or give the limits in the '
            f'profile. The urdf has: {", ".join(sorted(described))}')
    unit = 'm' if found.kind == 'prismatic' and joint.unit == 'rad' else joint.unit
    return replace(joint, unit=unit, **{key: value for key, value in found.limits.items()
                                        if getattr(joint, key) is None})
