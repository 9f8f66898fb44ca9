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
Look into the memory of a node: ask it while it runs, or read its file, also while it runs.

    oxygen memory list
    oxygen memory list facts.db --text tray
    oxygen memory show facts.db 17
    oxygen memory export facts.db facts.csv
    oxygen memory clear facts.db --before 2026-01-31

The file is the one that the parameter memory_file of the node names.
"""

import argparse
from collections.abc import Sequence
from contextlib import closing
import csv
from dataclasses import asdict
from datetime import datetime
from importlib.util import find_spec
import json
from pathlib import Path
import sqlite3
import subprocess
import sys

from oxygen_ros.runtime.memory_file import COLUMNS
from oxygen_ros.runtime.memory_file import delete
from oxygen_ros.runtime.memory_file import fact_of
from oxygen_ros.runtime.memory_file import Filters
from oxygen_ros.runtime.memory_file import open_existing
from oxygen_ros.runtime.memory_file import select
from oxygen_ros.runtime.memory_file import StoreError
from oxygen_ros.types import MemoryFact

EXIT_OK, EXIT_FAILED = 0, 1
NO_LIMIT = -1
NUM_ASKED = 5000         # facts of one answer of a node: about 1 MB
FIELDS = ('fact_id', 'time', 'subject', 'relation', 'object', 'confidence', 'superseded',
          'frame_id', 'request_id', 'stamp_ns')


class CannotDo(RuntimeError):
    """What was asked cannot be done; the message says why."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one verb; return the exit code."""
    argv = list(sys.argv[1:] if argv is None else argv)
    split = argv.index('--ros-args') if '--ros-args' in argv else len(argv)
    options = parser().parse_args(argv[:split])
    try:
        if options.file is None:
            return ask_node(options, argv[split:])
        with closing(open_existing(options.file)) as database:
            print(options.do(database, options))
    except (StoreError, CannotDo) as error:
        print(f'oxygen memory: {error}', file=sys.stderr)
        return EXIT_FAILED
    except sqlite3.Error as error:
        print(f'oxygen memory: {options.file}: {error}; try again, or move a damaged file away',
              file=sys.stderr)
        return EXIT_FAILED
    except OSError as error:
        print(f'oxygen memory: cannot write {error.filename}: {error.strerror}; choose another '
              'file', file=sys.stderr)
        return EXIT_FAILED
    return EXIT_OK


def parser() -> argparse.ArgumentParser:
    """Return the parser; options.do(database, options) does the work and returns what to say."""
    top = argparse.ArgumentParser(
        prog='oxygen memory', description='Look into the memory of a node.',
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog='examples:\n  oxygen memory list --text tray\n'
               '  oxygen memory list facts.db --text tray --history --json facts.json\n'
               '  oxygen memory export facts.db facts.csv\n'
               '  oxygen memory clear facts.db --before 2026-01-31 --yes\n\n'
               'FILE is the one that the parameter memory_file of the node names; the node may '
               'run meanwhile.\nWithout FILE, list and show ask the node that runs; behind '
               '--ros-args its namespace:\n  oxygen memory list --ros-args -r __ns:=/left')
    verbs = top.add_subparsers(metavar='list | show | export | clear', required=True)
    for name, do, text in (('list', show_list, 'facts, newest first'),
                           ('show', show_one, 'one fact and what was known before and after'),
                           ('export', export, 'facts as .json or .csv'),
                           ('clear', clear, 'delete facts')):
        verb = verbs.add_parser(name, help=text)
        verb.set_defaults(do=do)
        if name in ('list', 'show'):
            verb.add_argument('file', type=Path, metavar='FILE', nargs='?',
                              help='the SQLite file (default: ask the running node)')
            verb.add_argument('--node', default='oxygen', metavar='NAME',
                              help='name of the node, without FILE (default: oxygen)')
        else:
            verb.add_argument('file', type=Path, metavar='FILE', help='the SQLite file')
        if name == 'show':
            verb.add_argument('fact_id', type=int, metavar='ID', help='number of the fact')
            continue
        if name == 'export':
            verb.add_argument('to', type=Path, metavar='TO', help='file ending in .json or .csv')
        _add_filters(verb)
        if name == 'list':
            verb.add_argument('--history', action='store_true', help='also superseded facts')
            verb.add_argument('--limit', type=int, default=100, help='at most (default 100)')
            verb.add_argument('--json', type=Path, metavar='FILE', help='write them to FILE')
        if name == 'clear':
            verb.add_argument('--yes', action='store_true', help='do not ask')
    return top


def show_list(database: sqlite3.Connection, options: argparse.Namespace) -> str:
    """Return a line per fact."""
    return listing(select(database, filters(options, history=options.history),
                          limit=options.limit), options)


def listing(facts: Sequence[MemoryFact], options: argparse.Namespace) -> str:
    """Return a line per fact; writes them down if that is wanted."""
    if options.json:
        write(options.json, facts)
    return '\n'.join(line(fact) for fact in facts) or 'no fact matches'


def show_one(database: sqlite3.Connection, options: argparse.Namespace) -> str:
    """Return every field of a fact, and the others about the same thing."""
    row = database.execute(f'SELECT {COLUMNS} FROM facts WHERE fact_id = ?',
                           (options.fact_id,)).fetchone()
    if row is None:
        raise CannotDo(f'{options.file} has no fact {options.fact_id}; `oxygen memory list` shows '
                       'the numbers')
    fact = fact_of(row)
    return details(fact, select(database, Filters(subject=fact.subject, relation=fact.relation),
                                limit=NO_LIMIT))


