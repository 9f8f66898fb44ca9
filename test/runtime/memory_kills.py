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
Kills a process that writes facts, again and again: `python memory_kills.py FILE --kills N`.

Each writer is forked, tells the id of every fact the store published, and gets SIGKILL at a random
moment. After each kill the file is opened: it must be whole and hold all that was told. Prints one
line of JSON.
"""

import argparse
import json
import os
import random
import signal
import sqlite3
import sys
import time

from oxygen_ros.runtime.memory import MemoryStore
from oxygen_ros.types import MemoryFact

MAX_DELAY_S = 0.02         # after the first fact; a write takes a fraction of a millisecond


def write_forever(path: str, told: int) -> None:
    """Store facts as fast as it goes; write the id of each published one to a descriptor."""
    store = MemoryStore(path, on_fact=lambda fact: os.write(told, b'%d\n' % fact.fact_id))
    for number in range(1_000_000):
        store.add(MemoryFact(f'cube {number % 7}', 'is', str(number), number, 1, 'memory-1'))
        if number % 20 == 19:
            time.sleep(0.001)


def kill_once(path: str, rng: random.Random) -> int:
    """Start a writer and kill it; return the newest id it told."""
    reader, told = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(reader)
            write_forever(path, told)
        finally:
            os._exit(1)
    os.close(told)
    with os.fdopen(reader) as lines:
        newest = int(lines.readline())
        time.sleep(rng.uniform(0, MAX_DELAY_S))
        os.kill(pid, signal.SIGKILL)
        for line in lines:
            if line.endswith('\n'):
                newest = int(line)
    os.waitpid(pid, 0)
    return newest


def check(path: str, newest: int) -> str:
    """Return what is wrong with the file, '' if nothing is."""
    database = sqlite3.connect(path)
    try:
        if database.execute('PRAGMA integrity_check').fetchone() != ('ok',):
            return 'the file is damaged'
        found, = database.execute('SELECT count(*) FROM facts WHERE fact_id <= ?',
                                  (newest,)).fetchone()
        if found != newest:
            return f'{newest - found} of {newest} published facts are missing'
        held, things = database.execute('SELECT count(*), count(DISTINCT subject) FROM facts '
                                        'WHERE superseded = 0').fetchone()
        return '' if held == things else f'{held} facts hold about {things} things'
    finally:
        database.close()


def main(argv: list[str]) -> int:
    """Kill writers; return 1 if the file was ever wrong."""
    parser = argparse.ArgumentParser(prog='memory_kills')
    parser.add_argument('file')
    parser.add_argument('--kills', type=int, default=50)
    parser.add_argument('--seed', type=int, default=0)
    options = parser.parse_args(argv)
    rng, wrong, newest = random.Random(options.seed), [], 0
    for kill in range(options.kills):
        newest = kill_once(options.file, rng)
        problem = check(options.file, newest)
        if problem:
            wrong.append(f'kill {kill}: {problem}')
    sys.stdout.write(json.dumps({'kills': options.kills, 'facts': newest, 'wrong': wrong}) + '\n')
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
