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

"""`oxygen profile`: shipped profiles are listed and shown, and checked against real topics."""

import json
import subprocess
import sys

import pytest
from ros_helpers import die_with_parent
from ros_helpers import ROBOT_YAML

from oxygen_ros.config import list_robots
from oxygen_ros.ros import profile

# A loaded machine lets even a steady source pause; how old is too old is tested without ROS.
PATIENT_YAML = ROBOT_YAML.replace('max_age_s: 0.5', 'max_age_s: 20')


PROFILES = {
    'fits': PATIENT_YAML,
    'does not fit': PATIENT_YAML.replace('elbow:', 'elbw:').replace('wrist/image', 'wrist/color'),
}


@pytest.fixture(scope='module')
def checked(robot, tmp_path_factory):
    """Check both profiles at once against the robot that publishes here; return name -> end."""
    folder, ends, processes = tmp_path_factory.mktemp('profiles'), {}, {}
    try:
        for name, text in PROFILES.items():
            (folder / f'{name}.yaml').write_text(text, encoding='utf-8')
            processes[name] = subprocess.Popen(
                [sys.executable, '-m', 'oxygen_ros', 'profile', 'check',
                 str(folder / f'{name}.yaml'), '--seconds', '2', '--json',
                 str(folder / f'{name}.json')], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                text=True, preexec_fn=die_with_parent)
        for name, process in processes.items():
            out, err = process.communicate(timeout=90)
            assert not err, err
            ends[name] = process.returncode, out, json.loads(
                (folder / f'{name}.json').read_text(encoding='utf-8'))
        return ends
    finally:
        for process in processes.values():
            process.kill()


def test_a_profile_that_fits(checked):
    code, out, report = checked['fits']
    wrong = [finding for finding in report['findings'] if finding['level'] == 'wrong']
    assert code == 0 and report['fits'] and not wrong
    assert 'The profile bench fits.' in out
    names = {finding['name'] for finding in report['findings']}
    assert {'cameras.front (/front/image)', 'cameras.wrist (/wrist/image)',
            'joint_states (/joint_states)', 'limits', 'actions'} <= names
    assert 'names all 3 joints' in out


def test_a_profile_that_does_not_fit(checked):
    code, out, report = checked['does not fit']
    assert code == 1 and not report['fits']
    assert 'never names elbw' in out
    assert '/wrist/color is not published' in out
    assert '-> correct the topic; of this type there is: /front/image, /wrist/image' in out
    assert 'does not fit yet: 2 to correct' in out


def test_slow_now_is_told_from_wrong():
    assert profile.verdict('bench', 0, 0, load='load 9.0') == '\nThe profile bench fits.'
    assert profile.verdict('bench', 0, 2, load='load 9.0 on 2 cores') == (
        '\nThe profile bench fits. 2 sources came late now and then (load 9.0 on 2 cores); the '
        'robot would fall back meanwhile.')
    assert '1 to correct. 1 source came late' in profile.verdict('bench', 1, 1, load='')


def test_list_names_every_profile_with_what_it_is(capsys):
    assert profile.main(['list']) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list_robots()
    assert all(len(line.split(maxsplit=1)) == 2 for line in lines)


@pytest.mark.parametrize('name', list_robots())
def test_show_says_what_a_profile_holds(name, capsys):
    assert profile.main(['show', name]) == 0
    shown = capsys.readouterr().out
    for part in ('cameras:', 'joints, from ', 'actions: ', 'command: ', f'{name}.yaml'):
        assert part in shown


def test_a_profile_that_cannot_be_read_is_one_line(capsys, tmp_path):
    (tmp_path / 'bad.yaml').write_text(ROBOT_YAML.replace('arm: {', 'arm: {lowr: 1, '))
    assert profile.main(['check', str(tmp_path / 'bad.yaml')]) == 1
    error = capsys.readouterr().err
    assert "joints.arm has unknown key 'lowr'" in error and len(error.splitlines()) == 1
    assert profile.main(['show', 'nothing']) == 1
    assert 'choose one of' in capsys.readouterr().err
