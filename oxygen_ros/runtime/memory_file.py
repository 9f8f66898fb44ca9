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

"""The memory file: its schema, how it is opened, and what is asked of it. SQLite, no threads."""

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
import logging
from pathlib import Path
import re
import sqlite3

from oxygen_ros.types import MemoryFact

logger = logging.getLogger(__name__)

SCHEMA_VERSION = 2
NUM_SCANNED = 1000        # newest facts compared with a question where there is no index
BUSY_S = 5.0              # how long to wait for another process that writes
_SCHEMA = """
CREATE TABLE facts (
    fact_id    INTEGER PRIMARY KEY AUTOINCREMENT,
    subject    TEXT NOT NULL,
    relation   TEXT NOT NULL,
    object     TEXT NOT NULL,
    stamp_ns   INTEGER NOT NULL,
    frame_id   INTEGER NOT NULL,
    request_id TEXT NOT NULL,
    superseded INTEGER NOT NULL DEFAULT 0,
    confidence REAL
);
CREATE INDEX facts_thing ON facts (lower(subject), lower(relation), superseded);
CREATE INDEX facts_stamp ON facts (stamp_ns);
"""
# Version 1 had no confidence, and an index that did not know 'apples' from 'apple'.
_FROM_VERSION_1 = """
ALTER TABLE facts ADD COLUMN confidence REAL;
DROP TRIGGER IF EXISTS facts_added;
DROP TRIGGER IF EXISTS facts_deleted;
DROP TABLE IF EXISTS facts_text;
"""
_SEARCH = """
CREATE VIRTUAL TABLE facts_text USING fts5
    (subject, relation, object, content='facts', content_rowid='fact_id',
     tokenize='porter unicode61');
CREATE TRIGGER facts_added AFTER INSERT ON facts BEGIN
    INSERT INTO facts_text (rowid, subject, relation, object)
    VALUES (new.fact_id, new.subject, new.relation, new.object);
END;
CREATE TRIGGER facts_deleted AFTER DELETE ON facts BEGIN
    INSERT INTO facts_text (facts_text, rowid, subject, relation, object)
    VALUES ('delete', old.fact_id, old.subject, old.relation, old.object);
END;
INSERT INTO facts_text (facts_text) VALUES ('rebuild');
"""
COLUMNS = ('subject, relation, object, stamp_ns, frame_id, request_id, fact_id, superseded, '
           'confidence')


class StoreError(RuntimeError):
    """The memory cannot be opened or read; the message says why and what to do."""


@dataclass(frozen=True)
class Filters:
    """Which facts are wanted; an empty filter matches everything."""

    subject: str = ''       # exact but for letter case
    relation: str = ''
    text: str = ''          # words that must all occur
    after_ns: int = 0       # seen at or after
    before_ns: int = 0      # seen before
    history: bool = True    # also superseded ones


def open_file(path: Path | str | None) -> sqlite3.Connection:
    """Open or create the file, None: in memory. Raises StoreError naming it and the remedy."""
    name = ':memory:'
    database = None
    try:
        if path is not None:
            file = Path(path).expanduser()
            file.resolve().parent.mkdir(parents=True, exist_ok=True)
            name = str(file)
        database = sqlite3.connect(name, timeout=BUSY_S, check_same_thread=False)
        database.execute('PRAGMA journal_mode = WAL')
        # A kill of the process loses nothing; only a power cut may lose the last second.
        database.execute('PRAGMA synchronous = NORMAL')
        version = _version(database)
        # Each in one transaction: a kill in the middle leaves no half schema.
        if version == 0:
            _run_whole(database, _SCHEMA)
        elif version == 1:
            _run_whole(database, _FROM_VERSION_1)
        if version <= SCHEMA_VERSION:
            _prepare_search(database)
    except (OSError, sqlite3.Error) as error:
        if database is not None:
            database.close()
        raise StoreError(f'memory file {name}: {error}; give a file in a writable folder, or '
                         'move a damaged file away') from error
    _refuse_newer(database, name, version)
    return database


def open_existing(path: Path | str) -> sqlite3.Connection:
    """Open a file for reading, also while a node writes it; StoreError if it is none of ours."""
    file = Path(path).expanduser()
    if not file.is_file():
        raise StoreError(f'memory file {file} does not exist; it is what the parameter '
                         'memory_file of the node names')
    try:
        database = sqlite3.connect(f'{file.resolve().as_uri()}?mode=rw', timeout=BUSY_S, uri=True)
        version = _version(database)
    except sqlite3.Error as error:
        raise StoreError(f'memory file {file}: {error}; give the file that memory_file of the '
                         'node names') from error
    _refuse_newer(database, str(file), version)
    if version == SCHEMA_VERSION:
        return database
    database.close()
    if version == 0:
        raise StoreError(f'{file} is no memory file; give the one that memory_file of the node '
                         'names')
    return open_file(file)      # brings an older one up to date


