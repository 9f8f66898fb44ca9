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

"""What the benchmark reads from the machine: memory, energy, name of the processor."""

from pathlib import Path
import platform
import resource

POWERCAP = Path('/sys/class/powercap')
UNAVAILABLE = 'unavailable'


class EnergyCounter:
    """Joules used by the processor packages, from RAPL; knows when it cannot be read."""

    def __init__(self, root: Path = POWERCAP):
        self._zones = []
        for zone in sorted(root.glob('intel-rapl:*')):
            if zone.name.count(':') == 1 and self._read_uj(zone / 'energy_uj') is not None:
                wrap_uj = self._read_uj(zone / 'max_energy_range_uj') or 0
                self._zones.append((zone / 'energy_uj', wrap_uj))

    @property
    def available(self) -> bool:
        """Whether at least one package can be read."""
        return bool(self._zones)

    def start(self) -> tuple[int, ...]:
        """Return a mark for since_j()."""
        return tuple(self._read_uj(path) or 0 for path, _ in self._zones)

    def since_j(self, mark: tuple[int, ...]) -> float:
        """Return the joules used since the mark, all packages together."""
        used_uj = 0
        for before_uj, (path, wrap_uj) in zip(mark, self._zones):
            delta_uj = (self._read_uj(path) or before_uj) - before_uj
            used_uj += delta_uj + (wrap_uj if delta_uj < 0 else 0)   # the counter starts over
        return used_uj * 1e-6

    @staticmethod
    def _read_uj(path: Path) -> int | None:
        try:
            return int(path.read_text())
        except (OSError, ValueError):
            return None


def resident_mb() -> float:
    """Return the memory this process holds now, MB; the peak so far where /proc is missing."""
    try:
        pages = int(Path('/proc/self/statm').read_text().split()[1])
    except (OSError, IndexError, ValueError):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    return pages * resource.getpagesize() / 1e6


def processor_name() -> str:
    """Return the name of the processor."""
    try:
        for line in Path('/proc/cpuinfo').read_text().splitlines():
            if line.startswith('model name'):
                return line.split(':', 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
