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
Run all tests in two halves at the same time: python scripts/run_tests.py [PYTEST OPTION ...].

The first half watches real nodes on the wire; it mostly waits, and needs its share of the machine
in time. The second half mostly computes and gives way; its output is shown when both are done.
A file with a failure runs once more alone, where nothing takes its time; that decides.
"""

from contextlib import suppress
import json
import os
from pathlib import Path
import subprocess
import sys
import tempfile

ON_THE_WIRE = ('test/faults', 'test/launch', 'test/ros')
HALVES = {'wire': ON_THE_WIRE,
          'rest': (*(f'--ignore={folder}' for folder in ON_THE_WIRE), 'test')}
CACHE = Path('.pytest_cache')
TESTS_FAILED, NO_TESTS = 1, 5   # of pytest; its options may select none in one half


def main(options: list[str]) -> int:
    """Return pytest's exit code, of the half that failed if one did."""
    with tempfile.TemporaryFile() as output:
        rest = _start('rest', '--cache-clear', *options, stdout=output, stderr=subprocess.STDOUT,
                      preexec_fn=lambda: os.nice(5))
        codes = {'wire': _wait(_start('wire', '--cache-clear', *options)), 'rest': _wait(rest)}
        output.seek(0)
        sys.stdout.buffer.write(output.read())
    for half in [half for half, code in codes.items() if code == TESTS_FAILED]:
        files = _files_with_failures(half)
        print(f'\nonce more, alone: {", ".join(files)}', flush=True)
        codes[half] = _wait(_start(half, *options, only=files))
    return max(set(codes.values()) - {NO_TESTS}, default=NO_TESTS)


def _start(half: str, *options: str, only: list[str] | None = None, **streams) -> subprocess.Popen:
    return subprocess.Popen([sys.executable, '-m', 'pytest', '-o',
                             f'cache_dir={CACHE / half}', *options, *(only or HALVES[half])],
                            **streams)


def _files_with_failures(half: str) -> list[str]:
    """Return whole files: tests that share a running node run in the order of their file."""
    failed = json.loads((CACHE / half / 'v/cache/lastfailed').read_text(encoding='utf-8'))
    return sorted({test.split('::')[0] for test in failed})


def _wait(half: subprocess.Popen) -> int:
    """Return its exit code; a Ctrl-C reaches both halves, and they end by themselves."""
    while True:
        with suppress(KeyboardInterrupt):
            return half.wait()


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
