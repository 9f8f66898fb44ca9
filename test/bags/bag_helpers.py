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

"""Writes small bags, in every form that rosbag2 knows, as recorders other than ours do."""

from dataclasses import dataclass
from pathlib import Path
import shutil

import lz4.frame
import numpy as np
from rosbags.rosbag2 import Reader
from rosbags.rosbag2 import StoragePlugin
from rosbags.rosbag2 import Writer
from rosbags.rosbag2.enums import CompressionFormat
from rosbags.rosbag2.enums import CompressionMode
from rosbags.typesys import get_types_from_msg
from rosbags.typesys import get_typestore
from rosbags.typesys import Stores
import yaml

S = 10 ** 9
START_NS = 1_700_000_000 * S
JOINTS = ('arm', 'elbow')
STORE = get_typestore(Stores.ROS2_HUMBLE)
PLUGINS = {'mcap': StoragePlugin.MCAP, 'sqlite3': StoragePlugin.SQLITE3}
PROFILE = """\
name: bench
cameras: {front: {topic: front/image}, wrist: {topic: wrist/image, required: false}}
joints:
  arm: {lower: -2, upper: 2, max_velocity: 2}
  elbow: {lower: -2, upper: 2, max_velocity: 2}
actions: {rate_hz: 10}
control_rate_hz: 10
command: {topic: command, type: float64_multi_array}
instruction: wave
"""


def write_profile(folder: Path) -> Path:
    """Write the profile of the robot of these bags."""
    path = folder / 'bench.yaml'
    path.write_text(PROFILE, encoding='utf-8')
    return path


@dataclass(frozen=True)
class Entry:
    """One message to be recorded."""

    topic: str
    type: str
    time_ns: int
    message: object       # or its CDR as bytes


def make(type_name: str, *values):
    """Return a message object."""
    return STORE.types[type_name](*values)


def header(stamp_ns: int):
    """Return a header."""
    return make('std_msgs/msg/Header',
                make('builtin_interfaces/msg/Time', *divmod(stamp_ns, S)), '')


def picture(topic: str, time_ns: int, *, stamp_ns: int | None = None, value: int = 0) -> Entry:
    """Return a 32 x 24 picture whose content depends on the value."""
    pixels = np.random.default_rng(value).integers(0, 256, 32 * 24 * 3, dtype=np.uint8)
    stamp_ns = time_ns if stamp_ns is None else stamp_ns
    kind = 'sensor_msgs/msg/Image'
    return Entry(topic, kind, time_ns, make(kind, header(stamp_ns), 24, 32, 'rgb8', 0, 96, pixels))


def joints(time_ns: int, positions, *, topic='/joint_states', stamp_ns: int | None = None,
           names=JOINTS) -> Entry:
    """Return joint states."""
    nothing, kind = np.array([]), 'sensor_msgs/msg/JointState'
    return Entry(topic, kind, time_ns, make(
        kind, header(time_ns if stamp_ns is None else stamp_ns), list(names),
        np.array(positions, float), nothing, nothing))


def command(time_ns: int, positions, *, topic='/command') -> Entry:
    """Return a command as bare numbers."""
    kind = 'std_msgs/msg/Float64MultiArray'
    layout = make('std_msgs/msg/MultiArrayLayout', [], 0)
    return Entry(topic, kind, time_ns, make(kind, layout, np.array(positions, float)))


def instruction(time_ns: int, text: str) -> Entry:
    """Return an instruction."""
    kind = 'std_msgs/msg/String'
    return Entry('/instruction', kind, time_ns, make(kind, text))


def scene(*, seconds=1.2, lag_s=0.0, commands=False) -> list[Entry]:
    """Return a robot that waves: joints at 50 Hz, two cameras at 5 Hz, an instruction."""
    entries = [instruction(START_NS, 'wave at the camera')]
    for index in range(round(50 * seconds)):
        time_ns = START_NS + index * S // 50
        angle = np.sin(2 * np.pi * (index / 50 - lag_s) / 1.5)
        entries.append(joints(time_ns, [angle, -angle]))
        if commands:
            entries.append(command(time_ns, [angle, -angle]))
        if index % 10 == 0:
            entries += [picture('/front/image', time_ns, value=index),
                        picture('/wrist/image', time_ns + 1, value=-index - 1 + 10 ** 6)]
    return entries


def write_bag(path: Path, entries: list[Entry], *, storage='mcap',
              compression: str | None = None) -> Path:
    """Write a bag; compression: 'file', 'message' or 'storage' with zstd, or storage by 'lz4'."""
    writer = Writer(path, version=9, storage_plugin=PLUGINS[storage])
    if compression and compression != 'lz4':
        writer.set_compression(CompressionMode[compression.upper()], CompressionFormat.ZSTD)
    with writer:
        if compression == 'lz4':      # rosbags reads chunks of mcap like this, but writes none
            writer.storage.compression = compression
            writer.storage.compressor = lz4.frame.compress
        connections = {}
        for entry in entries:
            if entry.topic not in connections:
                connections[entry.topic] = writer.add_connection(
                    entry.topic, entry.type, typestore=STORE)
            data = entry.message if isinstance(entry.message, bytes) else STORE.serialize_cdr(
                entry.message, entry.type)
            writer.write(connections[entry.topic], entry.time_ns, data)
    return path


def recorded(path: Path) -> list[Entry]:
    """Return the messages of a bag, as they are, to write them again in another form."""
    with Reader(path) as reader:
        for connection in reader.connections:
            if connection.msgtype not in STORE.types:
                STORE.register(get_types_from_msg(connection.msgdef.data, connection.msgtype))
        return [Entry(connection.topic, connection.msgtype, time_ns, bytes(data))
                for connection, time_ns, data in reader.messages()]


def write_split(path: Path, entries: list[Entry], *, storage='mcap', overlap_ns=0,
                parts=3) -> Path:
    """Write a bag of several files: overlapping in time, listed in the wrong order, one empty."""
    path.mkdir()
    entries = sorted(entries, key=lambda entry: entry.time_ns)
    first_ns, last_ns = entries[0].time_ns, entries[-1].time_ns + 1
    share_ns = -(-(last_ns - first_ns) // parts)
    names, groups = [], [[] for _ in range(parts)]
    for index, entry in enumerate(entries):
        part = (entry.time_ns - first_ns) // share_ns
        near_end = (part + 1) * share_ns + first_ns - entry.time_ns < overlap_ns
        groups[min(parts - 1, part + (near_end and index % 2))].append(entry)
    for index, group in enumerate([*groups, []]):
        whole = write_bag(path / f'part{index}', group, storage=storage)
        file = next(child for child in whole.iterdir() if child.suffix != '.yaml')
        name = f'{path.name}_{index}{file.suffix}'
        file.rename(path / name)
        shutil.rmtree(whole)
        names.append(name)
    metadata = {'version': 9, 'storage_identifier': storage, 'relative_file_paths': names[::-1],
                'compression_format': '', 'compression_mode': ''}
    (path / 'metadata.yaml').write_text(
        yaml.safe_dump({'rosbag2_bagfile_information': metadata}), encoding='utf-8')
    return path


def storage_file(path: Path) -> Path:
    """Return the one storage file of a bag."""
    return next(child for child in path.iterdir() if child.suffix != '.yaml')
