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

"""What engine stages take on a machine, written by `oxygen bench costs` on that machine."""

from bisect import bisect_left
import json
from pathlib import Path

from oxygen_ros.config import ConfigError
from oxygen_ros.engine.costs import STAGES

FORMAT = 'oxygen costs 1'


class MachineCosts:
    """
    Replays measured durations: each size of each stage goes through its samples in turn.

    So a simulated machine is as fast and as uneven as the real one was, the same every run.
    """

    def __init__(self, samples: dict[str, dict[int, list[float]]], *, machine: str = ''):
        """Take samples: stage -> rows -> durations in s, at least one size per stage."""
        for stage in STAGES:
            if not any(samples.get(stage, {}).values()):
                raise ConfigError(f'the cost model has no durations of stage {stage}; write it '
                                  f'with `oxygen bench costs`')
        self.machine = machine
        self._samples = {stage: {rows: list(durations) for rows, durations in
                                 sorted(samples[stage].items()) if durations} for stage in STAGES}
        self._turns: dict[tuple[str, int], int] = {}

    @classmethod
    def load(cls, path: Path | str) -> 'MachineCosts':
        """Read a file of `oxygen bench costs`; raises ConfigError with the remedy."""
        try:
            data = json.loads(Path(path).read_text(encoding='utf-8'))
            if data.get('format') != FORMAT:
                raise ConfigError(f'{path} is no cost model; write one on the machine in question '
                                  f'with `oxygen bench costs FILE`')
            samples = {stage: {int(rows): [float(value) for value in values]
                               for rows, values in sizes.items()}
                       for stage, sizes in data['stages'].items()}
            return cls(samples, machine=str(data.get('machine', '')))
        except OSError as error:
            raise ConfigError(f'cost model {path} cannot be read: {error.strerror}') from error
        except (ValueError, AttributeError, KeyError, TypeError) as error:
            raise ConfigError(f'cost model {path} is damaged ({error}); write it again with '
                              f'`oxygen bench costs FILE`') from error

    def cost_s(self, stage: str, rows: int) -> float:
        """
        Return what this run of a stage takes: that of the next size measured.

        Beyond the largest size measured the time grows with the rows.
        """
        sizes = list(self._samples[stage])
        size = sizes[min(bisect_left(sizes, rows), len(sizes) - 1)]
        samples = self._samples[stage][size]
        turn = self._turns.get((stage, size), 0)
        self._turns[stage, size] = turn + 1
        return samples[turn % len(samples)] * max(1.0, rows / size)
