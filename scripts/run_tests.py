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
Run all tests in three parts at the same time: python scripts/run_tests.py [PYTEST OPTION ...].

The first part watches real nodes on the wire; it mostly waits, and needs its share of the machine
in time. The others mostly compute and give way; their output is shown when all are done.
A file with a failure runs once more alone, where nothing takes its time; that decides.
"""

from contextlib import ExitStack
from contextlib import suppress
import json
import os
from pathlib import Path
import subprocess
import sys
import tempfile

ON_THE_WIRE = ('test/faults', 'test/launch', 'test/ros')
COMMANDS = ('test/sim', 'test/tools', 'test/view')
PARTS = {'wire': ON_THE_WIRE,
         'commands': COMMANDS,
         'rest': (*(f'--ignore={folder}' for folder in ON_THE_WIRE + COMMANDS), 'test')}
CACHE = Path('.pytest_cache')
TESTS_FAILED, NO_TESTS = 1, 5   # of pytest; its options may select none in one part


def main(options: list[str]) -> int:
    """Return pytest's exit code, of the part that failed if one did."""
    with ExitStack() as stack:
        outputs = {part: stack.enter_context(tempfile.TemporaryFile())
                   for part in ('commands', 'rest')}
        running = {part: _start(part, '--cache-clear', *options, stdout=output,
                                stderr=subprocess.STDOUT, preexec_fn=lambda: os.nice(5))
                   for part, output in outputs.items()}
        running['wire'] = _start('wire', '--cache-clear', *options)
        codes = {part: _wait(running[part]) for part in PARTS}
        for output in outputs.values():
            output.seek(0)
            sys.stdout.buffer.write(output.read())
    for part in [part for part, code in codes.items() if code == TESTS_FAILED]:
        files = _files_with_failures(part)
        print(f'\nonce more, alone: {", ".join(files)}', flush=True)
        codes[part] = _wait(_start(part, *options, only=files))
    return max(set(codes.values()) - {NO_TESTS}, default=NO_TESTS)


def _start(part: str, *options: str, only: list[str] | None = None, **streams) -> subprocess.Popen:
    # A second thread of a part would only spin: the cores have enough to do.
    return subprocess.Popen([sys.executable, '-m', 'pytest', '-o',
                             f'cache_dir={CACHE / part}', *options, *(only or PARTS[part])],
                            env={'OMP_NUM_THREADS': '1', **os.environ}, **streams)


def _files_with_failures(part: str) -> list[str]:
    """Return whole files: tests that share a running node run in the order of their file."""
    failed = json.loads((CACHE / part / 'v/cache/lastfailed').read_text(encoding='utf-8'))
    return sorted({test.split('::')[0] for test in failed})


def _wait(part: subprocess.Popen) -> int:
    """Return its exit code; a Ctrl-C reaches all parts, and they end by themselves."""
    while True:
        with suppress(KeyboardInterrupt):
            return part.wait()


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
