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

"""Reads a bag: the messages of all its files in the order of time, as far as they can be read."""

from collections.abc import Iterator
from collections.abc import Sequence
from dataclasses import dataclass
import heapq
from itertools import groupby
from pathlib import Path
import sys
from tempfile import TemporaryDirectory
from typing import Any

import lz4.frame
from rosbags.interfaces import MessageDefinitionFormat
from rosbags.rosbag2 import Reader

from oxygen_ros.bags import salvage_sqlite
from oxygen_ros.bags import types
from oxygen_ros.bags.files import BagError
from oxygen_ros.bags.files import COMPRESSED
from oxygen_ros.bags.files import find_files
from oxygen_ros.bags.salvage import TornFile

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

ZSTD_MAGIC = b'\x28\xb5\x2f\xfd'     # cannot begin a CDR message
PIECE_BYTES = 1 << 16                # unpacked at a time
_FORMS = {'ros2msg': MessageDefinitionFormat.MSG, 'ros2idl': MessageDefinitionFormat.IDL}
# These also unpack the beginning of something that is cut off.
_DECOMPRESSORS = {'': bytes, 'lz4': lambda data: lz4.frame.LZ4FrameDecompressor().decompress(data),
                  'zstd': lambda data: zstd.ZstdDecompressor().decompress(data)}


@dataclass(frozen=True)
class RawMessage:
    """One recorded message, not decoded."""

    topic: str
    type: str
    time_ns: int      # when it was recorded
    data: bytes       # CDR


