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
import fcntl
import logging
import os
from pathlib import Path
import queue
import sqlite3
import threading

from oxygen_ros.runtime.memory_file import COLUMNS
from oxygen_ros.runtime.memory_file import fact_of
from oxygen_ros.runtime.memory_file import Filters
from oxygen_ros.runtime.memory_file import open_file
from oxygen_ros.runtime.memory_file import relevant
from oxygen_ros.runtime.memory_file import select
from oxygen_ros.runtime.memory_file import StoreError
from oxygen_ros.types import MemoryFact

logger = logging.getLogger(__name__)

MAX_FACTS = 100_000
DEFAULT_LIMIT = 100
_END = None


class MemoryStore:
    """
    Facts with time, frame and source.

    A fact about the same subject and relation supersedes the older one, which stays as history.
    Beyond `max_facts` a tenth is deleted: superseded facts first, the oldest first. `add` never
    waits: a thread of its own writes, and calls `on_fact` only after the fact is on disk, so a
    fact that was published survives a kill. own_thread False: `add` itself writes, so that a
    question asked next finds the fact in every run. Other methods may be called from any thread.
    A file has one store at a time.
    """

    def __init__(self, path: Path | str | None, *,
                 on_fact: Callable[[MemoryFact], None] = lambda fact: None,
                 on_error: Callable[[str], None] = lambda text: None,
                 max_facts: int = MAX_FACTS, own_thread: bool = True):
        self._on_fact = on_fact
        self._on_error = on_error
        self._max_facts = max_facts
        self._queue: queue.SimpleQueue[MemoryFact | None] = queue.SimpleQueue()
        self._lock = threading.Lock()        # the connection is used by writer and readers
        self._database = open_file(path)
        self._claim = self._claim_file(path)
        self._num_facts = self._count()
        self._thread: threading.Thread | None = None
        if own_thread:
            self._thread = threading.Thread(target=self._write, name='oxygen_memory', daemon=True)
            self._thread.start()

    def add(self, fact: MemoryFact) -> None:
        """Have a fact stored: soon, or at once without a thread."""
        if self._thread is None:
            self._keep(fact)
        else:
            self._queue.put(fact)

    def recall(self, *, limit: int = DEFAULT_LIMIT, history: bool = False,
               **filters) -> list[MemoryFact]:
        """Return facts that match every filter (fields of Filters), newest first."""
        with self._lock:
            return select(self._database, Filters(history=history, **filters),
                          limit=limit if limit > 0 else DEFAULT_LIMIT)

    def relevant(self, question: str, *, limit: int) -> list[MemoryFact]:
        """Return facts that hold, the most useful for answering a question first."""
        with self._lock:
            return relevant(self._database, question, limit=limit)

    def close(self) -> None:
        """Write what waits and close the file; may be called twice."""
        if self._thread is not None:
            self._queue.put(_END)
            self._thread.join(5.0)
        with self._lock:
            self._database.close()
        claim, self._claim = self._claim, -1
        if claim >= 0:
            os.close(claim)      # only now: closing a file ends all of SQLite's locks on it

    def _claim_file(self, path: Path | str | None) -> int:
        """Lock the file against a second store; the kernel frees it however this one ends."""
        if path is None:
            return -1
        claim = os.open(Path(path).expanduser(), os.O_RDONLY | os.O_CLOEXEC)
        try:
            fcntl.flock(claim, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            self._database.close()
            os.close(claim)
            raise StoreError(f'memory file {path} is in use by another node; give each node a '
                             'memory_file of its own') from error
        return claim

    def _count(self) -> int:
        return self._database.execute('SELECT count(*) FROM facts').fetchone()[0]

    def _write(self) -> None:
        while (fact := self._queue.get()) is not _END:
            self._keep(fact)

    def _keep(self, fact: MemoryFact) -> None:
        """Store a fact and tell of it, or of why it is lost."""
        try:
            stored = self._store(fact)
        except sqlite3.Error as error:
            logger.exception('fact not stored')
            self._on_error(f'fact about {fact.subject!r} not stored: {error}; '
                           'check the disk of memory_file')
        else:
            self._on_fact(stored)

    def _store(self, fact: MemoryFact) -> MemoryFact:
        with self._lock:
            with self._database:             # one transaction
                self._database.execute(
                    'UPDATE facts SET superseded = 1 WHERE superseded = 0 '
                    'AND lower(subject) = lower(?) AND lower(relation) = lower(?)',
                    (fact.subject, fact.relation))
                cursor = self._database.execute(
                    f'INSERT INTO facts ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, NULL, 0, ?)',
                    (fact.subject, fact.relation, fact.object, fact.stamp_ns, fact.frame_id,
                     fact.request_id, fact.confidence))
                if self._num_facts >= self._max_facts:
                    self._prune(keep=cursor.lastrowid)
                row = self._database.execute(f'SELECT {COLUMNS} FROM facts WHERE fact_id = ?',
                                             (cursor.lastrowid,)).fetchone()
            self._num_facts = self._count() if self._num_facts >= self._max_facts \
                else self._num_facts + 1
        return fact_of(row)

    def _prune(self, *, keep: int) -> None:
        """Delete a tenth, so that this is rare, unless another process has cleared facts."""
        surplus = self._count() - self._max_facts
        num = max(surplus, self._max_facts // 10) if surplus > 0 else 0
        self._database.execute(
            'DELETE FROM facts WHERE fact_id IN (SELECT fact_id FROM facts WHERE fact_id != ? '
            'ORDER BY superseded DESC, fact_id LIMIT ?)', (keep, num))
