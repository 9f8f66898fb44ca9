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
The vocabulary of the builtin models: table-top words as single tokens, bytes for the rest.

Writes tiny_tokenizer.json, in the layout of PaliGemma's tokenizer (ids 0 pad, 1 eos, 2 bos, 3 unk;
a space is part of the word behind it; unknown characters become byte tokens):

    python -m oxygen_ros.checkpoint.tiny_vocabulary
"""

from pathlib import Path

from tokenizers import AddedToken
from tokenizers import decoders
from tokenizers import models
from tokenizers import normalizers
from tokenizers import Tokenizer

SPECIAL = ('<pad>', '<eos>', '<bos>', '<unk>')
SPACE = '\u2581'

WORDS = """
    a about above across after again against all an and any apple arm around arrives at away back
    banana be before behind below beside between big black block blocks blue board both bottle
    bottom bowl box bread brown brush by camera can cap carrot center clean clear close closed
    closer cloth cold colour container corn corner counter cube cubes cup cut detected dish does
    done door down drawer drop each edge empty end faucet fell few finger find first fold for
    fork found four free from front full further gently get glass go goal good grasp gray green
    grip gripper ground hand handle has have held here high hold holding hot in inside into is it
    its jar joint just keep kettle kitchen knife know large last later leave left lid lift lifted
    like little long look low metal middle microwave milk more most move moved moves moving mug
    near nearly new next no not nothing now object objects of off on one onto open orange other
    out outside oven over pan paper part pepper pick picked picture pink place placed plastic
    plate point pot pour press pull purple push put reach reaches ready red release right ring
    robot rotate round salt scene second see seen shelf side sink slide slow slowly small soft
    something soon spatula sponge spoon square stack stay still stop stove strawberry table take
    task teapot ten that the them then there they this three to toast tomato top touch toward
    towel toy tray turn two under until up upright wait wall was water what where which white
    while will wipe with wooden wrist yellow yes
""".split()
CUES = ('Task:', ' State:', 'Action:', 'Narrate:', 'Subtask:', 'Memory:', 'Question:', 'Answer:',
        ' | ', ' |')
CHARACTERS = '0123456789.,;:!?\n -'
SENTENCE_MARKS = '.,'


def pieces() -> list[tuple[str, float]]:
    """Return (piece, score) in id order; the longest known pieces win."""
    texts = list(SPECIAL) + [f'<0x{byte:02X}>' for byte in range(256)]
    ordinary = [' ' + word for word in WORDS] + WORDS + list(CUES) + list(CHARACTERS)
    texts += [text.replace(' ', SPACE) for text in ordinary]
    return [(text, -1.0) for text in texts]


def build(entries: list[tuple[str, float]] | None = None) -> Tokenizer:
    """Return a tokenizer of (piece, score) in id order, those of the tiny model unless given."""
    entries = entries or pieces()
    tokenizer = Tokenizer(models.Unigram(entries, unk_id=3, byte_fallback=True))
    tokenizer.normalizer = normalizers.Replace(' ', SPACE)
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace(SPACE, ' '), decoders.ByteFallback(), decoders.Fuse()])
    tokenizer.add_special_tokens([AddedToken(text, special=True) for text in SPECIAL])
    return tokenizer


def is_word(piece: str) -> bool:
    """Return whether a random text made of such pieces reads as words."""
    return piece in SENTENCE_MARKS or piece.startswith(SPACE) and piece[1:] in WORDS


if __name__ == '__main__':
    build().save(str(Path(__file__).with_name('tiny_tokenizer.json')))
