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

"""`oxygen profile`: list, show and check robot profiles."""

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
import sys
import textwrap

from oxygen_ros.config import ConfigError
from oxygen_ros.config import list_robots
from oxygen_ros.config import load_robot
from oxygen_ros.config import RobotProfile
from oxygen_ros.config.robot_file import find_robot
from oxygen_ros.figures import machine_load
from oxygen_ros.figures import write_figures
from oxygen_ros.ros import command
from oxygen_ros.ros.command import parse_before_ros
from oxygen_ros.sensing.findings import Finding
from oxygen_ros.sensing.findings import OK
from oxygen_ros.sensing.findings import SLOW
from oxygen_ros.sensing.findings import WRONG
from oxygen_ros.spaces import action_space

complain = partial(command.complain, 'profile', code=command.EXIT_FAILED)

EXIT_FITS, EXIT_FAILED = 0, 1
WIDTH = 99
LEVEL_WIDTH = 6


def main(argv: Sequence[str] | None = None) -> int:
    """Run one of the verbs; return its exit code."""
    options, ros_arguments = parse(sys.argv[1:] if argv is None else argv)
    try:
        if options.verb == 'list':
            return list_profiles()
        robot = load_robot(options.profile, urdf=options.urdf)
        if options.verb == 'show':
            print(describe(robot, options.profile))
            return EXIT_FITS
        return check(robot, options, ros_arguments)
    except ConfigError as error:
        return complain(str(error))


def parse(argv: Sequence[str]) -> tuple[argparse.Namespace, list[str]]:
    """Return our options and the arguments for ROS."""
    parser = argparse.ArgumentParser(
        prog='oxygen profile', description='List, show and check robot profiles.',
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog='examples:\n  oxygen profile list\n  oxygen profile check my_robot.yaml\n'
               '  oxygen profile check so101 --bag recordings/monday --json check.json')
    verbs = parser.add_subparsers(dest='verb', required=True, metavar='list | show | check')
    verbs.add_parser('list', help='name the shipped profiles')
    show = verbs.add_parser('show', help='print what a profile says, defaults included')
    examine = verbs.add_parser(
        'check', help='compare a profile with live topics or a recording',
        epilog='exit code: 0 when the profile fits, 1 when something is wrong; what is slow now '
               'and then is told and does not count')
    for verb in (show, examine):
        verb.add_argument('profile', help='name of a shipped profile, or path of a .yaml file')
        verb.add_argument('--urdf', default='', help='URDF that wins over that of the profile')
    examine.add_argument('--bag', default='', metavar='PATH',
                         help='check against this recording instead of live topics')
    examine.add_argument('--namespace', default='', help='of the topics')
    examine.add_argument('--seconds', type=float, default=5.0,
                         help='how long to listen to live topics (default: 5)')
    examine.add_argument('--json', metavar='FILE', default='', help='write the findings to FILE')
    return parse_before_ros(parser, argv)


def list_profiles() -> int:
    """Print name and description of every shipped profile."""
    names = list_robots()
    width = max(map(len, names))
    for name in names:
        print(f'{name:<{width}}  {load_robot(name).description}')
    return EXIT_FITS


