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

"""`oxygen eval` as its user meets it: files, page, words for what is wrong, comparison for CI."""

from base64 import b64encode
import csv
from dataclasses import replace
import json
import re

from bag_helpers import S
from bag_helpers import scene
from bag_helpers import storage_file
from bag_helpers import write_bag
from bag_helpers import write_profile
import numpy as np
import pytest

from oxygen_ros.evaluation.compare import compare
from oxygen_ros.evaluation.compare import load_report
from oxygen_ros.evaluation.compare import Tolerances
from oxygen_ros.evaluation.report import unpacked
from oxygen_ros.evaluation.words import number
from oxygen_ros.tools.eval import main
from oxygen_ros.tools.eval import ProgressBar
from oxygen_ros.tools.eval import summary


@pytest.fixture(scope='module')
def bench(tmp_path_factory):
    """Return a folder with a bag and the profile of its robot."""
    folder = tmp_path_factory.mktemp('bench')
    write_profile(folder)
    write_bag(folder / 'waving', scene())
    return folder


@pytest.fixture(scope='module')
def evaluated(bench):
    """Return the folder of a report."""
    assert main([str(bench / 'waving'), '--robot', str(bench / 'bench.yaml'), '--quiet',
                 '--output', str(bench / 'report')]) == 0
    return bench / 'report'


def changed(evaluated, path, change):
    """Write a changed copy of the report; returns its path."""
    report = load_report(evaluated / 'report.json')
    change(report)
    path.write_text(json.dumps(report))
    return str(path)


def move_action(report, *, by, chunk=0):
    """Move one action of a report."""
    actions = unpacked(report['chunks']['actions'][chunk], report['chunks']['shape']).copy()
    actions[1, 0] += by
    report['chunks']['actions'][chunk] = b64encode(actions.astype('<f4').tobytes()).decode()


def test_every_tick_is_a_line_with_what_was_told_recorded_and_measured(evaluated):
    with (evaluated / 'ticks.csv').open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == json.loads((evaluated / 'report.json').read_text())['deadline']['ticks']
    acted = [row for row in rows if row['verdict'] == 'fresh']
    assert acted and all(row['command_arm'] and row['measured_elbow'] for row in acted[:-1])
    for row in acted[1:-1]:
        at_s = float(row['time_s'])
        assert float(row['measured_arm']) == pytest.approx(
            np.sin(2 * np.pi * at_s / 1.5), abs=0.05)


def test_the_page_needs_nothing_else_and_shows_pictures_plots_and_words(evaluated):
    page = (evaluated / 'report.html').read_text()
    assert not re.search(r'(src|href)="(?!data:)', page) and '<script' not in page
    assert page.count('data:image/jpeg;base64,') >= 2
    drawings = re.findall(r'<svg.*?</svg>', page, re.DOTALL)
    assert len(drawings) >= 4 and not any('nan' in drawing for drawing in drawings)
    report = load_report(evaluated / 'report.json')
    word = next(text['text'].split()[0] for text in report['texts'] if text['text'].strip())
    assert word in page and 'weights are random' in page


def test_names_from_the_recording_cannot_break_the_page(bench, tmp_path):
    bag = tmp_path / '<b>bag'
    write_bag(bag, scene(seconds=0.5))
    assert main([str(bag), '--robot', str(bench / 'bench.yaml'), '--tasks', 'none', '--output',
                 str(tmp_path / 'out'), '--instruction', '<script>alert(1)</script>']) == 0
    page = (tmp_path / 'out' / 'report.html').read_text()
    assert '<script' not in page and '&lt;b&gt;bag' in page


def test_the_verdict_over_standing_still_stands_where_it_is_seen_first(evaluated):
    report = load_report(evaluated / 'report.json')
    actions = report['actions']
    better = sum(joint['mae'] < joint['mae_standing_still']
                 for joint in actions['joints'].values())
    assert (actions['joints_better_than_still'], actions['joints_moved']) == (better, 2)
    told = f'etter than standing still on {better} of 2 joints'
    page = (evaluated / 'report.html').read_text(encoding='utf-8')
    assert told in page.split('</header>')[0] and told in summary(report)
    assert ('verdict good' if better > 1 else 'verdict bad') in page


def test_a_delay_that_cannot_be_told_is_not_stated(evaluated):
    report = load_report(evaluated / 'report.json')      # random weights follow nothing
    assert report['actions']['delay_s'] is None and report['actions']['delay_unknown']
    told = f'could not be estimated: {report["actions"]["delay_unknown"]}'
    page = (evaluated / 'report.html').read_text(encoding='utf-8')
    assert told in summary(report) and told in page


