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
from typing import Any

MAX_INSTRUCTIONS = 3       # in one line


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
