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

"""`oxygen doctor`: what is missing or slow on this machine, in plain words, with the remedy."""

import argparse
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence
from dataclasses import asdict
import sys
import textwrap

from oxygen_ros.figures import write_figures
from oxygen_ros.tools import doctor_checks as checks
from oxygen_ros.tools.doctor_checks import Finding

CHECKS: tuple[Callable[[], Finding | tuple[Finding, ...]], ...] = (
    checks.check_python, checks.check_ros, checks.check_domain, checks.check_messages,
    checks.check_model_libraries, checks.check_realtime, checks.check_memory_lock,
    checks.check_cpus, checks.check_shared_memory, checks.check_transport,
    checks.check_rendering, checks.check_kinematics)
NAME_WIDTH = 14
LEVEL_WIDTH = 8
EXIT_OK, EXIT_MISSING = 0, 1


def examine() -> Iterator[Finding]:
    """Run every check, one after another, so that each can be shown when it is known."""
    for check in CHECKS:
        found = check()
        yield from found if isinstance(found, tuple) else (found,)


def render(finding: Finding) -> str:
    """Return a finding as the lines of the report."""
    indent = ' ' * (NAME_WIDTH + LEVEL_WIDTH)
    lines = textwrap.wrap(finding.text, 99 - len(indent), break_long_words=False)
    if finding.remedy:
        lines += textwrap.wrap(f'-> {finding.remedy}', 99 - len(indent), break_long_words=False)
    head = f'{finding.name:<{NAME_WIDTH}}{finding.level:<{LEVEL_WIDTH}}'
    return head + f'\n{indent}'.join(lines)


def conclusion(findings: Iterable[Finding]) -> str:
    """Return the last line: whether the node can run here, and how well."""
    by_level = {level: [finding.name for finding in findings if finding.level == level]
                for level in (checks.MISSING, checks.SLOW)}
    if by_level[checks.MISSING]:
        return f'The node cannot run here until this is fixed: {_join(by_level[checks.MISSING])}.'
    if by_level[checks.SLOW]:
        return f'The node can run here. It would keep time better with: {_join(by_level["slow"])}.'
    return 'The node can run here.'


def main(argv: Sequence[str] | None = None) -> int:
    """Examine this machine; the exit code is not 0 only if the node cannot run."""
    parser = argparse.ArgumentParser(
        prog='oxygen doctor', description='Say what is missing or slow on this machine.',
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog='example:\n  oxygen doctor --json machine.json\n\n'
               'exit code: 0 when the node can run, 1 when it cannot')
    parser.add_argument('--json', metavar='FILE', default='', help='write the findings to FILE')
    options = parser.parse_args(argv)
    findings = []
    for finding in examine():
        findings.append(finding)
        print(render(finding), flush=True)
    print(f'\n{conclusion(findings)}')
    can_run = all(finding.level != checks.MISSING for finding in findings)
    if options.json:
        report = {'can_run': can_run, 'findings': [asdict(finding) for finding in findings]}
        if failure := write_figures(options.json, report):
            print(f'oxygen doctor: {failure}', file=sys.stderr)
            return EXIT_MISSING
    return EXIT_OK if can_run else EXIT_MISSING


def _join(names: Sequence[str]) -> str:
    return ', '.join(names)
