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

"""
What can be read of an sqlite3 file that is cut off or damaged, written into a whole one.

sqlite3 refuses a file that is shorter than its header says. A copy filled up with zeros opens:
the schema stands at the beginning, and rows are read in the order they were written until the
first page that is not there.
"""

from contextlib import closing
import os
from pathlib import Path
import shutil
import sqlite3

_PAGE_SIZE_AT, _NUM_PAGES_AT = 16, 28      # in the header, big-endian


def salvage(source: Path, target: Path) -> int:
    """
    Write the readable rows of a damaged bag file to a new one; returns the number of messages.

    0 where nothing can be saved. Takes the room of the file twice beside `target`.
    """
    copy = target.with_suffix('.filled')
    try:
        shutil.copyfile(source, copy)
        os.truncate(copy, max(copy.stat().st_size, _full_size(source)))
        with closing(sqlite3.connect(f'file:{copy}?immutable=1', uri=True)) as damaged, \
                closing(sqlite3.connect(target)) as whole:
            for name, definition in damaged.execute(
                    "SELECT name, sql FROM sqlite_master WHERE type = 'table'").fetchall():
                whole.execute(definition)
                _copy_rows(damaged, whole, name)
            whole.execute('CREATE INDEX timestamp_idx ON messages (timestamp ASC)')
            whole.commit()
            return whole.execute('SELECT count(*) FROM messages JOIN topics '
                                 'ON messages.topic_id = topics.id').fetchone()[0]
    except (OSError, sqlite3.Error):
        return 0
    finally:
        copy.unlink(missing_ok=True)


def _full_size(path: Path) -> int:
    """Return how large the file is by its header."""
    with path.open('rb') as file:
        header = file.read(100)
    page_size = int.from_bytes(header[_PAGE_SIZE_AT:_PAGE_SIZE_AT + 2], 'big')
    page_size = 65536 if page_size == 1 else page_size      # does not fit into two bytes
    return page_size * int.from_bytes(header[_NUM_PAGES_AT:_NUM_PAGES_AT + 4], 'big')


def _copy_rows(damaged: sqlite3.Connection, whole: sqlite3.Connection, table: str) -> None:
    rows = damaged.execute(f'SELECT * FROM "{table}" NOT INDEXED')
    places = ', '.join('?' * len(rows.description))
    try:
        for row in rows:
            whole.execute(f'INSERT INTO "{table}" VALUES ({places})', row)
    except sqlite3.DatabaseError:      # what follows is lost
        return
