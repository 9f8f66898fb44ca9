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

"""What a report says, in words: used by the printed summary, the page and the comparison."""

from collections.abc import Sequence
import math
from typing import Any

MAX_INSTRUCTIONS = 3       # in one line
SMALLEST = 1e-4            # what is nearer to 0 is not told apart


def told(instructions: Sequence[dict[str, Any]]) -> str:
    """Return the instructions of a report over time in one line."""
    if not instructions:
        return 'nothing'
    parts = [f'"{entry["text"]}"' + (f' from {entry["at_s"]:.1f} s' if index else '')
             for index, entry in enumerate(instructions[:MAX_INSTRUCTIONS])]
    more = len(instructions) - MAX_INSTRUCTIONS
    return ', '.join(parts) + (f' and {more} more' if more > 0 else '')


def origin(instructions: Sequence[dict[str, Any]]) -> str:
    """Return where the instructions came from; '' without any."""
    names = {'profile': 'of the profile', 'option': 'given by --instruction',
             'recording': 'as recorded'}
    return ', '.join(names[source] for source in
                     dict.fromkeys(entry['source'] for entry in instructions))


def number(value: float | None) -> str:
    """Return a number as a person writes it: three digits, no exponent; – where there is none."""
    if value is None or math.isnan(value):
        return '–'
    if abs(value) < SMALLEST:
        return '0' if value == 0 else f'below {SMALLEST:.4f}'
    decimals = max(0, 2 - math.floor(math.log10(abs(value))))
    text = f'{value:.{decimals}f}'
    return text.rstrip('0').rstrip('.') if decimals else text


def percent(share: float | None) -> str:
    """Return a share in percent; – where there is none."""
    return '–' if share is None else f'{number(100 * share)} %'


def delay(actions: dict[str, Any]) -> str:
    """Return which delay of the recorded side was taken out, and how it is known."""
    if actions['delay_unknown']:
        return f'no delay taken out (could not be estimated: {actions["delay_unknown"]})'
    how = 'estimated' if actions['delay_estimated'] else 'given'
    return f'{1e3 * actions["delay_s"]:.0f} ms delay taken out ({how})'


def verdict(actions: dict[str, Any]) -> str:
    """Return whether the model was nearer to the recording than a robot that stays where it is."""
    better, moved = actions['joints_better_than_still'], actions['joints_moved']
    if not moved:
        return 'no joint moved in the recording: standing still cannot be beaten'
    resting = len(actions['joints']) - moved
    return (f'better than standing still on {better} of {moved} joints'
            + (f' ({resting} more never moved)' if resting else ''))
