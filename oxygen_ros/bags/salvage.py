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
Messages of an mcap file whose end is missing or wrong, as a crash or a full disk leaves it.

The index stands at the end of a file; without it the records are read from the start, until one
is cut off.
"""

from collections.abc import Callable
from collections.abc import Iterator
from dataclasses import dataclass
from dataclasses import field
from io import BytesIO
from pathlib import Path
import struct
from typing import BinaryIO

MAGIC = b'\x89MCAP0\r\n'
_SCHEMA, _CHANNEL, _MESSAGE, _CHUNK, _DATA_END = 3, 4, 5, 6, 15


class Cut(Exception):
    """The file ends, or stops making sense, here."""


@dataclass
class TornFile:
    """
    One pass over the records of a file; `types` and `definitions` grow as it goes on.

    decompressors: name of a compression -> function that unpacks as much as it is given.
    """

    path: Path
    decompressors: dict[str, Callable[[bytes], bytes]]
    types: dict[str, str] = field(default_factory=dict)              # topic -> message type
    definitions: dict[str, tuple[str, str]] = field(default_factory=dict)   # type -> (form, text)
    whole: bool = False                                              # read to the end of the data

    def messages(self) -> Iterator[tuple[str, int, bytes]]:
        """Yield (topic, log time in ns, data) in the order of the file, as far as it goes."""
        self._schemas: dict[int, str] = {}
        self._channels: dict[int, str] = {}
        with self.path.open('rb') as file:
            if file.read(len(MAGIC)) != MAGIC:
                return
            try:
                yield from self._records(file)
            except (Cut, struct.error, KeyError, UnicodeDecodeError):
                return

    def _records(self, file: BinaryIO, *, nested: bool = False) -> Iterator:
        while kind := file.read(1):
            (size,) = struct.unpack('<Q', _exactly(file, 8))
            if kind[0] == _CHUNK and not nested:      # of the last one the beginning is enough
                yield from self._records(BytesIO(self._unpacked(file.read(size))), nested=True)
                continue
            body = BytesIO(_exactly(file, size))
            if kind[0] == _SCHEMA:
                (number,) = struct.unpack('<H', body.read(2))
                name, form, text = (_text(body) for _ in range(3))
                self._schemas[number] = name
                self.definitions[name] = form, text
            elif kind[0] == _CHANNEL:
                number, schema = struct.unpack('<HH', body.read(4))
                self._channels[number] = _text(body)
                self.types[self._channels[number]] = self._schemas[schema]
            elif kind[0] == _MESSAGE:
                number, _, time_ns, _ = struct.unpack('<HIQQ', body.read(22))
                yield self._channels[number], time_ns, body.read()
            elif kind[0] == _DATA_END:
                self.whole = True
                return

    def _unpacked(self, chunk: bytes) -> bytes:
        body = BytesIO(chunk)
        body.read(28)      # times, size and checksum
        form = _text(body)
        (size,) = struct.unpack('<Q', _exactly(body, 8))
        try:
            return self.decompressors[form](body.read(size))
        except Exception as error:      # each library has its own
            raise Cut from error


def _exactly(file: BinaryIO, size: int) -> bytes:
    data = file.read(size)
    if len(data) != size:
        raise Cut
    return data


def _text(file: BinaryIO) -> str:
    (size,) = struct.unpack('<I', _exactly(file, 4))
    return _exactly(file, size).decode()