def describe(robot: RobotProfile, name: str) -> str:
    """Return what a profile says in lines, defaults included."""
    lines = [f'{robot.name}: {robot.description or "no description"}, {find_robot(name)}',
             'cameras:']
    lines += [f'  {camera.slot}: {camera.topic}{"/compressed" if camera.compressed else ""}, '
              f'stale after {camera.max_age_s:g} s{"" if camera.required else ", optional"}'
              for camera in robot.cameras]
    source = f'{robot.joint_states_topic}' if robot.reads_joint_states else ''
    sources = ' and '.join(topic for topic in (robot.pose_topic, source) if topic)
    lines.append(f'joints, from {sources}, stale after {robot.joints_max_age_s:g} s:')
    for joint in robot.joints:
        missing = ', '.join(joint.missing_limits)
        limits = f'MISSING {missing}' if missing else \
            f'{joint.lower:g} to {joint.upper:g} {joint.unit}, {joint.max_velocity:g} ' \
            f'{joint.unit}/s'
        extras = [extra for extra, is_there in (
            ('gripper', joint.role == 'gripper'), ('flipped', joint.flip),
            ('by linkage', joint.linkage is not None)) if is_there]
        lines.append(f'  {joint.name}: {", ".join([limits, *extras])}')
    space = robot.action_space
    if space == 'ee_delta':
        start = {'observation': 'from the observed pose', 'previous': 'each from the one before'}
        space += (f', {start[robot.end_effector.relative_to]}, along the axes of the '
                  f'{robot.end_effector.frame}')
    rows = f', first {robot.horizon} rows of a chunk' if robot.horizon else ''
    lines.append(f'actions: {space}, {robot.action_rate_hz:g} rows per second{rows}, '
                 f'{robot.num_columns} columns')
    gripper = f', grippers: {robot.gripper_topic} ({robot.gripper_type})' \
        if robot.gripper_topic else ''
    lines.append(f'command: {robot.command_topic} ({robot.command_type}), '
                 f'{robot.control_rate_hz:g} per second{gripper}')
    return '\n'.join(lines)


def check(robot: RobotProfile, options: argparse.Namespace, ros_arguments: list[str]) -> int:
    """Compare a profile with what its topics carry, print the findings, return the exit code."""
    try:
        if options.bag:
            from oxygen_ros.ros.profile_bag import findings_of_bag
            found = findings_of_bag(robot, options.bag, namespace=options.namespace)
        else:
            from oxygen_ros.ros.profile_topics import findings_of_topics
            found = findings_of_topics(robot, seconds=options.seconds,
                                       namespace=options.namespace, ros_arguments=ros_arguments)
    except RuntimeError as error:      # ROS does not start, or the recording cannot be read
        return complain(str(error))
    found.append(space_finding(robot))
    for finding in found:
        print(render(finding))
    num_wrong = sum(finding.level == WRONG for finding in found)
    num_slow = len({finding.name for finding in found if finding.level == SLOW})
    print(verdict(robot.name, num_wrong, num_slow, load='' if options.bag else machine_load()))
    if options.json:
        failure = write_figures(options.json, {
            'robot': robot.name, 'source': options.bag or 'live topics', 'fits': not num_wrong,
            'wrong': num_wrong, 'slow': num_slow,
            'findings': [asdict(finding) for finding in found]})
        if failure:
            return complain(failure)
    return EXIT_FAILED if num_wrong else EXIT_FITS


def verdict(name: str, num_wrong: int, num_slow: int, *, load: str) -> str:
    """Return the last line; what was slow for a moment says nothing against the profile."""
    text = f'does not fit yet: {num_wrong} to correct.' if num_wrong else 'fits.'
    if num_slow:
        sources = f'{num_slow} {"source" if num_slow == 1 else "sources"}'
        text += (f' {sources} came late now and then{f" ({load})" if load else ""}; the robot '
                 f'would fall back meanwhile.')
    return f'\nThe profile {name} {text}'


def space_finding(robot: RobotProfile) -> Finding:
    """Say whether the action space can be computed, which end-effector deltas may need IK for."""
    try:
        space = action_space(robot)
    except ConfigError as error:
        return Finding('actions', WRONG, str(error))
    return Finding('actions', OK, f'{robot.action_space}: a model for this robot has '
                   f'{space.state_size} numbers of state and {space.action_size} of action')


def render(finding: Finding) -> str:
    """Return a finding as lines: where, level, text, remedy."""
    indent = ' ' * (2 + LEVEL_WIDTH)
    lines = textwrap.wrap(f'{finding.name}: {finding.text}', WIDTH - len(indent),
                          break_long_words=False)
    if finding.remedy:
        lines += textwrap.wrap(f'-> {finding.remedy}', WIDTH - len(indent),
                               break_long_words=False)
    return f'{finding.level:<{LEVEL_WIDTH}}  ' + f'\n{indent}'.join(lines)


if __name__ == '__main__':
    sys.exit(main())
