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

"""How many CPUs this process may really use: affinity and cgroup quota, not the host's cores."""

import math
import os
from pathlib import Path


def cpu_limit(*, cgroup_root: Path = Path('/sys/fs/cgroup'),
              own_cgroup: Path = Path('/proc/self/cgroup')) -> int:
    """Return the number of threads that can run at once without being throttled, at least 1."""
    limits = [float(len(os.sched_getaffinity(0)))]
    limits += _quotas(cgroup_root, own_cgroup)
    return max(1, math.floor(min(limits)))


def _quotas(root: Path, own_cgroup: Path) -> list[float]:
    """Return every CPU quota on the way from the root group to this process's own."""
    try:
        lines = own_cgroup.read_text(encoding='ascii').splitlines()
    except OSError:
        return []
    quotas = []
    for line in lines:
        _, controllers, path = line.split(':', 2)
        if controllers == '':
            folder = root
        elif 'cpu' in controllers.split(','):
            folder = root / 'cpu'
        else:
            continue
        # In a container the path may be that of the host, which is not visible here.
        for group in (folder, *(folder / part for part in _ancestors(path))):
            quotas += _quota(group)
    return quotas


def _ancestors(path: str) -> list[str]:
    parts = [part for part in path.split('/') if part and part != '..']
    return ['/'.join(parts[:length]) for length in range(1, len(parts) + 1)]


def _quota(group: Path) -> list[float]:
    """Return [CPUs allowed] of one group, [] when it has no quota (cgroup v2, then v1)."""
    try:
        quota, period = (group / 'cpu.max').read_text(encoding='ascii').split()
        return [] if quota == 'max' else [int(quota) / int(period)]
    except (OSError, ValueError):
        pass
    try:
        quota_us = int((group / 'cpu.cfs_quota_us').read_text(encoding='ascii'))
        period_us = int((group / 'cpu.cfs_period_us').read_text(encoding='ascii'))
        return [quota_us / period_us] if quota_us > 0 else []
    except (OSError, ValueError):
        return []
