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

"""A finding about one thing that was checked, and the words for what topics do in time."""

from dataclasses import dataclass

from oxygen_ros.sensing.topic_record import TopicRecord

OK = 'ok'
NOTE = 'note'        # works, worth knowing
SLOW = 'slow'        # the node would have fallen back for a moment
WRONG = 'wrong'      # the node would fall back, or not move at all

_MAX_FUTURE_NS = 1_000_000_000     # as the intake


@dataclass(frozen=True)
class Finding:
    """What is right or wrong about one thing, in plain words."""

    name: str
    level: str           # OK, NOTE, SLOW or WRONG
    text: str
    remedy: str = ''


def timing(name: str, record: TopicRecord, *, max_age_s: float, key: str) -> list[Finding]:
    """
    Judge rate and stamps of a topic that had messages; `key` names its age limit.

    A source that keeps the limit on the whole and breaks it now and then was slow, as on a busy
    machine; one that never could keep it is wrong.
    """
    gap_s, oldest_s = record.longest_gap_ns / 1e9, record.oldest_ns / 1e9
    found = []
    if record.count < 2:
        found.append(Finding(name, NOTE, 'one message only: its rate is not known',
                             'look for longer: --seconds'))
    elif gap_s > max_age_s:
        found.append(Finding(
            name, SLOW if record.rate_hz * max_age_s > 1 else WRONG,
            f'{record.rate_hz:.1f} Hz with a gap of {gap_s:.2f} s; older than '
            f'{max_age_s:g} s is stale, and the robot falls back',
            f'speed the source up, or raise {key}'))
    else:
        found.append(Finding(name, OK, f'{record.rate_hz:.1f} Hz, longest gap {gap_s:.3f} s of '
                             f'{max_age_s:g} s allowed'))
    if record.earliest_ns > _MAX_FUTURE_NS:
        found.append(Finding(name, WRONG, f'stamped {record.earliest_ns / 1e9:.1f} s in the '
                             f'future: such messages are refused', 'synchronise the clocks'))
    elif oldest_s > max_age_s:
        is_always = record.youngest_ns / 1e9 > max_age_s
        clocks = 'synchronise the clocks, ' if is_always else ''
        found.append(Finding(
            name, WRONG if is_always else SLOW, f'up to {oldest_s:.2f} s old on arrival; older '
            f'than {max_age_s:g} s is stale',
            f'{clocks}speed the source up, or raise {key}'))
    if record.num_unstamped:
        found.append(Finding(name, NOTE, f'{record.num_unstamped} of {record.count} messages have '
                             f'no stamp: the time of arrival counts', 'let the driver stamp them'))
    if record.num_repeated or record.num_backwards:
        found.append(Finding(
            name, WRONG, f'{record.num_repeated} messages repeat the stamp before, '
            f'{record.num_backwards} go back: a source that does so looks frozen',
            'look for a second publisher, or a driver that repeats its last message'))
    return found
