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

"""`oxygen doctor` and the command line tell a user what is wrong and what to do about it."""

import json
import os
import signal
import subprocess
import sys

import pytest
from ros_domain import draw_domain

from oxygen_ros import cli
from oxygen_ros.tools import doctor_checks as checks
from oxygen_ros.tools.doctor import conclusion
from oxygen_ros.tools.doctor import render

ENVIRONMENT = {**os.environ, 'ROS_DOMAIN_ID': str(draw_domain()),
               'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST', 'OMP_NUM_THREADS': '1'}


def oxygen(*arguments, preexec=None, **environment):
    """Run a command in a process of its own."""
    return subprocess.run([sys.executable, '-m', 'oxygen_ros', *arguments], text=True,
                          capture_output=True, timeout=100, preexec_fn=preexec,
                          env={**ENVIRONMENT, **environment})


def without(module: str, tmp_path) -> dict[str, str]:
    """Return an environment where importing a module fails as if it were not installed."""
    (tmp_path / 'sitecustomize.py').write_text(
        'import sys\n'
        'class Absent:\n'
        '    def find_spec(self, name, path=None, target=None):\n'
        f'        if name.split(".")[0] == {module!r}:\n'
        '            raise ModuleNotFoundError(f"No module named {name!r}", name=name)\n'
        'sys.meta_path.insert(0, Absent())\n')
    return {'PYTHONPATH': os.pathsep.join(filter(None, (str(tmp_path),
                                                        os.environ.get('PYTHONPATH'))))}


def test_this_machine_can_run_the_node(tmp_path):
    done = oxygen('doctor', '--json', str(tmp_path / 'machine.json'))
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads((tmp_path / 'machine.json').read_text())
    assert report['can_run']
    found = {finding['name']: finding for finding in report['findings']}
    assert found['ros']['figures']['rmw'].startswith('rmw_')
    assert found['messages']['level'] == 'ok'
    assert found['real-time']['figures']['lateness_p99_ms'] >= 0
    assert 'The node can run here.' in done.stdout


def test_a_middleware_that_is_not_there_is_named_with_its_remedy(monkeypatch):
    monkeypatch.setenv('RMW_IMPLEMENTATION', 'rmw_of_nobody_cpp')
    finding = checks.check_ros()
    assert finding.level == checks.MISSING
    assert 'unset RMW_IMPLEMENTATION' in finding.remedy


def test_without_torch_the_node_cannot_run_and_the_exit_code_says_so(tmp_path):
    done = oxygen('doctor', **without('torch', tmp_path))
    assert done.returncode == 1
    assert "pip install '.[torch]'" in done.stdout
    assert 'cannot run here until this is fixed: model.' in done.stdout
    assert 'Traceback' not in done.stdout + done.stderr


def test_one_cpu_is_reported_as_shared():
    def pin():
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

    done = subprocess.run(
        [sys.executable, '-c', 'from oxygen_ros.tools.doctor_checks import check_cpus as c\n'
         'f = c(); print(f.level, f.figures["usable"])'],
        capture_output=True, text=True, timeout=60, preexec_fn=pin)
    assert done.stdout.split() == ['slow', '1']


@pytest.mark.parametrize(('value', 'level'), [
    ('7', checks.OK), ('', checks.OK), ('150', checks.HINT), ('999', checks.MISSING),
    ('kitchen', checks.MISSING), ('-1', checks.MISSING)])
def test_domain(monkeypatch, value, level):
    monkeypatch.setenv('ROS_DOMAIN_ID', value)
    monkeypatch.setenv('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
    finding = checks.check_domain()
    assert finding.level == level
    assert bool(finding.remedy) == (level != checks.OK)


def test_shared_memory_that_is_not_there_is_slow_not_fatal(tmp_path):
    finding = checks.check_shared_memory(str(tmp_path / 'nothing'))
    assert (finding.level, bool(finding.remedy)) == (checks.SLOW, True)


def test_large_pictures_get_a_transport_hint_until_it_is_set(monkeypatch):
    monkeypatch.delenv('FASTDDS_BUILTIN_TRANSPORTS', raising=False)
    assert 'LARGE_DATA' in checks.check_transport().remedy
    monkeypatch.setenv('FASTDDS_BUILTIN_TRANSPORTS', 'LARGE_DATA')
    assert checks.check_transport().level == checks.OK


def test_a_child_that_crashes_or_hangs_is_a_finding_not_a_failure():
    assert checks.run_child('import os; os.abort()')[0] is None
    assert 'no answer' in checks.run_child('import time; time.sleep(30)', limit_s=0.5)[1]


def test_kinematics_are_only_a_hint_where_they_are_missing(monkeypatch):
    assert checks.check_kinematics().level == checks.OK
    monkeypatch.setattr(checks, 'find_spec', lambda name: None)
    finding = checks.check_kinematics()
    assert finding.level == checks.HINT
    assert 'pip install "pin' in finding.remedy


def test_slow_alone_does_not_stop_the_node():
    finding = checks.Finding('cpus', checks.SLOW, 'one', 'two')
    assert 'can run here' in conclusion([finding])
    assert '-> two' in render(finding)


@pytest.fixture
def signals_kept():
    """Give signals back to pytest; some commands take them first of all."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in handlers.items():
        signal.signal(number, handler)


@pytest.mark.parametrize('command', cli.COMMANDS)
def test_every_command_has_help_with_an_example(command, signals_kept, capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main([command, '--help'])
    assert ended.value.code == 0
    shown = capsys.readouterr().out
    assert f'oxygen {command}' in shown.split('example')[-1]
    assert '--json' in shown


def test_an_unknown_command_names_the_known_ones():
    done = oxygen('fly')
    assert done.returncode == 2
    assert "'fly' is no command" in done.stderr
    assert 'doctor' in done.stderr


@pytest.mark.parametrize(('module', 'command'), [
    ('rclpy', 'node'), ('mujoco', 'sim'), ('torch', 'bench')])
def test_a_missing_package_is_one_line_with_a_remedy(module, command, tmp_path):
    done = oxygen(command, **without(module, tmp_path))
    assert done.returncode == 1
    assert done.stderr.startswith(f'oxygen {command}: {module} is not installed; ')
    assert len(done.stderr.splitlines()) == 1


def test_the_installed_commands_are_the_same_program():
    done = subprocess.run([sys.executable, '-c', 'from oxygen_ros.cli import node_main; '
                           'import sys; sys.argv = ["oxygen_node", "--help"]; '
                           'sys.exit(node_main())'],
                          capture_output=True, text=True, timeout=60, env=ENVIRONMENT)
    assert done.returncode == 0
    assert 'oxygen node' in done.stdout
