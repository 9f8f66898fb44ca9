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
"""safetensors files of pi0.5 into a model: strictly checked, streamed, in memory only once."""

from collections.abc import Callable
from dataclasses import dataclass
from dataclasses import field
from pathlib import Path

import torch

from oxygen_ros.checkpoint.names import destinations
from oxygen_ros.checkpoint.names import EMBEDDINGS
from oxygen_ros.checkpoint.names import plain_name
from oxygen_ros.checkpoint.names import UNUSED
from oxygen_ros.checkpoint.tensor_file import DTYPES
from oxygen_ros.checkpoint.tensor_file import TensorFile
from oxygen_ros.config import ConfigError
from oxygen_ros.models.pi05 import Pi05

MAX_NAMED = 12      # tensors of each kind that a message lists
BAR_WIDTH = 20


@dataclass
class KeyReport:
    """How the tensors of a file compare with those of a model; every entry names a tensor."""

    missing: list[str] = field(default_factory=list)
    unexpected: list[str] = field(default_factory=list)
    mis_shaped: list[str] = field(default_factory=list)   # with both shapes
    wrong_dtype: list[str] = field(default_factory=list)
    ignored: list[str] = field(default_factory=list)      # known to be unused

    @property
    def problem(self) -> str:
        """Say what is wrong, '' if nothing is."""
        parts = []
        for word, names in (('lacks', self.missing), ('holds unknown', self.unexpected),
                            ('has in another shape', self.mis_shaped),
                            ('has in another format', self.wrong_dtype)):
            if names:
                more = f' and {len(names) - MAX_NAMED} more' if len(names) > MAX_NAMED else ''
                parts.append(f'{word} {", ".join(names[:MAX_NAMED])}{more}')
        return '; '.join(parts)


def load_weights(model: Pi05, path: Path,
                 on_progress: Callable[[str], None] = lambda _: None) -> None:
    """
    Fill the model from a file, on the model's device and in its precision.

    Memory holds the weights once, and one chunk where the precision differs. Raises ConfigError
    that names every missing, unknown and wrongly sized tensor; then no weight has been touched.
    """
    embedding = model.backbone.embedding
    with TensorFile(path) as file:
        report, plan = compare(model, file)
        if report.problem:
            raise ConfigError(f'{path} is no pi0.5 checkpoint of this size: it {report.problem}; '
                              'check that the file is whole and its sizes are those of its '
                              'config.json')
        num_bytes = sum(file.entries[key].num_bytes for key in plan)
        progress, first = Progress(num_bytes, on_progress), ''
        for key, target in plan.items():
            if target is not embedding or not first:
                file.read(key, target)
            elif not file.equals(key, target):
                raise ConfigError(f'{path}: {first} and {key} differ, but pi0.5 uses one tensor '
                                  'for both; save the model again with tied weights')
            if target is embedding:
                first = key
            progress.add(file.entries[key].num_bytes)


def compare(model: Pi05, file: TensorFile) -> tuple[KeyReport, dict[str, torch.Tensor]]:
    """
    Return how a file fits a model, which may lie on the meta device, and key -> its target.

    The embedding and the head are one target under either name, or both. Reads no weight.
    """
    report, sources = KeyReport(), {}
    for key in file.entries:
        name = plain_name(key)
        if name in UNUSED:
            report.ignored.append(key)
        elif name in sources:
            report.unexpected.append(f'{key} (besides {sources[name]})')
        else:
            sources[name] = key
    targets = dict(destinations(model))
    targets.update({name: model.backbone.embedding for name in EMBEDDINGS if name in sources})
    report.missing = [name for name in targets if name not in sources]
    if not any(name in sources for name in EMBEDDINGS):
        report.missing.append(f'the embedding ({" or ".join(EMBEDDINGS)})')
    report.unexpected += [key for name, key in sources.items() if name not in targets]
    plan = {sources[name]: target for name, target in targets.items() if name in sources}
    for key, target in plan.items():
        entry = file.entries[key]
        if entry.shape != tuple(target.shape):
            report.mis_shaped.append(f'{key} ({list(entry.shape)} instead of '
                                     f'{list(target.shape)})')
        if entry.dtype not in DTYPES:
            report.wrong_dtype.append(f'{key} ({entry.dtype} instead of one of '
                                      f'{", ".join(DTYPES)})')
    return report, plan


class Progress:
    """Tells in ten steps how much has been read."""

    def __init__(self, num_bytes: int, tell: Callable[[str], None]):
        self._total, self._done, self._told, self._tell = max(num_bytes, 1), 0, 0, tell

    def add(self, num_bytes: int) -> None:
        """Count what was read; tell when another tenth is full."""
        self._done += num_bytes
        tenth = 10 * self._done // self._total
        if tenth > self._told:
            self._told = tenth
            full = BAR_WIDTH * tenth // 10
            self._tell(f'loading weights [{"#" * full}{"-" * (BAR_WIDTH - full)}] '
                       f'{self._done / 1e6:.0f} of {self._total / 1e6:.0f} MB')