def select(database: sqlite3.Connection, filters: Filters, *, limit: int) -> list[MemoryFact]:
    """Return facts that match every filter, newest first."""
    where, values = _where(database, filters)
    rows = database.execute(
        f'SELECT {COLUMNS} FROM facts {where} ORDER BY stamp_ns DESC, fact_id DESC LIMIT ?',
        (*values, limit))
    return [fact_of(row) for row in rows]


def relevant(database: sqlite3.Connection, question: str, *, limit: int) -> list[MemoryFact]:
    """Return facts that hold, those that share rare words with the question first, then newest."""
    words = list(dict.fromkeys(re.findall(r'\w+', question.lower())))
    found: list[MemoryFact] = []
    if words and has_search(database):
        columns = ', '.join(f'facts.{name}' for name in COLUMNS.split(', '))
        match = ' OR '.join(f'"{word}"' for word in words)
        rows = database.execute(
            f'SELECT {columns} FROM facts_text JOIN facts ON facts.fact_id = facts_text.rowid '
            'WHERE facts_text MATCH ? AND superseded = 0 '
            'ORDER BY bm25(facts_text), stamp_ns DESC, fact_id DESC LIMIT ?', (match, limit))
        found = [fact_of(row) for row in rows]
    known = {fact.fact_id for fact in found}
    newest = select(database, Filters(history=False), limit=limit if found else NUM_SCANNED)
    if not found:               # without an index: by the number of words shared
        def shared(fact: MemoryFact) -> int:
            text = f'{fact.subject} {fact.relation} {fact.object}'.lower()
            return sum(word in text for word in words)
        newest.sort(key=shared, reverse=True)
    return (found + [fact for fact in newest if fact.fact_id not in known])[:limit]


def delete(database: sqlite3.Connection, filters: Filters) -> int:
    """Delete facts that match every filter; return how many."""
    where, values = _where(database, filters)
    with database:
        return database.execute(f'DELETE FROM facts {where}', values).rowcount


def fact_of(row: Sequence) -> MemoryFact:
    """Return a row of COLUMNS as a fact."""
    return MemoryFact(*row[:7], superseded=bool(row[7]), confidence=row[8])


def has_search(database: sqlite3.Connection) -> bool:
    """Return whether the file has a full-text index."""
    return bool(database.execute(
        "SELECT 1 FROM sqlite_master WHERE name = 'facts_text'").fetchone())


def _where(database: sqlite3.Connection, filters: Filters) -> tuple[str, list]:
    wheres, values = [], []
    for column, value in (('subject', filters.subject), ('relation', filters.relation)):
        if value:
            wheres.append(f'lower({column}) = lower(?)')
            values.append(' '.join(value.split()))
    if filters.after_ns:
        wheres.append('stamp_ns >= ?')
        values.append(filters.after_ns)
    if filters.before_ns:
        wheres.append('stamp_ns < ?')
        values.append(filters.before_ns)
    if not filters.history:
        wheres.append('superseded = 0')
    words = filters.text.split()
    indexed = bool(words) and has_search(database)
    for word in words:
        where, value = _search(word, indexed=indexed)
        wheres.append(where)
        values.append(value)
    return f'WHERE {" AND ".join(wheres)}' if wheres else '', values


def _search(word: str, *, indexed: bool) -> tuple[str, str]:
    if indexed:
        quoted = word.replace('"', '""')
        return ('fact_id IN (SELECT rowid FROM facts_text WHERE facts_text MATCH ?)',
                f'"{quoted}"')
    escaped = word.replace('\\', r'\\').replace('%', r'\%').replace('_', r'\_')
    return ("subject || ' ' || relation || ' ' || object LIKE ? ESCAPE '\\'", f'%{escaped}%')


def _version(database: sqlite3.Connection) -> int:
    return database.execute('PRAGMA user_version').fetchone()[0]


def _refuse_newer(database: sqlite3.Connection, name: str, version: int) -> None:
    if version > SCHEMA_VERSION:
        database.close()
        raise StoreError(f'memory file {name} was written by a newer oxygen_ros (schema '
                         f'{version}, this one knows {SCHEMA_VERSION}); update this package or '
                         'give another file')


def _run_whole(database: sqlite3.Connection, script: str) -> None:
    database.executescript(f'BEGIN; {script} PRAGMA user_version = {SCHEMA_VERSION}; COMMIT;')


def _prepare_search(database: sqlite3.Connection) -> None:
    """Make the full-text index if this SQLite has FTS5; without, a word search is slow."""
    if has_search(database):
        return
    with closing(sqlite3.connect(':memory:')) as probe:
        try:
            probe.execute('CREATE VIRTUAL TABLE probe USING fts5(text)')
        except sqlite3.OperationalError as error:
            logger.info('no full-text index (%s)', error)
            return
    _run_whole(database, _SEARCH)