def test_the_axes_of_the_error_and_the_age_of_pictures_are_named(evaluated):
    page = (evaluated / 'report.html').read_text(encoding='utf-8')
    assert '>index in chunk</text>' in page and '% of the joint&#x27;s range</text>' in page
    assert 'age of the picture when its chunk came' in page and 'look to chunk' not in page


@pytest.mark.parametrize('value, text', [
    (28.4123, '28.4'), (2841.3, '2841'), (0.05, '0.05'), (1.157e-9, 'below 0.0001'), (0.0, '0'),
    (-1.5, '-1.5'), (0.00123, '0.00123'), (None, '–'), (120.0, '120')])
def test_numbers_are_written_as_a_person_writes_them(value, text):
    assert number(value) == text


def test_replacing_an_older_report_is_told(bench, tmp_path, capsys):
    arguments = [str(bench / 'waving'), '--robot', str(bench / 'bench.yaml'), '--tasks', 'none',
                 '--output', str(tmp_path / 'out')]
    assert main(arguments) == 0
    assert 'replaced' not in capsys.readouterr().out
    assert main(arguments) == 0
    assert 'an older report was replaced' in capsys.readouterr().out


def test_a_torn_recording_is_evaluated_as_far_as_it_goes_and_that_is_told(bench, tmp_path,
                                                                           capsys):
    file = storage_file(write_bag(tmp_path / 'torn', scene(seconds=1.5)))
    file.write_bytes(file.read_bytes()[:file.stat().st_size // 2])
    assert main([str(tmp_path / 'torn'), '--robot', str(bench / 'bench.yaml'), '--tasks', 'none',
                 '--output', str(tmp_path / 'out')]) == 0
    assert 'torn.mcap is damaged: it is cut off' in capsys.readouterr().err
    assert 'it is cut off' in (tmp_path / 'out' / 'report.html').read_text()
    seconds = load_report(tmp_path / 'out' / 'report.json')['recording']['seconds']
    assert 0.2 < seconds < 1.4


def test_commands_under_another_name_are_pointed_out(bench, tmp_path, capsys):
    bag = write_bag(tmp_path / 'bag', [replace(entry, topic='/arm/goal')
                                       if entry.topic == '/command' else entry
                                       for entry in scene(seconds=0.7, commands=True)])
    arguments = [str(bag), '--robot', str(bench / 'bench.yaml'), '--tasks', 'none', '--output',
                 str(tmp_path / 'out')]
    assert main(arguments) == 0
    said = capsys.readouterr()
    assert '--remap command:=/arm/goal' in said.err and 'against joint_states' in said.out
    assert 'weights are random' in said.out
    assert main([*arguments, '--remap', 'command:=/arm/goal']) == 0
    said = capsys.readouterr()
    assert not said.err and 'against commands' in said.out


@pytest.mark.parametrize('arguments, code, told', [
    (['/no/such/bag', '--robot', 'so101'], 1, '/no/such/bag does not exist'),
    (['BAG', '--robot', 'no_robot'], 2, "robot 'no_robot' is not known"),
    (['BAG', '--robot', 'PROFILE', '--checkpoint', '/no/weights'], 1, '/no/weights'),
    (['BAG', '--robot', 'PROFILE', '--timing', 'simulated'], 2, 'oxygen bench costs'),
    (['BAG', '--robot', 'PROFILE', '--remap', 'front'], 2, 'NAME:=/topic'),
    (['BAG', '--robot', 'PROFILE', '--remap', 'font/image:=/x'], 2, 'one of command, front/image'),
    (['BAG', '--robot', 'PROFILE', '--tasks', '/no/tasks.yaml'], 2, '/no/tasks.yaml'),
    (['BAG', '--robot', 'widowx'], 1, 'lacks'),
    (['BAG'], 2, '--robot PROFILE: one of aloha'), ([], 2, 'oxygen eval BAG --robot PROFILE'),
    (['--compare', 'a.json'], 2, 'takes two reports, before and after; 1 given')])
def test_what_is_wrong_is_one_line_and_a_code(bench, tmp_path, monkeypatch, capsys, arguments,
                                              code, told):
    monkeypatch.chdir(tmp_path)
    names = {'BAG': str(bench / 'waving'), 'PROFILE': str(bench / 'bench.yaml')}
    assert main([names.get(argument, argument) for argument in arguments]) == code
    error = capsys.readouterr().err
    assert told in error and 'Traceback' not in error and error.count('\n') == 1


def test_equal_reports_compare_as_equal(evaluated, capsys):
    assert main(['--compare', str(evaluated), str(evaluated / 'report.json')]) == 0
    assert 'bit for bit' in capsys.readouterr().out


@pytest.mark.parametrize('change, kind, cure', [
    (lambda report: move_action(report, by=0.01), 'actions', ['--action-tolerance', '0.01']),
    (lambda report: report['texts'][0].update(text='else'), 'texts', ['--texts-tolerance', '1']),
    (lambda report: report['deadline']['verdicts'].update(fresh=6), 'deadline',
     ['--ticks-tolerance', '0.6']),
    (lambda report: report['engine']['observation_to_chunk_ms'].update(p99=5.0), 'timing',
     ['--timing-tolerance', '1e9']),
    (lambda report: report['actions']['joints']['arm'].update(share_of_range=0.9), 'error',
     ['--error-tolerance', '100']),
    (lambda report: (report['chunks']['stamps_ns'].pop(), report['chunks']['actions'].pop()),
     'chunks', ['--chunks-tolerance', '0.5'])])
def test_a_change_is_named_fails_and_can_be_tolerated_or_ignored(evaluated, tmp_path, capsys,
                                                                 change, kind, cure):
    before = str(evaluated / 'report.json')
    after = changed(evaluated, tmp_path / 'after.json', change)
    if kind == 'timing':
        before = changed(evaluated, tmp_path / 'before.json', lambda report: report['engine'][
            'observation_to_chunk_ms'].update(p99=1.0))
    figures = tmp_path / 'compared.json'
    assert main(['--compare', before, after, '--json', str(figures)]) == 1
    assert 'CHANGED' in capsys.readouterr().out
    assert json.loads(figures.read_text())['changed'] == [kind]
    assert main(['--compare', before, after, '--json', str(tmp_path / 'no' / 'such.json')]) == 2
    assert main(['--compare', before, after, '--ignore', kind]) == 0
    assert main(['--compare', before, after, *cure]) == 0


def test_faster_and_better_is_no_failure(evaluated, tmp_path):
    worse = changed(evaluated, tmp_path / 'worse.json', lambda report: (
        report['engine']['observation_to_chunk_ms'].update(p50=80.0, p99=90.0),
        report['actions']['joints']['arm'].update(share_of_range=0.9)))
    assert main(['--compare', worse, str(evaluated / 'report.json')]) == 0
    assert main(['--compare', str(evaluated / 'report.json'), worse]) == 1


def test_what_was_set_differently_is_told(evaluated):
    before, after = (load_report(evaluated / 'report.json') for _ in range(2))
    after['setting']['denoise_steps'] = 5
    move_action(after, by=0.02)
    outcome = compare(before, after, Tolerances())
    assert outcome.setting == ('denoise_steps: 10 before, 5 after',)
    assert outcome.figures['max_change']['arm'] == pytest.approx(0.02, rel=1e-3)


@pytest.mark.parametrize('text, told', [
    (None, 'cannot be read'), ('not json', 'is no JSON'), ('{}', 'is no report')])
def test_what_is_no_report_is_refused(evaluated, tmp_path, capsys, text, told):
    path = tmp_path / 'other.json'
    if text is not None:
        path.write_text(text)
    assert main(['--compare', str(path), str(evaluated / 'report.json')]) == 2
    assert told in capsys.readouterr().err


def test_reports_of_other_recordings_or_robots_cannot_be_compared(evaluated, tmp_path, capsys):
    report = str(evaluated / 'report.json')
    later = changed(evaluated, tmp_path / 'later.json', lambda report: report['chunks'].update(
        stamps_ns=[stamp + S // 7 for stamp in report['chunks']['stamps_ns']]))
    other = changed(evaluated, tmp_path / 'other.json', lambda report: report['setting'].update(
        joints=['x']))
    assert main(['--compare', report, later]) == main(['--compare', report, other]) == 2
    assert 'no observation in common' in capsys.readouterr().err


def test_the_progress_bar_is_for_terminals_only(capsys, monkeypatch):

    monkeypatch.setattr('sys.stderr.isatty', lambda: True, raising=False)
    bar = ProgressBar(quiet=False)
    bar.show(0.5, 'replaying')
    assert '[###############...............]  50 % replaying' in capsys.readouterr().err
    ProgressBar(quiet=True).show(0.5, 'replaying')
    assert not capsys.readouterr().err
