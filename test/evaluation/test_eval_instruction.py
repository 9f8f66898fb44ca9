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

"""A report says what the robot was told: in print, in the JSON, on the page, in a comparison."""

from dataclasses import replace

from bag_helpers import instruction
from bag_helpers import S
from bag_helpers import scene
from bag_helpers import START_NS
from bag_helpers import write_bag
from bag_helpers import write_profile
import pytest

from oxygen_ros.evaluation.compare import load_report
from oxygen_ros.tools.eval import main


@pytest.fixture(scope='module')
def folder(tmp_path_factory):
    """Return a folder with the profile of the robot, whose own instruction is 'wave'."""
    folder = tmp_path_factory.mktemp('told')
    write_profile(folder)
    return folder


@pytest.fixture(scope='module')
def twice(folder):
    """Return a bag in which the robot is told something else at 0.5 s."""
    entries = [*scene(), instruction(START_NS + S // 2, 'stop <now>')]
    return write_bag(folder / 'twice', sorted(entries, key=lambda entry: entry.time_ns))


def evaluate(folder, bag, out, *more):
    """Evaluate a bag without words; returns the report."""
    assert main([str(bag), '--robot', str(folder / 'bench.yaml'), '--tasks', 'none', '--quiet',
                 '--output', str(out), *more]) == 0
    return load_report(out / 'report.json')


def test_what_was_told_over_time_is_printed_and_in_json_and_page(folder, twice, tmp_path, capsys):
    report = evaluate(folder, twice, tmp_path)
    assert report['instructions'] == [
        {'at_s': 0.0, 'text': 'wave at the camera', 'source': 'recording'},
        {'at_s': 0.5, 'text': 'stop <now>', 'source': 'recording'}]
    said = capsys.readouterr()
    assert 'told "wave at the camera", "stop <now>" from 0.5 s (as recorded)' in said.out
    assert 'instruction' not in said.err
    page = (tmp_path / 'report.html').read_text(encoding='utf-8')
    head, rest = page.split('</header>')
    assert 'wave at the camera' in head and 'stop &lt;now&gt;' in head and '<now>' not in page
    assert 'wave at the camera</text>' in rest      # on the line of time


def test_a_given_instruction_stands_for_the_whole_recording(folder, twice, tmp_path, capsys):
    before = evaluate(folder, twice, tmp_path / 'before')
    after = evaluate(folder, twice, tmp_path / 'after', '--instruction', 'dance')
    assert after['instructions'] == [{'at_s': 0.0, 'text': 'dance', 'source': 'option'}]
    assert before['chunks']['stamps_ns'] == after['chunks']['stamps_ns']
    capsys.readouterr()
    main(['--compare', *(str(tmp_path / name / 'report.json') for name in ('before', 'after'))])
    told = [line for line in capsys.readouterr().out.splitlines() if line.startswith('set ')]
    assert told == ['set     instruction: "wave at the camera", "stop <now>" from 0.5 s before, '
                    '"dance" after']


def test_an_instruction_that_repeats_that_of_the_profile_is_a_recorded_one(folder, tmp_path):
    bag = write_bag(tmp_path / 'bag', [replace(entry, time_ns=START_NS + S // 2,
                                               message=instruction(0, 'wave').message)
                                       if entry.topic == '/instruction' else entry
                                       for entry in scene(seconds=0.7)])
    assert evaluate(folder, bag, tmp_path / 'out')['instructions'] == [
        {'at_s': 0.0, 'text': 'wave', 'source': 'recording'}]


def test_a_recording_without_instruction_says_so_with_the_remedy(folder, tmp_path, capsys):
    bag = write_bag(tmp_path / 'bag', [replace(entry, topic='/task/text')
                                       if entry.topic == '/instruction' else entry
                                       for entry in scene(seconds=0.7)])
    report = evaluate(folder, bag, tmp_path / 'out')
    assert report['instructions'] == [{'at_s': 0.0, 'text': 'wave', 'source': 'profile'}]
    said = capsys.readouterr()
    assert 'told "wave" (of the profile)' in said.out
    line, = [line for line in said.err.splitlines() if 'no instruction is recorded' in line]
    assert "that of the profile, 'wave', is used" in line
    assert '--remap instruction:=/task/text' in line and '--instruction TEXT' in line
    for remedy in (['--remap', 'instruction:=/task/text'], ['--instruction', 'go']):
        evaluate(folder, bag, tmp_path / 'out', *remedy)
        assert 'no instruction' not in capsys.readouterr().err
