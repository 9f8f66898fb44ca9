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

"""Words that the engine writes between actions leave the node in an even rhythm."""

import time

import numpy as np
import pytest

from oxygen_ros.runtime.playout import MAX_BEHIND_S
from oxygen_ros.runtime.playout import Playout
from oxygen_ros.runtime.teller import Teller


def bursts(num_tokens: int, *, start_s: float) -> list[float]:
    """Return when an engine writes: four tokens in 60 ms, then 140 ms of action work."""
    return [start_s + 0.2 * (index // 4) + 0.02 * (index % 4) for index in range(num_tokens)]


def played(playout, request_id: str, arrivals_s) -> np.ndarray:
    """Return when the pieces of one text leave."""
    return np.array([
        playout.release_s(request_id, 'narrate', 1, final=index == len(arrivals_s) - 1,
                          now_s=now_s)
        for index, now_s in enumerate(arrivals_s)])


@pytest.fixture
def playout():
    """Return one for a task with 20 tokens a second."""
    result = Playout()
    result.set_rates({'narrate': 20.0})
    return result


def test_bursts_leave_one_period_apart(playout):
    played(playout, 'first', bursts(16, start_s=0.0))       # from which it learns
    arrivals_s = bursts(16, start_s=1.0)
    assert np.diff(arrivals_s).max() > 6 * np.median(np.diff(arrivals_s))
    gaps_s = np.diff(played(playout, 'second', arrivals_s))
    np.testing.assert_allclose(gaps_s, 0.05, atol=1e-6)


def test_nothing_leaves_before_it_came_or_long_after(playout):
    for number in range(5):
        arrivals_s = np.array(bursts(16, start_s=float(number)))
        released_s = played(playout, f'text-{number}', arrivals_s)
        assert np.all(released_s >= arrivals_s)
        assert np.all(released_s <= arrivals_s + 0.2)


def test_an_engine_that_is_slower_than_wanted_is_followed(playout):
    for number in range(3):
        arrivals_s = 10.0 * number + 0.1 * np.arange(20)    # 10 tokens a second, not 20
        released_s = played(playout, f'text-{number}', arrivals_s)
    np.testing.assert_allclose(np.diff(released_s), 0.1, atol=0.01)
    assert released_s[-1] - arrivals_s[-1] < 0.2


def test_a_text_that_stalls_goes_on_at_once_and_is_never_kept_long(playout):
    arrivals_s = [0.0, 0.05, 3.0, *(3.0 + 0.001 * np.arange(1, 100))]
    released_s = played(playout, 'stalled', arrivals_s)
    assert released_s[2] == 3.0
    assert np.all(released_s - arrivals_s <= MAX_BEHIND_S + 1e-9)
    assert np.all(np.diff(released_s) >= 0)


def test_after_a_stall_the_rhythm_is_the_old_one(playout):
    played(playout, 'first', bursts(16, start_s=0.0))
    played(playout, 'stalled', [2.0, 2.05, 2.1, 9.0, 9.05])
    arrivals_s = bursts(16, start_s=20.0)
    released_s = played(playout, 'next', arrivals_s)
    np.testing.assert_allclose(np.diff(released_s), 0.05, atol=0.005)
    assert released_s[0] - arrivals_s[0] < 0.2


def test_the_next_text_does_not_overtake_the_one_before(playout):
    first_s = played(playout, 'first', bursts(16, start_s=0.0))
    assert played(playout, 'second', [0.7])[0] >= first_s[-1]


def test_a_text_without_a_rate_leaves_as_it_comes(playout):
    arrivals_s = bursts(8, start_s=0.0)
    released_s = [playout.release_s('ask-1', 'ask', 1, final=False, now_s=s) for s in arrivals_s]
    assert released_s == arrivals_s


def test_a_call_for_later_waits_and_lets_the_others_pass():
    told, teller = [], Teller()
    teller.start()
    start_s = time.monotonic()
    for number in (1, 2):
        teller.tell(told.append, f'later {number}', at_s=start_s + 0.3)
    teller.tell(told.append, 'now')
    give_up_s = start_s + 10
    while len(told) < 3 and time.monotonic() < give_up_s:
        time.sleep(0.01)
    assert time.monotonic() - start_s >= 0.3
    assert told == ['now', 'later 1', 'later 2']
    teller.close()


def test_what_waits_is_told_at_the_end():
    told, teller = [], Teller()
    teller.start()
    for number in (1, 2, 3):
        teller.tell(told.append, number, at_s=time.monotonic() + 3600)
    teller.close()
    assert told == [1, 2, 3]
