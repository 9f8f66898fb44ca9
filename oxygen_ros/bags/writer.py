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

"""Writes a rosbag2 recording that `ros2 bag` and this package read."""

from pathlib import Path

from rosbags.rosbag2 import StoragePlugin
from rosbags.rosbag2 import Writer
from rosbags.rosbag2.enums import CompressionFormat
from rosbags.rosbag2.enums import CompressionMode

from oxygen_ros.bags import types
from oxygen_ros.bags.files import BagError

STORAGES = {'mcap': StoragePlugin.MCAP, 'sqlite3': StoragePlugin.SQLITE3}


class BagWriter:
    """
    One bag being written; one thread.

    An mcap file that is never closed, because the process was killed, loses the last megabyte
    and its index; `Bag` reads the rest. An sqlite3 file that is never closed is empty.
    """

    def __init__(self, path: Path, *, storage: str = 'mcap', compress: bool = False):
        """Create the folder; raises BagError if it exists or cannot be made."""
        if compress and storage != 'mcap':
            raise BagError('compression while recording needs storage mcap')
        self._store = types.standard_types()
        self._connections = {}
        self.counts: dict[str, int] = {}        # topic -> messages
        try:
            self._writer = Writer(path, version=9, storage_plugin=STORAGES[storage])
            if compress:
                self._writer.set_compression(CompressionMode.STORAGE, CompressionFormat.ZSTD)
            self._writer.open()
        except Exception as error:      # rosbags has its own errors besides OSError
            raise BagError(f'{path} cannot be recorded to: {error}') from error

    def add(self, topic: str, type_name: str) -> bool:
        """Add a topic; False if its type is not known here."""
        known = type_name in self._store.types or types.register_own(self._store, type_name)
        if known and topic not in self._connections:
            self._connections[topic] = self._writer.add_connection(
                topic, type_name, typestore=self._store)
            self.counts[topic] = 0
        return known

    def write(self, topic: str, time_ns: int, data: bytes) -> None:
        """Write one message as CDR; its topic has been added."""
        self._writer.write(self._connections[topic], time_ns, data)
        self.counts[topic] += 1

    def close(self) -> None:
        """Write the index and metadata.yaml."""
        self._writer.close()
