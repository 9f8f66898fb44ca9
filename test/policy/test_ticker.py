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
The grid is absolute: nothing moves it, and nothing missed is made up for.

No assertion on how late a tick is: that belongs to a quiet machine, not to a test.
Pinned: TIM-01 (burst after a stall), TIM-05 (exception ends the thread unnoticed).
"""

import gc
import logging
import os
from pathlib import Path
import signal
import subprocess
import sys
import textwrap
import threading
import time

import pytest

from oxygen_ros.config import ConfigError
from oxygen_ros.policy import Ticker

RATE_HZ = 100
PERIOD_NS = 10_000_000


class Log:
    """Remembers when each tick came, and does what the test wants on some of them."""

    def __init__(self):
        self.ticks = []  # (index, lateness_ns, steady time of the call)
        self.actions = {}
        self.seen = threading.Condition()

    def __call__(self, index, lateness_ns):
        with self.seen:
            self.ticks.append((index, lateness_ns, time.monotonic_ns()))
            self.seen.notify_all()
        action = self.actions.get(len(self.ticks))
        if action is not None:
            action()

    def wait_for(self, count):
        with self.seen:
            assert self.seen.wait_for(lambda: len(self.ticks) >= count, timeout=20)


@pytest.fixture
def run():
    """Return a function that ticks `count` times and gives (ticker, log) when it has stopped."""
    tickers = []

    def run(count, actions=(), **options):
        log = Log()
        log.actions = dict(actions)
        ticker = Ticker(RATE_HZ, log, **options)
        tickers.append(ticker)
        ticker.start()
        log.wait_for(count)
        assert ticker.stop()
        return ticker, log

    yield run
    for ticker in tickers:
        ticker.stop()


def _check_grid(ticker, log, *, period_ns=PERIOD_NS):
    """Every tick came after its grid point and before the next one, each point at most once."""
    indices = [index for index, _, _ in log.ticks]
    assert indices == sorted(set(indices))
    for index, lateness_ns, called_ns in log.ticks:
        assert 0 <= lateness_ns < period_ns
        assert called_ns >= ticker.start_ns + index * period_ns + lateness_ns
    assert ticker.num_ticks == len(indices)
    assert ticker.num_missed == indices[-1] + 1 - len(indices)


def test_ticks_are_on_the_grid(run):
    _check_grid(*run(50))


def test_overrun_is_followed_by_no_burst_and_the_missed_points_are_counted(run):
    ticker, log = run(30, {10: lambda: time.sleep(0.105)})
    _check_grid(ticker, log)
    before, after = log.ticks[9], log.ticks[10]
    assert after[0] - before[0] >= 11
    assert ticker.num_missed >= 10


def test_exception_in_a_tick_is_logged_and_the_ticks_go_on(run, caplog):
    errors = []

    def fail():
        raise ValueError('publisher gone')

    with caplog.at_level(logging.ERROR):
        ticker, log = run(20, {5: fail, 6: fail}, on_error=errors.append)
    _check_grid(ticker, log)
    assert ticker.num_errors == 2
    assert [str(error) for error in errors] == ['publisher gone'] * 2
    assert 'publisher gone' in caplog.text and 'Traceback' in caplog.text


def test_nothing_is_called_after_stop(run):
    _, log = run(5)
    count = len(log.ticks)
    time.sleep(0.05)
    assert len(log.ticks) == count


def test_stop_may_come_twice_and_the_ticker_starts_again():
    log = Log()
    ticker = Ticker(RATE_HZ, log)
    assert ticker.stop()
    for _ in range(2):
        ticker.start()
        log.wait_for(len(log.ticks) + 3)
        assert ticker.stop()
        assert ticker.stop()
    assert [index for index, _, _ in log.ticks].count(0) == 2


def test_callback_that_does_not_return_is_reported_by_stop(caplog):
    release = threading.Event()
    ticker = Ticker(RATE_HZ, lambda index, lateness_ns: release.wait(20))
    ticker.start()
    time.sleep(0.03)
    assert not ticker.stop(timeout_s=0.05)
    assert 'still running' in caplog.text
    release.set()
    assert ticker.stop()


@pytest.mark.parametrize('rate_hz', [9, 501, float('nan'), '50'])
def test_rate_outside_10_to_500_is_refused(rate_hz):
    with pytest.raises(ConfigError, match='rate_hz'):
        Ticker(rate_hz, print)


@pytest.mark.parametrize('rate_hz', [10, 500])
def test_slowest_and_fastest_rate_keep_their_period(rate_hz):
    log = Log()
    ticker = Ticker(rate_hz, log)
    ticker.start()
    log.wait_for(4)
    ticker.stop()
    _check_grid(ticker, log, period_ns=1_000_000_000 // rate_hz)


def test_priority_is_real_time_where_permitted_and_else_says_what_to_do(run):
    policies = []
    ticker, _ = run(3, {2: lambda: policies.append(os.sched_getscheduler(0))})
    if ticker.is_realtime:
        assert policies[0] & ~os.SCHED_RESET_ON_FORK == os.SCHED_FIFO
    else:
        assert policies[0] == os.SCHED_OTHER
        assert any('rtprio' in warning for warning in ticker.warnings)
    assert os.sched_getscheduler(0) == os.SCHED_OTHER


def test_priority_that_is_not_asked_for_is_not_taken_and_gives_no_warning(run):
    ticker, _ = run(3, realtime_priority=0)
    assert not ticker.is_realtime
    assert ticker.warnings == ()


def test_threads_and_processes_started_in_a_tick_do_not_inherit_the_priority(run):
    policies = []

    def spawn():
        thread = threading.Thread(target=lambda: policies.append(os.sched_getscheduler(0)))
        thread.start()
        thread.join()

    run(3, {2: spawn})
    assert policies == [os.SCHED_OTHER]


def test_garbage_is_not_collected_inside_a_tick_and_the_interpreter_is_given_back(run):
    interval_s, enabled = sys.getswitchinterval(), []
    run(3, {2: lambda: enabled.append(gc.isenabled())})
    assert enabled == [False]
    assert gc.isenabled()
    assert sys.getswitchinterval() == pytest.approx(interval_s)


def test_stopped_process_goes_on_with_at_most_one_tick_per_grid_point(tmp_path):
    """SIGSTOP for most of a second, then SIGCONT: as a suspended laptop or a debugger does it."""
    script = textwrap.dedent("""
        import sys, time
        from oxygen_ros.policy import Ticker
        def tick(index, lateness_ns):
            print(index, lateness_ns, time.monotonic_ns() - ticker.start_ns, flush=True)
        ticker = Ticker(50, tick)
        ticker.start()
        sys.stdin.readline()
        ticker.stop()
        print('missed', ticker.num_missed, flush=True)
    """)
    root = str(Path(__file__).parents[2])
    process = subprocess.Popen(
        [sys.executable, '-c', script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env={**os.environ, 'PYTHONPATH': root + os.pathsep + os.environ.get('PYTHONPATH', '')})
    try:
        lines = [process.stdout.readline() for _ in range(10)]
        process.send_signal(signal.SIGSTOP)
        time.sleep(0.8)
        process.send_signal(signal.SIGCONT)
        lines += [process.stdout.readline() for _ in range(20)]
        output, _ = process.communicate('end\n', timeout=20)
    finally:
        process.kill()
    *more, missed = output.splitlines()
    ticks = [tuple(map(int, line.split())) for line in lines + more]
    indices = [index for index, _, _ in ticks]
    gaps = [after - before for before, after in zip(indices, indices[1:])]
    assert max(gaps) >= 35
    assert min(gaps) >= 1
    for index, lateness_ns, called_ns in ticks:
        assert lateness_ns < 20_000_000
        assert called_ns >= 20_000_000 * index + lateness_ns
    assert int(missed.split()[1]) == indices[-1] + 1 - len(indices)
