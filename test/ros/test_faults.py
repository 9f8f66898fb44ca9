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

"""Faults are told once, kept for the status and never end an executor (pinned: TIM-05)."""

import logging

from oxygen_ros.ros import faults as faults_module
from oxygen_ros.ros.faults import Faults
from oxygen_ros.ros.logs import send_logs_to
from oxygen_ros.ros.logs import stop_logs


class Lines:
    """Keeps log lines by severity."""

    def __init__(self):
        self.lines = []

    def __getattr__(self, severity):
        return lambda text: self.lines.append((severity, text))


def test_the_same_complaint_is_told_once_in_a_while_and_others_at_once():
    log = Lines()
    faults = Faults(log)
    for count in range(10):
        faults.warn('camera front', f'bad picture {count}')
        faults.warn('camera wrist', 'bad picture')
    assert log.lines == [('warning', 'bad picture 0'), ('warning', 'bad picture')]
    assert ('bad picture 9', False) in faults.recent()


def test_an_exception_is_told_with_its_traceback_and_the_caller_goes_on():
    log = Lines()
    faults = Faults(log)

    def callback(message):
        raise ValueError(f'bad {message}')
    assert faults.guard('callback of /topic', callback)('news') is None
    (severity, text), = log.lines
    assert severity == 'error'
    assert 'callback of /topic failed: ValueError: bad news' in text and 'Traceback' in text
    assert faults.num_exceptions == 1
    assert faults.recent() == [('callback of /topic failed: ValueError: bad news', True)]


def test_a_fault_leaves_the_status_after_a_while(monkeypatch):
    faults = Faults(Lines())
    faults.warn('a', 'something')
    monkeypatch.setattr(faults_module, 'RECENT_S', -1.0)
    assert faults.recent() == []


def test_records_of_the_package_reach_the_node_log_with_severity_and_traceback():
    log = Lines()
    handler = send_logs_to(log, package='oxygen_ros.nothing')
    logger = logging.getLogger('oxygen_ros.nothing.part')
    try:
        logger.info('loading %s', 'x')
        logger.warning('slow')
        try:
            raise RuntimeError('broken')
        except RuntimeError:
            logger.exception('failed')
    finally:
        stop_logs(handler, package='oxygen_ros.nothing')
    logger.warning('nobody hears this')
    assert log.lines[:2] == [('info', 'loading x'), ('warning', 'slow')]
    assert log.lines[2][0] == 'error' and 'RuntimeError: broken' in log.lines[2][1]
    assert len(log.lines) == 3
