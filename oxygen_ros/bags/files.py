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

"""Which storage files make up a bag, with or without its metadata.yaml."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

STORAGES = ('.mcap', '.db3')
COMPRESSED = '.zstd'
METADATA = 'metadata.yaml'


class BagError(RuntimeError):
    """A recording that cannot be read at all; the message says why and what to do."""


@dataclass(frozen=True)
class BagFiles:
    """What a path turned out to hold."""

    paths: tuple[Path, ...]         # storage files, also compressed ones (.zstd)
    faults: tuple[str, ...] = ()    # what is wrong with the bag as a whole


def find_files(path: Path) -> BagFiles:
    """Return the storage files of a bag folder or of a bare file; raises BagError if none."""
    if not path.exists():
        raise BagError(f'{path} does not exist; give the folder of a rosbag2 recording, or one '
                       f'of its .mcap or .db3 files')
    if path.is_file():
        if path.name == METADATA:
            return find_files(path.parent)
        if not is_storage(path):
            raise BagError(_foreign(path))
        return BagFiles((path,))
    present = sorted(child for child in path.iterdir() if is_storage(child))
    listed, faults = _listed(path)
    missing = [name for name in listed if not (path / name).exists()]
    faults += [f'{METADATA} lists {name}, which is not there' for name in missing]
    if not present:
        raise BagError('; '.join([_foreign(path), *faults]))
    paths = [path / name for name in listed if (path / name).exists()]
    return BagFiles(tuple(paths or present), tuple(faults))


def is_bag(path: Path) -> bool:
    """Return whether a path looks like a recording: a storage file, or a folder with some."""
    if path.is_dir():
        return any(child.name == METADATA or is_storage(child) for child in path.iterdir())
    return path.is_file() and is_storage(path)


def is_storage(path: Path) -> bool:
    """Return whether a file name is that of a storage file, compressed or not."""
    bare = path.with_suffix('') if path.suffix == COMPRESSED else path
    return bare.suffix in STORAGES


def _listed(folder: Path) -> tuple[Sequence[str], list[str]]:
    """Return the file names in metadata.yaml and what is wrong with it."""
    path = folder / METADATA
    if not path.exists():
        return (), [f'{METADATA} is missing (the recording may have ended with a crash); reading '
                    f'every storage file there is']
    try:
        data = yaml.safe_load(path.read_text(encoding='utf-8'))['rosbag2_bagfile_information']
        names = [Path(name).name for name in data['relative_file_paths']]
        mode = (data.get('compression_mode') or 'none').lower()
        form = data.get('compression_format') or ''
    except (OSError, yaml.YAMLError, UnicodeDecodeError, KeyError, TypeError,
            AttributeError) as error:
        text = ' '.join(str(error).split())[:120]
        return (), [f'{METADATA} is not usable ({type(error).__name__}: {text}); reading every '
                    f'storage file there is']
    if mode != 'none' and form != 'zstd':
        raise BagError(f'{folder} is compressed by {mode} with {form!r}; only zstd can be read, '
                       f'convert it with `ros2 bag convert`')
    return names, []


def _foreign(path: Path) -> str:
    if path.suffix == '.bag':
        return (f'{path} is a ROS 1 bag; convert it with `rosbags-convert --src {path} '
                f'--dst {path.with_suffix("").name}`')
    what = 'holds no .mcap or .db3 file' if path.is_dir() else 'is no .mcap or .db3 file'
    return f'{path} {what}; give a rosbag2 recording'
