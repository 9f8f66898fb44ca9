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

"""Threads follow what this process may use, not what the host has."""

import os
import subprocess
import sys

import pytest

from oxygen_ros.runtime.cpu_limits import cpu_limit


@pytest.fixture
def cgroup(tmp_path):
    """Return a function that writes a cgroup tree and asks for the limit inside it."""
    own = tmp_path / 'own'

    def limit(files, membership):
        for name, text in files.items():
            path = tmp_path / 'root' / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        own.write_text(membership)
        return cpu_limit(cgroup_root=tmp_path / 'root', own_cgroup=own)
    return limit


HAVE = len(os.sched_getaffinity(0))


@pytest.mark.parametrize('quota, expected', [
    ('max 100000', HAVE), ('100000 100000', 1), ('150000 100000', 1), ('20000 100000', 1),
    ('6400000 100000', HAVE), ('nonsense', HAVE)])
def test_the_quota_of_the_own_group_counts(cgroup, quota, expected):
    """Rounded down, never below one thread."""
    assert cgroup({'pod/app/cpu.max': quota}, '0::/pod/app\n') == expected


def test_a_quota_further_up_counts_too(cgroup):
    """A pod's limit holds for its containers."""
    assert cgroup({'pod/cpu.max': '100000 100000', 'pod/app/cpu.max': 'max 100000'},
                  '0::/pod/app\n') == 1


def test_a_container_sees_its_quota_at_the_root(cgroup):
    """The path may be the host's, which does not exist inside."""
    assert cgroup({'cpu.max': '100000 100000'}, '0::/docker/0123\n') == 1


def test_version_1_quotas_count(cgroup):
    """Older systems."""
    assert cgroup({'cpu/cpu.cfs_quota_us': '100000', 'cpu/cpu.cfs_period_us': '100000'},
                  '4:cpu,cpuacct:/\n3:memory:/\n') == 1


def test_affinity_counts():
    """As with taskset."""
    cpu = min(os.sched_getaffinity(0))
    code = (f'import os; os.sched_setaffinity(0, {{{cpu}}});'
            'from oxygen_ros.runtime.cpu_limits import cpu_limit; print(cpu_limit())')
    done = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == '1'
