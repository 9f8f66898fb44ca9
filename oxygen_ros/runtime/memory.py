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

"""Keeps facts on disk: SQLite, one writer, history kept, newest about a thing is what holds."""

from collections.abc import Callable
import logging
from pathlib import Path
import queue
import sqlite3
import threading

from oxygen_ros.types import MemoryFact

logger = logging.getLogger(__name__)

SCHEMA_VERSION = 1
_SCHEMA = """
CREATE TABLE facts (
    fact_id    INTEGER PRIMARY KEY AUTOINCREMENT,
    subject    TEXT NOT NULL,
    relation   TEXT NOT NULL,
    object     TEXT NOT NULL,
    stamp_ns   INTEGER NOT NULL,
    frame_id   INTEGER NOT NULL,
    request_id TEXT NOT NULL,
    superseded INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX facts_thing ON facts (lower(subject), lower(relation), superseded);
CREATE INDEX facts_stamp ON facts (stamp_ns);
"""
_COLUMNS = 'subject, relation, object, stamp_ns, frame_id, request_id, fact_id, superseded'
_END = None


class StoreError(RuntimeError):
    """The memory cannot be opened or read; the message says why and what to do."""


class MemoryStore:
    """
    Facts with time, frame and source.

    A fact about the same subject and relation supersedes the older one, which stays as history.
    Beyond `max_facts` the oldest superseded facts are deleted first, then the oldest. `add`
    never waits: a thread of its own writes, and calls `on_fact` only after the fact is on disk,
    so a fact that was published survives a kill. Other methods may be called from any thread.
    """

    def __init__(self, path: Path | str | None, *,
                 on_fact: Callable[[MemoryFact], None] = lambda fact: None,
                 on_error: Callable[[str], None] = lambda text: None,
                 max_facts: int = 100_000):
        self._on_fact = on_fact
        self._on_error = on_error
        self._max_facts = max_facts
        self._queue: queue.SimpleQueue[MemoryFact | None] = queue.SimpleQueue()
        self._lock = threading.Lock()        # the connection is used by writer and readers
        self._database = _open(path)
        self._has_search = self._prepare_search()
        self._num_facts = self._database.execute('SELECT count(*) FROM facts').fetchone()[0]
        self._thread = threading.Thread(target=self._write, name='oxygen_memory', daemon=True)
        self._thread.start()

    def add(self, fact: MemoryFact) -> None:
        """Have a fact stored soon."""
        self._queue.put(fact)

    def recall(self, *, subject: str = '', relation: str = '', text: str = '', after_ns: int = 0,
               before_ns: int = 0, history: bool = False, limit: int = 100) -> list[MemoryFact]:
        """Return facts that match every given filter, newest first."""
        wheres, values = [], []
        for column, value in (('subject', subject), ('relation', relation)):
            if value:
                wheres.append(f'lower({column}) = lower(?)')
                values.append(' '.join(value.split()))
        if after_ns:
            wheres.append('stamp_ns >= ?')
            values.append(after_ns)
        if before_ns:
            wheres.append('stamp_ns < ?')
            values.append(before_ns)
        if not history:
            wheres.append('superseded = 0')
        for word in text.split():
            where, value = self._search(word)
            wheres.append(where)
            values.append(value)
        where = f'WHERE {" AND ".join(wheres)}' if wheres else ''
        with self._lock:
            rows = self._database.execute(
                f'SELECT {_COLUMNS} FROM facts {where} ORDER BY stamp_ns DESC, fact_id DESC '
                'LIMIT ?', (*values, limit if limit > 0 else 100)).fetchall()
        return [_fact(row) for row in rows]

    def close(self) -> None:
        """Write what waits and close the file; may be called twice."""
        self._queue.put(_END)
        self._thread.join(5.0)
        with self._lock:
            self._database.close()

    def _write(self) -> None:
        fact = self._queue.get()
        while fact is not _END:
            try:
                stored = self._store(fact)
            except sqlite3.Error as error:
                logger.exception('fact not stored')
                self._on_error(f'fact about {fact.subject!r} not stored: {error}; '
                               'check the disk of memory_file')
            else:
                self._on_fact(stored)
            fact = self._queue.get()

    def _store(self, fact: MemoryFact) -> MemoryFact:
        with self._lock, self._database:     # one transaction
            self._database.execute(
                'UPDATE facts SET superseded = 1 WHERE superseded = 0 '
                'AND lower(subject) = lower(?) AND lower(relation) = lower(?)',
                (fact.subject, fact.relation))
            cursor = self._database.execute(
                f'INSERT INTO facts ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, NULL, 0)',
                (fact.subject, fact.relation, fact.object, fact.stamp_ns, fact.frame_id,
                 fact.request_id))
            self._num_facts += 1
            if self._num_facts > self._max_facts:
                self._prune()
            row = self._database.execute(f'SELECT {_COLUMNS} FROM facts WHERE fact_id = ?',
                                         (cursor.lastrowid,)).fetchone()
        return _fact(row) if row else fact

    def _prune(self) -> None:
        """Delete a tenth, so that this is rare."""
        num = max(self._num_facts - self._max_facts, self._max_facts // 10)
        self._database.execute(
            'DELETE FROM facts WHERE fact_id IN (SELECT fact_id FROM facts '
            'ORDER BY superseded DESC, fact_id LIMIT ?)', (num,))
        self._num_facts -= num

    def _prepare_search(self) -> bool:
        """Make the full-text index if this SQLite has FTS5; without, a word search is slow."""
        try:
            self._database.executescript("""
BEGIN;
CREATE VIRTUAL TABLE IF NOT EXISTS facts_text USING fts5
    (subject, relation, object, content='facts', content_rowid='fact_id');
CREATE TRIGGER IF NOT EXISTS facts_added AFTER INSERT ON facts BEGIN
    INSERT INTO facts_text (rowid, subject, relation, object)
    VALUES (new.fact_id, new.subject, new.relation, new.object);
END;
CREATE TRIGGER IF NOT EXISTS facts_deleted AFTER DELETE ON facts BEGIN
    INSERT INTO facts_text (facts_text, rowid, subject, relation, object)
    VALUES ('delete', old.fact_id, old.subject, old.relation, old.object);
END;
COMMIT;
""")
        except sqlite3.OperationalError as error:
            logger.info('no full-text index (%s)', error)
            return False
        return True

    def _search(self, word: str) -> tuple[str, str]:
        if self._has_search:
            quoted = word.replace('"', '""')
            return ('fact_id IN (SELECT rowid FROM facts_text WHERE facts_text MATCH ?)',
                    f'"{quoted}"')
        escaped = word.replace('\\', r'\\').replace('%', r'\%').replace('_', r'\_')
        return ("subject || ' ' || relation || ' ' || object LIKE ? ESCAPE '\\'", f'%{escaped}%')


def _open(path: Path | str | None) -> sqlite3.Connection:
    """Open or create the file; raises StoreError naming it and the remedy."""
    name = ':memory:' if path is None else str(path)
    try:
        if path is not None:
            Path(path).expanduser().resolve().parent.mkdir(parents=True, exist_ok=True)
            name = str(Path(path).expanduser())
        database = sqlite3.connect(name, timeout=5.0, check_same_thread=False)
        database.execute('PRAGMA journal_mode = WAL')
        # A kill of the process loses nothing; only a power cut may lose the last second.
        database.execute('PRAGMA synchronous = NORMAL')
        version = database.execute('PRAGMA user_version').fetchone()[0]
        if version == 0:
            # One transaction: a kill in the middle leaves no half schema.
            database.executescript(
                f'BEGIN; {_SCHEMA} PRAGMA user_version = {SCHEMA_VERSION}; COMMIT;')
    except (OSError, sqlite3.Error) as error:
        raise StoreError(f'memory file {name}: {error}; give a file in a writable folder, or '
                           'move a damaged file away') from error
    if version > SCHEMA_VERSION:
        database.close()
        raise StoreError(f'memory file {name} was written by a newer oxygen_ros (schema '
                           f'{version}, this one knows {SCHEMA_VERSION}); update this package or '
                           'give another file')
    return database


def _fact(row: tuple) -> MemoryFact:
    return MemoryFact(*row[:7], superseded=bool(row[7]))
