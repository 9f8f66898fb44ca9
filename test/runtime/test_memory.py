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

"""The memory on disk: what holds, what was, and what a kill leaves."""

from dataclasses import replace
import json
import os
from pathlib import Path
import sqlite3
import subprocess
import sys
import time

import pytest
from runtime_helpers import wait_until

from oxygen_ros.runtime import memory_file
from oxygen_ros.runtime.memory import MemoryStore
from oxygen_ros.runtime.memory_file import StoreError
from oxygen_ros.types import MemoryFact

ROOT = Path(__file__).resolve().parents[2]


def fact(subject, thing, *, stamp_ns=1, relation='is'):
    """Return a fact that is not stored yet."""
    return MemoryFact(subject, relation, thing, stamp_ns, 1, 'memory-1')


@pytest.fixture
def filled(tmp_path):
    """Return a store with four facts about three things."""
    stored = []
    store = MemoryStore(tmp_path / 'facts.db', on_fact=stored.append)
    for number, (subject, thing) in enumerate((
            ('red cube', 'on the left'), ('blue cube', 'in the tray'), ('Red Cube', 'in the tray'),
            ('apple', 'in the fridge'))):
        store.add(fact(subject, thing, stamp_ns=100 * (number + 1)))
    wait_until(lambda: len(stored) == 4)
    yield store
    store.close()


def test_a_newer_fact_supersedes_and_history_stays(filled):
    """Letter case does not make another thing of it."""
    assert [found.object for found in filled.recall(subject='RED CUBE')] == ['in the tray']
    history = filled.recall(subject='red cube', history=True)
    assert [(found.object, found.superseded) for found in history] == [('in the tray', False),
                                                                      ('on the left', True)]


@pytest.mark.parametrize('filters, subjects', [
    ({}, ['apple', 'Red Cube', 'blue cube']),
    ({'text': 'tray'}, ['Red Cube', 'blue cube']),
    ({'text': 'tray blue'}, ['blue cube']),
    ({'text': 'nothing'}, []),
    ({'text': '" OR *'}, []),
    ({'after_ns': 300}, ['apple', 'Red Cube']),
    ({'before_ns': 300}, ['blue cube']),
    ({'relation': 'eats'}, []),
    ({'limit': 1}, ['apple']),
])
def test_recall_filters(filled, filters, subjects):
    """Newest first; every filter must match; words are words, not a query language."""
    assert [found.subject for found in filled.recall(**filters)] == subjects


def test_words_are_found_without_a_full_text_index(filled, monkeypatch):
    """Some SQLite builds have none."""
    monkeypatch.setattr(memory_file, 'has_search', lambda database: False)
    assert filled.relevant('where is the blue cube?', limit=1)[0].subject == 'blue cube'
    assert [found.subject for found in filled.recall(text='TRAY blue')] == ['blue cube']
    assert filled.recall(text='100%_') == []


def test_facts_survive_a_restart(tmp_path):
    """And numbering goes on."""
    path = tmp_path / 'folder' / 'facts.db'
    store = MemoryStore(path)
    store.add(fact('cup', 'here'))
    store.close()
    stored = []
    store = MemoryStore(path, on_fact=stored.append)
    store.add(fact('cup', 'there'))
    wait_until(lambda: stored)
    assert [(found.fact_id, found.object) for found in store.recall(history=True)] == [
        (2, 'there'), (1, 'here')]
    store.close()


def test_the_size_is_bounded_and_what_holds_is_kept_longest(tmp_path):
    """Superseded facts go first."""
    store = MemoryStore(tmp_path / 'facts.db', max_facts=50)
    store.add(fact('old but true', 'here'))
    for number in range(120):
        store.add(fact('cube', str(number), stamp_ns=number + 2))
    wait_until(lambda: store.recall(subject='cube')[:1] and
               store.recall(subject='cube')[0].object == '119')
    assert len(store.recall(history=True, limit=1000)) <= 50
    assert store.recall(subject='old but true')
    store.close()


def test_adding_never_waits_for_the_disk(tmp_path):
    """A locked file delays the store, not the caller."""
    store = MemoryStore(tmp_path / 'facts.db')
    blocker = sqlite3.connect(tmp_path / 'facts.db')
    blocker.execute('BEGIN IMMEDIATE')
    began_s = time.monotonic()
    for number in range(100):
        store.add(fact('cube', str(number)))
    assert time.monotonic() - began_s < 0.5
    blocker.rollback()
    wait_until(lambda: len(store.recall(history=True)) == 100)
    store.close()


