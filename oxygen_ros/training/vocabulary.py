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
The words of the table-top model: each a single token, and so is each number it reads or says.

Any other text still has tokens, byte by byte, so that no question is refused.
"""

from pathlib import Path

from oxygen_ros.checkpoint.tiny_vocabulary import build
from oxygen_ros.checkpoint.tiny_vocabulary import SPACE
from oxygen_ros.checkpoint.tiny_vocabulary import SPECIAL
from oxygen_ros.sim.texts import LOCATION_STEP_MM
from oxygen_ros.sim.texts import X_RANGE_MM
from oxygen_ros.sim.texts import Y_RANGE_MM

NUM_STATE_BINS = 256
PAD_ID = SPECIAL.index('<pad>')
PROMPTS = {'narrate': '\nNarrate: ', 'subtask': '\nSubtask: ', 'memory': '\nMemory: '}

_WORDS = """
    a and are at blue carry close cube cubes do doing done down drop for from grab green gripper
    hand here hold holding in into is it left lift lower me middle mm move nothing of off on out
    pick place put reach red release right robot say see sight table take the there to tray up was
    what where which yellow you
""".split()
_CUES = ('Task:', ', State:', ';\nAction: ', *PROMPTS.values(), '\nQuestion: ', '\nAnswer:',
         ' | is |')
_CHARACTERS = '0123456789.,;:!?\n -'
# A number for each place on the table, and for each state bin.
LOCATIONS_MM = tuple(range(min(X_RANGE_MM[0], Y_RANGE_MM[0]),
                           max(X_RANGE_MM[1], Y_RANGE_MM[1]) + 1, LOCATION_STEP_MM))
_NUMBERS = sorted({*range(NUM_STATE_BINS), *LOCATIONS_MM})


def numbers() -> list[int]:
    """Return the numbers that are a token each, with a space before them."""
    return list(_NUMBERS)


def pieces() -> list[tuple[str, float]]:
    """Return (piece, score) in id order; with equal scores the fewest tokens win."""
    texts = [f' {number}' for number in _NUMBERS] + [' ' + word for word in _WORDS] + _WORDS
    texts += [*_CUES, *_CHARACTERS]
    spelled = [text.replace(' ', SPACE) for text in texts]
    return [(text, -1.0)
            for text in (*SPECIAL, *(f'<0x{byte:02X}>' for byte in range(256)), *spelled)]


def write(path: Path) -> None:
    """Write tokenizer.json."""
    build(pieces()).save(str(path))
