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
"""Text to token ids and back, the way back also piece by piece."""

import codecs
from collections.abc import Callable
from collections.abc import Sequence
from pathlib import Path
import re

from oxygen_ros.config import ConfigError

SPACE = '\u2581'
BYTE = re.compile(r'<0x([0-9A-F]{2})>')
BOS, EOS = '<bos>', '<eos>'


class TextTokenizer:
    """
    A tokenizer with PaliGemma's conventions, read from a tokenizer.json or a sentencepiece .model.

    A text is defined by the bytes of its tokens, so that decoding piece by piece and decoding
    at once cannot differ: leading spaces stay, nothing is cleaned up, control tokens are empty.
    """

    def __init__(self, path: Path):
        if not path.is_file():
            raise ConfigError(f'tokenizer {path} does not exist; give a folder that has it')
        read = _read_sentencepiece if path.suffix == '.model' else _read_tokenizer_json
        try:
            self._encode, self.pieces, control = read(path)
        except (ConfigError, ImportError):
            raise
        except Exception as error:   # the libraries raise bare exceptions
            raise ConfigError(f'tokenizer {path} cannot be read ({error}); get the file again'
                              ) from error
        missing = [name for name in (BOS, EOS) if name not in control]
        if missing:
            raise ConfigError(f'tokenizer {path} has no {" and ".join(missing)}; it is not the '
                              'tokenizer of a pi0.5 checkpoint')
        self.path = path
        self.vocab_size = len(self.pieces)
        self.bos_id, self.eos_id = self.pieces.index(BOS), self.pieces.index(EOS)
        self._bytes = [piece_bytes(piece) if piece not in control else b''
                       for piece in self.pieces]

    def encode(self, text: str) -> list[int]:
        """Return ids without begin or end token."""
        return self._encode(text)

    def decode(self, token_ids: Sequence[int]) -> str:
        """Return the whole text; bytes that are no UTF-8 become replacement marks."""
        data = b''.join(self.token_bytes(token_id) for token_id in token_ids)
        return data.decode('utf-8', errors='replace')

    def token_bytes(self, token_id: int) -> bytes:
        """Return what one token adds; b'' for control tokens and ids beyond the vocabulary."""
        return self._bytes[token_id] if 0 <= token_id < self.vocab_size else b''

    def stream(self) -> 'StreamDecoder':
        """Return a decoder for one text."""
        return StreamDecoder(self)


class StreamDecoder:
    """Detokenises one text as it grows; the joined pieces equal TextTokenizer.decode."""

    def __init__(self, tokenizer: TextTokenizer):
        self._tokenizer = tokenizer
        self._decoder = codecs.getincrementaldecoder('utf-8')(errors='replace')

    def push(self, token_id: int) -> str:
        """Return the characters completed by this token; '' inside a character."""
        return self._decoder.decode(self._tokenizer.token_bytes(token_id))

    def flush(self) -> str:
        """Return what is left at the end of the text: a replacement mark, or ''."""
        return self._decoder.decode(b'', final=True)


def piece_bytes(piece: str) -> bytes:
    """Return the bytes of a vocabulary entry."""
    match = BYTE.fullmatch(piece)
    return bytes([int(match[1], 16)]) if match else piece.replace(SPACE, ' ').encode('utf-8')


# What a reader returns: text to ids, the pieces by id, and those that are never text.
_Parts = tuple[Callable[[str], list[int]], list[str], set[str]]


def _read_tokenizer_json(path: Path) -> _Parts:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(path))
    control = {token.content for token in tokenizer.get_added_tokens_decoder().values()
               if token.special}
    pieces = [tokenizer.id_to_token(index) or '' for index in range(tokenizer.get_vocab_size())]
    return (lambda text: tokenizer.encode(text, add_special_tokens=False).ids), pieces, control


def _read_sentencepiece(path: Path) -> _Parts:
    try:
        from sentencepiece import SentencePieceProcessor
    except ImportError as error:
        raise ConfigError(f'tokenizer {path} needs the package sentencepiece; `pip install '
                          'sentencepiece`, or give a tokenizer.json') from error
    processor = SentencePieceProcessor(model_file=str(path))
    ids = range(processor.vocab_size())
    pieces = [processor.id_to_piece(index) for index in ids]
    control = {pieces[index] for index in ids
               if processor.is_control(index) or processor.is_unknown(index)}
    names = {pieces[processor.bos_id()]: BOS, pieces[processor.eos_id()]: EOS}
    return processor.encode, [names.get(piece, piece) for piece in pieces], {
        names.get(piece, piece) for piece in control}
