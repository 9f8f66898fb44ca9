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

"""Limits that a profile leaves out come from the URDF; what is wrong with it is named."""

import pytest

from oxygen_ros.config import ConfigError
from oxygen_ros.config import load_robot

URDF = """<?xml version="1.0"?>
<robot name="bench">
  <joint name="lift" type="prismatic"><limit lower="0.1" upper="0.9" velocity="0.3" effort="1"/>
  </joint>
  <joint name="turn" type="continuous"><limit velocity="2.0" effort="1"/></joint>
  <joint name="arm" type="revolute"><limit lower="-1.5" upper="1.5" velocity="0" effort="0"/>
  </joint>
  <joint name="base" type="fixed"/>
  <transmission name="t"><joint name="arm"><hardwareInterface>x</hardwareInterface></joint>
  </transmission>
</robot>
"""
PROFILE = """
name: bench
cameras: {front: {topic: front/image}}
joints: {%s}
"""


@pytest.fixture
def load(tmp_path):
    """Return a function that loads a profile beside a URDF."""
    def load(joints, *, urdf=URDF, profile_names_it=True, **kwargs):
        (tmp_path / 'arm.urdf').write_text(urdf)
        text = PROFILE % joints + ('urdf: arm.urdf\n' if profile_names_it else '')
        (tmp_path / 'bench.yaml').write_text(text)
        return load_robot(str(tmp_path / 'bench.yaml'), **kwargs)
    return load


def test_what_the_profile_leaves_out_is_filled_and_what_it_gives_wins(load):
    lift, arm = load('lift: {max_velocity: 0.1}, arm: {lower: -1.0, max_velocity: 1.0}').joints
    assert (lift.lower, lift.upper, lift.max_velocity, lift.unit) == (0.1, 0.9, 0.1, 'm')
    assert (arm.lower, arm.upper, arm.max_velocity) == (-1.0, 1.5, 1.0)


def test_limits_that_say_nothing_stay_missing_so_that_it_may_not_move(load):
    robot = load('turn: {}, arm: {}')
    assert robot.missing_limits == ('turn.lower', 'turn.upper', 'arm.max_velocity')


def test_a_joint_that_is_not_in_it_is_named_with_those_that_are(load):
    with pytest.raises(ConfigError, match='joint elbow is not in urdf .*arm.urdf.*lacks its '
                                          'lower, upper, max_velocity.*has: arm, lift, turn'):
        load('elbow: {}')
    with pytest.raises(ConfigError, match='joint base is not in'):      # fixed
        load('base: {}')


def test_a_joint_with_all_limits_need_not_be_in_it(load):
    assert load('elbow: {lower: 0, upper: 1, max_velocity: 1}').missing_limits == ()


def test_the_file_named_by_the_user_is_taken_instead(load, tmp_path):
    (tmp_path / 'mine.urdf').write_text(URDF.replace('0.9', '0.5'))
    assert load('lift: {}', urdf=URDF).joints[0].upper == 0.9
    robot = load_robot(str(tmp_path / 'bench.yaml'), urdf=str(tmp_path / 'mine.urdf'))
    assert robot.joints[0].upper == 0.5
    load('lift: {}', profile_names_it=False)
    robot = load_robot(str(tmp_path / 'bench.yaml'), urdf=str(tmp_path / 'mine.urdf'))
    assert robot.joints[0].upper == 0.5


def test_a_package_address_is_found_in_the_workspace(load, tmp_path, monkeypatch):
    folder = tmp_path / 'ws' / 'share' / 'my_arm'
    folder.mkdir(parents=True)
    (folder / 'arm.urdf').write_text(URDF)
    monkeypatch.setenv('AMENT_PREFIX_PATH', f'/nowhere:{tmp_path}/ws')
    load('lift: {}')
    robot = load_robot(str(tmp_path / 'bench.yaml'), urdf='package://my_arm/arm.urdf')
    assert robot.joints[0].lower == 0.1
    with pytest.raises(ConfigError, match='package://other/arm.urdf is in none of .*setup.bash'):
        load_robot(str(tmp_path / 'bench.yaml'), urdf='package://other/arm.urdf')


@pytest.mark.parametrize('urdf, words', [
    ('<robot', 'is not XML .*xacro'),
    ('<sdf/>', 'begins with <sdf>, not <robot>'),
    ('<robot><link name="a"/></robot>', 'no joint that moves'),
    (URDF.replace('upper="0.9"', 'upper="${max}"'), 'joint lift: upper is .*give a number'),
    (URDF.replace('upper="0.9"', 'upper="inf"'), 'joint lift: upper is inf')])
def test_a_broken_file_is_named(load, urdf, words):
    with pytest.raises(ConfigError, match=words):
        load('lift: {}', urdf=urdf)


def test_a_file_that_is_not_there_is_named(load, tmp_path):
    load('lift: {}')
    (tmp_path / 'arm.urdf').unlink()
    with pytest.raises(ConfigError, match='arm.urdf cannot be read .*urdf_file'):
        load_robot(str(tmp_path / 'bench.yaml'))