def details(fact: MemoryFact, others: Sequence[MemoryFact]) -> str:
    """Return every field of a fact; others: all about the same thing, newest first."""
    width = max(map(len, FIELDS))
    return '\n'.join([*(f'{name:<{width}}  {value}' for name, value in fields(fact).items()), '',
                      f'all about {fact.subject} | {fact.relation}, newest first:',
                      *(line(other) for other in others)])


def ask_node(options: argparse.Namespace, ros_arguments: Sequence[str]) -> int:
    """List or show what a running node remembers; returns the exit code."""
    if find_spec('rclpy') is None:
        raise ModuleNotFoundError('without FILE a running node is asked', name='rclpy')
    wanted = Filters() if options.do is show_one else filters(options, history=options.history)
    limit = NUM_ASKED if options.do is show_one or options.limit < 0 else options.limit
    request = json.dumps({**asdict(wanted), 'limit': limit})
    answer = subprocess.run(
        [sys.executable, '-m', 'oxygen_ros.ros.recall_client', request, options.node,
         *ros_arguments], stdout=subprocess.PIPE, text=True, check=False)
    if answer.returncode:
        return answer.returncode        # it has said why
    facts = [MemoryFact(**values) for values in json.loads(answer.stdout)]
    if options.do is show_list:
        print(listing(facts, options))
        return EXIT_OK
    fact = next((fact for fact in facts if fact.fact_id == options.fact_id), None)
    if fact is None:
        raise CannotDo(f'fact {options.fact_id} is not among the newest {NUM_ASKED} of node '
                       f'{options.node}; give its memory file, or see `oxygen memory list`')
    print(details(fact, [other for other in facts if (other.subject, other.relation) == (
        fact.subject, fact.relation)]))
    return EXIT_OK


def export(database: sqlite3.Connection, options: argparse.Namespace) -> str:
    """Write facts, history included, oldest first."""
    if options.to.suffix not in ('.json', '.csv'):
        raise CannotDo(f'{options.to} ends neither in .json nor in .csv; choose one of them')
    facts = select(database, filters(options), limit=NO_LIMIT)[::-1]
    write(options.to, facts)
    return f'{len(facts)} facts written to {options.to}'


def clear(database: sqlite3.Connection, options: argparse.Namespace) -> str:
    """Delete facts, history included; asks first."""
    wanted = filters(options)
    count = len(select(database, wanted, limit=NO_LIMIT))
    if count and not options.yes:
        if not sys.stdin.isatty():
            raise CannotDo(f'{count} facts would be deleted; add --yes')
        if input(f'delete {count} facts from {options.file}? [y/N] ').lower() not in ('y', 'yes'):
            raise CannotDo('nothing was deleted')
    return f'{delete(database, wanted)} facts deleted'


def filters(options: argparse.Namespace, *, history: bool = True) -> Filters:
    """Return which facts are wanted."""
    return Filters(subject=options.subject, relation=options.relation, text=options.text,
                   after_ns=options.after, before_ns=options.before, history=history)


def fields(fact: MemoryFact) -> dict:
    """Return a fact as JSON has it; time in ISO 8601, local, from the observation stamp."""
    return {name: getattr(fact, name) if name != 'time' else _time(fact) for name in FIELDS}


def line(fact: MemoryFact) -> str:
    """Return a fact in one line."""
    sure = '' if fact.confidence is None else f'  ({fact.confidence:.2f})'
    old = '  superseded' if fact.superseded else ''
    return (f'{fact.fact_id:>6}  {_time(fact)}  {fact.subject} | {fact.relation} | '
            f'{fact.object}{sure}{old}')


def write(path: Path, facts: Sequence[MemoryFact]) -> None:
    """Write facts as a .csv table, else as JSON."""
    if path.suffix == '.csv':
        with path.open('w', encoding='utf-8', newline='') as file:
            table = csv.DictWriter(file, FIELDS)
            table.writeheader()
            table.writerows(fields(fact) for fact in facts)
    else:
        path.write_text(json.dumps([fields(fact) for fact in facts], indent=2,
                                   ensure_ascii=False) + '\n', encoding='utf-8')


def _time(fact: MemoryFact) -> str:
    return datetime.fromtimestamp(fact.stamp_ns / 1e9).isoformat(timespec='milliseconds')


def _stamp_ns(text: str) -> int:
    try:
        return round(datetime.fromisoformat(text).timestamp() * 1e9)
    except ValueError as error:
        raise argparse.ArgumentTypeError(
            f'{text!r} is no time; write 2026-01-31 or 2026-01-31T15:30') from error


def _add_filters(verb: argparse.ArgumentParser) -> None:
    verb.add_argument('--subject', default='', help='exactly this, but for letter case')
    verb.add_argument('--relation', default='', help='the same for the relation')
    verb.add_argument('--text', default='', help='words that must all occur in the fact')
    verb.add_argument('--after', type=_stamp_ns, default=0, metavar='TIME',
                      help='seen then or later')
    verb.add_argument('--before', type=_stamp_ns, default=0, metavar='TIME', help='seen earlier')


if __name__ == '__main__':
    sys.exit(main())
