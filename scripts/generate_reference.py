#!/usr/bin/env python3
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
Writes parameters.md, messages.md and cli.md in doc/reference/ from the code.

    PYTHONPATH=. .venv/bin/python scripts/generate_reference.py

test/test_reference.py fails when the files are not current.
"""

import argparse
from importlib import import_module
from pathlib import Path
import signal
from unittest import mock

from oxygen_ros.cli import COMMANDS
from oxygen_ros.config import load_robot
from oxygen_ros.ros import parameters as declared
from oxygen_ros.ros.parameters import LIVE
from oxygen_ros.ros.parameters import Parameter
from oxygen_ros.ros.parameters import PARAMETERS
from oxygen_ros.ros.parameters import START

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / 'doc' / 'reference'
WHEN = {START: 'start', LIVE: 'at once'}
NOTE = '<!-- Made by scripts/generate_reference.py; change the code, not this file. -->\n'


def row(parameter: Parameter) -> str:
    """Return one parameter as a row of the table."""
    default = repr(parameter.default).lower() if isinstance(parameter.default, bool) \
        else repr(parameter.default)
    values = ''
    if parameter.low is not None:
        values = f'{parameter.low} to {parameter.high}'
    elif parameter.choices:
        values = ', '.join(choice or "''" for choice in parameter.choices)
    when = WHEN.get(parameter.read, 'configure')
    return f'| `{parameter.name}` | `{default}` | {values} | {when} | {parameter.description} |'


def parameters_page() -> str:
    """Return the page about the node's parameters."""
    head = ['| name | default | values | read | what it does |', '|---|---|---|---|---|']
    camera = load_robot('so101').cameras[0]
    return '\n'.join([
        NOTE, '# Parameters of the node', '',
        'Read `start`: fixed for the life of the process. Read `configure`: a change takes effect '
        'at the next configure, and is refused from then until cleanup. Read `at once`: a change '
        'takes effect while the robot moves.', '',
        *head, *(row(parameter) for parameter in PARAMETERS), '',
        '## Cameras', '',
        f'For every camera of the profile, here `{camera.slot}`; the default is what the profile '
        f'says.', '',
        *head, *(row(make(camera)) for _, make in declared._CAMERA_PARAMETERS), ''])


def messages_page() -> str:
    """Return the page about messages, the service and the action."""
    lines = [NOTE, '# Messages, service, action', '',
             'Every field has its unit in the comment behind it.', '']
    for kind in ('msg', 'srv', 'action'):
        for path in sorted((ROOT / kind).iterdir()):
            lines += [f'## oxygen_ros/{kind}/{path.stem}', '', '```',
                      path.read_text(encoding='utf-8').rstrip(), '```', '']
    return '\n'.join(lines)


# Commands within a command that have a module of their own: words -> module.
INNER = {'bench tick': 'oxygen_ros.tools.bench_tick',
         'bench words': 'oxygen_ros.tools.bench_words',
         'bench recall': 'oxygen_ros.tools.bench_recall',
         'bench costs': 'oxygen_ros.tools.bench_costs'}


def parser_of(module: str) -> argparse.ArgumentParser:
    """Return the parser of a command: the one that would print its help."""
    found = []
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        with mock.patch.object(argparse.ArgumentParser, 'print_help',
                               lambda parser: found.append(parser)):
            import_module(module).main(['--help'])
    except SystemExit:
        pass
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    return found[0]


def options_of(parser: argparse.ArgumentParser) -> list[str]:
    """Return the arguments of a command as rows of a table, those of its verbs behind it."""
    # Not argparse's own layout of the help: that differs from one Python to the next.
    rows, verbs = [], []
    for action in parser._actions:
        if isinstance(action, argparse._HelpAction):
            continue
        if isinstance(action, argparse._SubParsersAction):
            verbs += [(choice.dest, choice.help, action.choices[choice.dest])
                      for choice in action._choices_actions]
            continue
        value = action.metavar or (action.dest.upper() if action.nargs != 0 else '')
        if action.choices and not action.metavar:
            value = '{' + ','.join(map(str, action.choices)) + '}'
        name = ', '.join(f'`{name} {value}`' if value else f'`{name}`'
                         for name in action.option_strings) or f'`{value}`'
        text = parser._get_formatter()._expand_help(action) if action.help else ''
        rows.append('| ' + name.replace('|', '\\|') + f' | {" ".join(text.split())} |')
    lines = ['', '| argument | what it does |', '|---|---|', *rows] if rows else []
    for name, text, verb in verbs:
        lines += ['', f'### {parser.prog} {name}', '', f'{text[0].upper()}{text[1:]}.',
                  *options_of(verb)]
    return lines


def cli_page() -> str:
    """Return the page about the command line."""
    lines = [NOTE, '# The command line', '',
             'On a robot: `ros2 run oxygen_ros oxygen COMMAND`. Arguments behind `--ros-args` are '
             'those of any ROS 2 node.']
    commands = {name: module for name, (module, _) in COMMANDS.items()}
    for name, module in {**commands, **INNER}.items():
        parser = parser_of(module)
        lines += ['', f'## oxygen {name}', '', parser.description, *options_of(parser)]
        if parser.epilog:
            lines += ['', '```', parser.epilog.strip(), '```']
    return '\n'.join([*lines, ''])


PAGES = {'parameters.md': parameters_page, 'messages.md': messages_page, 'cli.md': cli_page}

if __name__ == '__main__':
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, page in PAGES.items():
        (FOLDER / name).write_text(page(), encoding='utf-8')
