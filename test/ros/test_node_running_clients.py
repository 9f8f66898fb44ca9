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
The commands that talk to a running node, run as a user runs them.

The tests share the node of test_node_running_acts.py; each puts back what it changed. Pinned: a
slow reader that slows everybody (SCH-07).
"""

import json
import os
from pathlib import Path
import signal
import subprocess
import sys
import time

from ros_helpers import ROOT
from ros_helpers import verdict
from ros_helpers import wait_until

START_S = 60       # a busy machine imports slowly


def start(*words, **env):
    """Start a command."""
    return subprocess.Popen(
        [sys.executable, '-m', 'oxygen_ros', *words], cwd=ROOT, text=True, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, env={**os.environ, 'PYTHONUNBUFFERED': '1', **env})


def run(*words, **env):
    """Run a command; return (exit code, stdout, stderr)."""
    return end_of(start(*words, **env))


def end_of(process):
    """Wait for the end of a command; return (exit code, stdout, stderr)."""
    try:
        out, err = process.communicate(timeout=START_S)
    finally:
        process.kill()
    return process.returncode, out, err


def test_ask_prints_the_answer_and_writes_it_down(running_node, heard, tmp_path):
    code, out, err = run('ask', 'what do you see?', '--max-tokens', '6', '--memory', '--json',
                         str(tmp_path / 'answer.json'))
    assert (code, err) == (0, '')
    answer = json.loads((tmp_path / 'answer.json').read_text())
    assert out == answer['text'] + '\n'
    assert answer['reason'] in ('eos', 'length') and answer['frame_id'] > 0
    assert answer['time_to_first_token_s'] > 0 and answer['tokens_per_s'] > 0
    assert any(piece.final and piece.full_text == answer['text']
               for piece in heard.messages['oxygen/language'] if piece.task == 'ask')


def test_ctrl_c_cancels_a_question(running_node, heard):
    def interrupted():
        count = len(heard.messages['oxygen/language'])

        def pieces():
            return [piece for piece in heard.messages['oxygen/language'][count:]
                    if piece.task == 'ask']
        process = start('ask', 'tell me everything', '--max-tokens', '64')
        try:
            wait_until(pieces, timeout_s=START_S)
            process.send_signal(signal.SIGINT)
            end = end_of(process)
        finally:
            process.kill()
        return end, wait_until(lambda: next((piece for piece in pieces() if piece.final), None))

    for _ in range(5):      # on a busy machine an answer may be ready before the signal is
        (code, out, err), last = interrupted()
        if last.reason == 'cancelled':
            break
    assert last.reason == 'cancelled' and last.full_text.startswith(out.rstrip('\n'))
    assert (code, err) == (130, '')


def test_a_question_that_cannot_be_answered_is_told_in_one_line(running_node):
    code, out, err = run('ask', 'what?', '--max-tokens', '9999')
    assert (code, out) == (1, '')
    assert err.startswith('oxygen ask: refused: 9999 tokens') and len(err.splitlines()) == 1


def test_a_wrong_domain_is_told_in_one_line():
    started = {words[0]: start(*words, ROS_DOMAIN_ID='4000')
               for words in (('ask', 'what?'), ('tasks',), ('subtask',), ('watch',))}
    for name, process in started.items():
        assert end_of(process) == (2, '', f"oxygen {name}: ROS_DOMAIN_ID is '4000'; choose a "
                                          'number from 0 to 101\n')


def test_a_file_that_cannot_be_written_is_told_before_watching():
    code, out, err = run('watch', '--seconds', '60', '--json', '/no/such/folder/watch.json')
    assert (code, out) == (2, '') and 'cannot write /no/such/folder/watch.json' in err


def test_the_memory_of_the_running_node_is_listed_and_shown(running_node, heard, tmp_path):
    wait_until(lambda: heard.messages['oxygen/memory'], timeout_s=START_S)
    code, out, err = run('memory', 'list', '--history', '--limit', '3', '--json',
                         str(tmp_path / 'facts.json'))
    assert (code, err) == (0, '') and out.count(' | ') >= 2
    newest = json.loads((tmp_path / 'facts.json').read_text())[0]
    assert newest['fact_id'] == int(out.split()[0])
    code, out, err = run('memory', 'show', str(newest['fact_id']))
    assert (code, err) == (0, '') and newest['request_id'] in out and 'all about' in out


def test_tasks_are_shown_changed_and_reset(running_node):
    code, out, err = run('tasks', 'set', 'narrate', 'priority=9', 'trigger=on_change')
    assert (code, err) == (0, '') and 'priority: 9' in out and 'on_change' in out
    code, out, err = run('tasks', 'off', 'narrate')
    assert code == 0 and 'narrate' not in out and 'memory' in out
    code, out, err = run('tasks', 'set', 'memory', 'destination=disk')
    assert code == 1 and "destination is 'disk'; choose one of" in err
    code, out, err = run('tasks', 'reset')
    assert code == 0 and 'priority: 1' in out and 'on_change' not in out


def test_a_subtask_is_given_and_released(running_node, heard):
    assert run('subtask', 'lift the cup') == (0, 'held: lift the cup\n', '')
    assert run('subtask') == (0, 'lift the cup (by the operator, held)\n', '')
    code, out, _ = run('subtask', '--release')
    assert code == 0 and 'the instruction holds' in out
    code, out, err = run('subtask', '--hold')
    assert (code, out) == (1, '') and 'there is no subtask to hold' in err
    verdict(heard, 'fresh')


def test_a_slow_reader_slows_nobody_and_others_miss_nothing(running_node, heard, tmp_path):
    slow = subprocess.Popen([sys.executable, str(Path(__file__).with_name('slow_reader.py')),
                             'oxygen'], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        assert slow.stdout.readline() == 'one\n'      # it has heard something
        start_count, start_s = len(heard.arrivals_s['command']), time.monotonic()
        code, out, err = run('watch', '--check', '--quiet', '--seconds', '10', '--json',
                             str(tmp_path / 'watch.json'))
        rate = (len(heard.arrivals_s['command']) - start_count) / (time.monotonic() - start_s)
    finally:
        slow.kill()
        slow.wait()
    assert code == 0, out + err
    streams = json.loads((tmp_path / 'watch.json').read_text())['streams']
    assert streams['texts_checked'] > 0
    assert streams['pieces_missing'] == streams['pieces_repeated'] == 0
    is_crowded = os.getloadavg()[0] > 2 * os.cpu_count()     # then the test itself hears late
    assert rate > (35 if is_crowded else 47)