def test_a_fact_that_cannot_be_stored_is_told_and_the_next_one_is_tried(tmp_path, monkeypatch):
    """A full disk must not silence the memory for ever."""
    errors, stored = [], []
    store = MemoryStore(tmp_path / 'facts.db', on_fact=stored.append, on_error=errors.append)
    real = store._store
    monkeypatch.setattr(store, '_store', lambda fact: (_ for _ in ()).throw(
        sqlite3.OperationalError('database or disk is full')))
    store.add(fact('cube', 'lost'))
    wait_until(lambda: errors)
    assert 'disk' in errors[0] and 'cube' in errors[0]
    monkeypatch.setattr(store, '_store', real)
    store.add(fact('cube', 'kept'))
    wait_until(lambda: stored)
    store.close()


def test_files_that_cannot_be_used_are_refused_with_the_remedy(tmp_path):
    """No SQLite file, no folder, and one from the future."""
    (tmp_path / 'text.db').write_text('this is no database, but long enough to be read' * 50)
    with pytest.raises(StoreError, match='text.db'):
        MemoryStore(tmp_path / 'text.db')
    with pytest.raises(StoreError, match='writable'):
        MemoryStore('/proc/nowhere/facts.db')
    newer = sqlite3.connect(tmp_path / 'newer.db')
    newer.execute(f'PRAGMA user_version = {memory_file.SCHEMA_VERSION + 1}')
    newer.close()
    with pytest.raises(StoreError, match='newer'):
        MemoryStore(tmp_path / 'newer.db')


@pytest.mark.parametrize('question, first', [
    ('where is the apple?', 'apple'), ('Where are my APPLES', 'apple'),
    ('what is in the fridge?', 'apple'), ('is the blue cube there?', 'blue cube')])
def test_facts_about_a_question_come_first(filled, question, first):
    """Rare words count more than those that every fact has; what no longer holds is left out."""
    facts = filled.relevant(question, limit=10)
    assert facts[0].subject == first
    assert len(facts) == 3 and not any(fact.superseded for fact in facts)


@pytest.mark.parametrize('question', ['', '???', '" OR NOT (', 'something else entirely'])
def test_without_a_match_the_newest_facts_come_first(filled, question):
    """Whatever the question holds."""
    assert [fact.subject for fact in filled.relevant(question, limit=2)] == ['apple', 'Red Cube']


def test_a_file_of_the_first_version_is_brought_up_to_date(tmp_path):
    """With its facts, which are found by other forms of their words from then on."""
    path = tmp_path / 'facts.db'
    old = sqlite3.connect(path)
    old.executescript(memory_file._SCHEMA.replace(',\n    confidence REAL', '') + """
CREATE VIRTUAL TABLE facts_text USING fts5
    (subject, relation, object, content='facts', content_rowid='fact_id');
CREATE TRIGGER facts_added AFTER INSERT ON facts BEGIN
    INSERT INTO facts_text (rowid, subject, relation, object)
    VALUES (new.fact_id, new.subject, new.relation, new.object);
END;
INSERT INTO facts VALUES (1, 'apple', 'is', 'here', 5, 1, 'memory-1', 0);
PRAGMA user_version = 1;""")
    old.close()
    store = MemoryStore(path)
    assert [(found.subject, found.confidence) for found in store.recall(text='apples')] == [
        ('apple', None)]
    store.add(replace(fact('cup', 'there'), confidence=0.5))
    wait_until(lambda: [found.confidence for found in store.recall(subject='cup')] == [0.5])
    store.close()


def test_two_stores_on_one_file_are_refused(tmp_path):
    """Two robots would mix up what they know; a closed store leaves the file free."""
    store = MemoryStore(tmp_path / 'facts.db')
    with pytest.raises(StoreError, match='in use by another node'):
        MemoryStore(tmp_path / 'facts.db')
    store.add(fact('cup', 'here'))
    wait_until(lambda: store.recall())
    store.close()
    MemoryStore(tmp_path / 'facts.db').close()


def test_no_published_fact_is_lost_by_fifty_kills(tmp_path):
    """SIGKILL in the middle of writing: the store opens, all that was told is there."""
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name('memory_kills.py')),
         str(tmp_path / 'facts.db'), '--kills', '50'],
        cwd=ROOT, env={**os.environ, 'PYTHONPATH': str(ROOT)},
        capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stdout + done.stderr
    result = json.loads(done.stdout)
    assert result['kills'] == 50 and result['facts'] > 100 and not result['wrong']
