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

"""What one sequence contributes to a forward pass."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Segment:
    """
    Consecutive rows of a forward pass that belong to one sequence.

    All rows see the whole context. The first num_bidirectional rows see each other and no
    later row; every other row sees those, the rows before it, and itself.

    prefix, bidirectional: Segment(n, write, num_bidirectional=n)
    prefix, causal text:   Segment(n, write, num_bidirectional=number of image rows)
    decode or suffix:      Segment(n, write, start=position, context=(prefix, own earlier rows))
    """

    num_rows: int
    write: int                                # first pool row of its K/V; the rest follow
    start: int = 0                            # position (RoPE) of its first row
    context: tuple[tuple[int, int], ...] = ()  # pool rows [begin, end) visible to all its rows
    num_bidirectional: int = 0

    def __post_init__(self):
        """Check what would otherwise read rows nobody wrote."""
        if self.num_rows < 1:
            raise ValueError(f'a segment needs at least one row, not {self.num_rows}')
        if not 0 <= self.num_bidirectional <= self.num_rows:
            raise ValueError(f'num_bidirectional is {self.num_bidirectional}, outside 0 to '
                             f'{self.num_rows}')
        for begin, end in self.context:
            if begin < self.write + self.num_rows and self.write < end:
                raise ValueError(f'context rows [{begin}, {end}) overlap the rows written from '
                                 f'{self.write}')

    @property
    def stop(self) -> int:
        """Pool row behind its last one."""
        return self.write + self.num_rows
