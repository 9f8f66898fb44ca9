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

"""`oxygen memory`: what a node remembers, looked at from outside, also while it remembers more."""

import csv
from datetime import datetime
import json
import sqlite3
import subprocess
import sys
import time

import pytest

from oxygen_ros.runtime.memory import MemoryStore
from oxygen_ros.tools import memory
from oxygen_ros.types import MemoryFact

DAY_NS = 86_400_000_000_000
NOW_NS = 1_750_000_000_000_000_000      # in June 2025
BETWEEN = datetime.fromtimestamp((NOW_NS + 1.5 * DAY_NS) / 1e9).isoformat()   # the middle two


@pytest.fixture
def file(tmp_path):
    """Return a file that an open store is still writing, with four facts in it."""
    stored = []
    store = MemoryStore(tmp_path / 'facts.db', on_fact=stored.append)
    for number, (subject, thing, confidence) in enumerate((
            ('red cube', 'on the left', None), ('blue cube', 'in the tray', 0.5),
            ('red cube', 'in the tray', None), ('naïve 😀', 'here', None))):
        store.add(MemoryFact(subject, 'is', thing, NOW_NS + number * DAY_NS, number, 'memory-1',
                             confidence=confidence))
    while len(stored) < 4:
        time.sleep(0.005)
    yield tmp_path / 'facts.db'
    store.close()


@pytest.fixture
def run(capsys):
    """Return a function that runs the command: (exit code, stdout, stderr)."""
    def run(*argv):
        code = memory.main([str(word) for word in argv])
        return code, *capsys.readouterr()
    return run


def test_list_shows_what_holds_newest_first(run, file, tmp_path):
    """Superseded facts only with --history; the same as JSON."""
    code, out, err = run('list', file, '--json', tmp_path / 'list.json')
    assert (code, err) == (0, '')
    assert [row.split(None, 2)[2] for row in out.splitlines()] == [
        'naïve 😀 | is | here', 'red cube | is | in the tray',
        'blue cube | is | in the tray  (0.50)']
    assert [fact['subject'] for fact in json.loads((tmp_path / 'list.json').read_text())] == [
        'naïve 😀', 'red cube', 'blue cube']
    assert 'on the left  superseded' in run('list', file, '--history')[1]


@pytest.mark.parametrize('filters, count', [
    (('--subject', 'RED CUBE'), 1), (('--text', 'trays'), 2), (('--text', 'nothing'), 0),
    (('--after', BETWEEN), 2), (('--before', BETWEEN), 1), (('--limit', '1'), 1),
    (('--relation', 'eats'), 0)])
def test_list_filters(run, file, filters, count):
    """As ~/recall does."""
    out = run('list', file, *filters)[1]
    assert out.count(' | is | ') == count
    assert count or out == 'no fact matches\n'


def test_show_tells_all_about_a_fact_and_its_history(run, file):
    """Older and newer facts about the same thing."""
    code, out, _ = run('show', file, 3)
    assert code == 0
    assert 'red cube' in out and 'frame_id' in out and '2025-06-' in out
    assert out.count('red cube | is | ') == 2 and 'superseded' in out


@pytest.mark.parametrize('name', ['facts.json', 'facts.csv'])
def test_export_is_complete_and_oldest_first(run, file, tmp_path, name):
    """Every field, history included, any character."""
    assert run('export', file, tmp_path / name)[1].startswith('4 facts written')
    with (tmp_path / name).open(encoding='utf-8', newline='') as opened:
        rows = json.load(opened) if name.endswith('json') else list(csv.DictReader(opened))
    assert [row['subject'] for row in rows] == ['red cube', 'blue cube', 'red cube', 'naïve 😀']
    assert tuple(rows[0]) == memory.FIELDS
    assert [str(row['superseded']) for row in rows] == ['True', 'False', 'False', 'False']
    assert [str(row['stamp_ns']) for row in rows][0] == str(NOW_NS)


def test_clear_deletes_what_matches_while_the_node_goes_on(run, file):
    """Not without --yes where nobody can be asked; the word index forgets it too."""
    code, out, err = run('clear', file, '--subject', 'red cube')
    assert (code, out) == (1, '') and '2 facts would be deleted; add --yes' in err
    assert run('clear', file, '--subject', 'red cube', '--yes')[1] == '2 facts deleted\n'
    assert run('list', file, '--text', 'red')[1] == 'no fact matches\n'
    assert run('list', file)[1].count(' | is | ') == 2
    assert run('clear', file, '--yes')[1] == '2 facts deleted\n'


def test_the_store_goes_on_after_its_facts_were_cleared(tmp_path, run):
    """Numbers go on, and the bound counts what is there."""
    stored = []
    store = MemoryStore(tmp_path / 'facts.db', on_fact=stored.append, max_facts=20)

    def add(count):
        before = len(stored)
        for number in range(count):
            store.add(MemoryFact(f'cube {number}', 'is', 'here', NOW_NS, 1, 'memory-1'))
        while len(stored) < before + count:
            time.sleep(0.005)
    add(15)
    run('clear', tmp_path / 'facts.db', '--yes')
    add(15)
    assert len(store.recall(history=True)) == 15 and stored[-1].fact_id == 30
    store.close()


def test_what_cannot_be_used_is_one_line(run, file, tmp_path):
    """With the remedy, and nothing is created by looking."""
    (tmp_path / 'text.db').write_text('no database ' * 500)
    sqlite3.connect(tmp_path / 'other.db').execute('CREATE TABLE other (x)')
    for argv, words in ((('list', tmp_path / 'gone.db'), 'does not exist'),
                        (('list', tmp_path / 'text.db'), 'not a database'),
                        (('list', tmp_path / 'other.db'), 'is no memory file'),
                        (('show', file, 99), 'has no fact 99'),
                        (('export', file, tmp_path / 'facts.txt'), 'neither in .json'),
                        (('export', file, '/no/such/facts.csv'), 'choose another file')):
        code, out, err = run(*argv)
        assert (code, out, len(err.splitlines())) == (1, '', 1) and words in err
    assert not (tmp_path / 'gone.db').exists()


def test_wrong_arguments_are_explained():
    """By the command itself, exit code 2."""
    done = subprocess.run([sys.executable, '-m', 'oxygen_ros', 'memory', 'list', 'x.db', '--after',
                           'noon'], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and "'noon' is no time; write 2026-01-31" in done.stderr