class Bag:
    """
    An open recording; a context manager.

    `faults` says in words what is missing or broken; it grows while messages are read. Messages
    come in the order of their times over all files; those of one time in the order of the topics
    asked for, so that the form of storage makes no difference.
    """

    def __init__(self, path: Path | str):
        """Open every file; raises BagError when nothing can be read."""
        self.path = Path(path)
        self.types: dict[str, str] = {}             # topic -> message type
        self.counts: dict[str, int] = {}            # topic -> messages, 0 where not known
        self._store = types.standard_types()
        self._temporary = TemporaryDirectory(prefix='oxygen_bag_')
        self._readers: list[tuple[str, Reader | TornFile]] = []
        found = find_files(self.path)
        self.faults = list(found.faults)
        try:
            for file in found.paths:
                self._open(file)
            if not self._readers:
                raise BagError(f'{self.path} cannot be read: {"; ".join(self.faults)}')
            if not self.types:
                reasons = ''.join(f'; {fault}' for fault in self.faults)
                raise BagError(f'{self.path} holds no message{reasons}')
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> 'Bag':
        """Return the open bag."""
        return self

    def __exit__(self, *exception) -> None:
        """Close it."""
        self.close()

    def close(self) -> None:
        """Close every file and remove what was unpacked."""
        for _, reader in self._readers:
            if isinstance(reader, Reader):
                reader.close()
        self._readers.clear()
        self._temporary.cleanup()

    def messages(self, topics: Sequence[str]) -> Iterator[RawMessage]:
        """Yield the messages of these topics, by time, then in the order of `topics`."""
        rank = {topic: index for index, topic in enumerate(topics)}
        files = [self._from_file(name, reader, rank) for name, reader in self._readers]
        merged = heapq.merge(*files, key=lambda message: message.time_ns)
        for _, same_time in groupby(merged, key=lambda message: message.time_ns):
            yield from sorted(same_time, key=lambda message: rank[message.topic])

    def decode(self, message: RawMessage) -> Any:
        """Return a message as an object with the fields of its type; raises BagError."""
        if message.type not in self._store.types and not types.register_own(
                self._store, message.type):
            raise BagError(f'{message.topic} is of type {message.type}, which neither this '
                           f'package nor the bag defines')
        try:
            return self._store.deserialize_cdr(message.data, message.type)
        except Exception as error:      # of struct, numpy or rosbags
            raise BagError(f'{message.topic}: a message cannot be decoded as {message.type}: '
                           f'{error}') from error

    def _open(self, path: Path) -> None:
        name = path.name
        try:
            if path.suffix == COMPRESSED:
                path = self._unpack(path)
            reader = Reader(path)
            reader.open()
        except Exception as error:      # rosbags lets errors of sqlite, struct and zstd through
            if path.suffix == '.mcap' and self._open_torn(name, path):
                return
            reader = self._open_salvaged(name, path) if path.suffix == '.db3' else None
            if reader is None:
                self.faults.append(f'{name} cannot be opened: {_line(error)}')
                return
        self._readers.append((name, reader))
        for connection in reader.connections:
            self._add_topic(connection.topic, connection.msgtype, connection.msgcount)
            types.register(self._store, connection.msgtype, connection.msgdef.format,
                           connection.msgdef.data)

    def _open_salvaged(self, name: str, path: Path) -> Reader | None:
        """Open a copy of what can be read of a damaged sqlite3 file; None if that is nothing."""
        target = Path(self._temporary.name) / f'salvaged_{path.name}'
        count = salvage_sqlite.salvage(path, target)
        if not count:
            return None
        reader = Reader(target)
        reader.open()
        self.faults.append(f'{name} is damaged; {count} messages could be read. '
                           f'`sqlite3 {name} .recover | sqlite3 whole.db3` may save more')
        return reader

    def _open_torn(self, name: str, path: Path) -> bool:
        """Read what can be read of an mcap file without a usable end."""
        torn, count = TornFile(path, _DECOMPRESSORS), 0
        for topic, _, _ in torn.messages():
            self._add_topic(topic, torn.types[topic], 1)
            count += 1
        if not count:
            return False
        what = 'its index is missing' if torn.whole else 'it is cut off'
        self.faults.append(f'{name} is damaged: {what}; {count} messages could be read')
        for type_name, (form, text) in torn.definitions.items():
            types.register(self._store, type_name, _FORMS.get(form, MessageDefinitionFormat.NONE),
                           text)
        self._readers.append((name, torn))
        return True

    def _add_topic(self, topic: str, type_name: str, count: int) -> None:
        self.types.setdefault(topic, type_name)
        self.counts[topic] = self.counts.get(topic, 0) + count

    def _unpack(self, path: Path) -> Path:
        """Unpack a file that is compressed as a whole; a torn one as far as it goes."""
        target = Path(self._temporary.name) / path.stem
        unpacker = zstd.ZstdDecompressor()
        with path.open('rb') as packed, target.open('wb') as file:
            while (piece := packed.read(PIECE_BYTES)) and not unpacker.eof:
                file.write(unpacker.decompress(piece))
        if not unpacker.eof:
            self.faults.append(f'{path.name} is cut off')
        return target

    def _from_file(self, name: str, reader: Reader | TornFile, rank: dict) -> Iterator[RawMessage]:
        count = 0
        try:
            for topic, type_name, time_ns, data in _records(reader, rank):
                if data[:4] == ZSTD_MAGIC:          # compressed message by message
                    data = zstd.decompress(data)
                yield RawMessage(topic, type_name, time_ns, bytes(data))
                count += 1
        except Exception as error:      # as above; what follows in this file is lost
            fault = f'{name} is damaged after {count} messages: {_line(error)}'
            if fault not in self.faults:
                self.faults.append(fault)


def _records(reader: Reader | TornFile, rank: dict) -> Iterator[tuple[str, str, int, bytes]]:
    if isinstance(reader, TornFile):
        records = [(topic, reader.types[topic], time_ns, data)
                   for topic, time_ns, data in reader.messages() if topic in rank]
        return iter(sorted(records, key=lambda record: record[2]))
    connections = [connection for connection in reader.connections if connection.topic in rank]
    if not connections:
        return iter(())
    return ((connection.topic, connection.msgtype, time_ns, data)
            for connection, time_ns, data in reader.messages(connections))


def _line(error: BaseException) -> str:
    return ' '.join(str(error).split())[:160] or type(error).__name__
