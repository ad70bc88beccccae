"""SentencePiece unigram models from pieces and scores, for vocabularies stored in another form.

A SentencePiece model is a protocol buffer with the pieces (field 1), the trainer settings (2) and the normalizer
settings (3). Only what the processor reads is written.
"""

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_NORMALIZER = "nmt_nfkc"
_UNKNOWN, _CONTROL = 2, 3
"""Piece types; a piece without a type is normal text."""
_UNIGRAM = 1


class Specials(NamedTuple):
    """Ids of the special symbols."""

    bos: int
    pad: int
    eos: int
    unknown: int


def unigram_model(
    pieces: Sequence[bytes], scores: NDArray[np.float32], specials: Specials, controls: Sequence[int] = ()
) -> bytes:
    """Serialize a unigram model with nmt_nfkc normalization; `controls` are further ids that no text may produce."""
    import sentencepiece

    kinds = dict.fromkeys((*controls, specials.bos, specials.pad, specials.eos), _CONTROL)
    kinds[specials.unknown] = _UNKNOWN
    floats = memoryview(np.ascontiguousarray(scores, "<f4").tobytes())
    parts = []
    for index, piece in enumerate(pieces):
        kind = kinds.get(index)
        score = b"\x15" + bytes(floats[4 * index : 4 * index + 4])
        parts += [_head(len(piece), kind is not None), piece, score, b"" if kind is None else _number(3, kind)]
    trainer = _number(3, _UNIGRAM) + _number(4, len(pieces))
    for field, value in ((40, specials.unknown), (41, specials.bos), (42, specials.eos), (43, specials.pad)):
        trainer += _number(field, value)
    # If a message occurs twice, the later values win: the rules come without these three settings, which add a
    # space in front of the text, collapse repeated spaces and write spaces as "▁".
    rules = sentencepiece.SentencePieceNormalizer(rule_name=_NORMALIZER).serialized_model_proto()
    settings = b"".join(_number(field, 1) for field in (3, 4, 5))
    return b"".join([*parts, _message(2, trainer), rules, _message(3, settings)])


@cache
def _head(length: int, typed: bool) -> bytes:
    """The bytes before a piece of this length: most of a vocabulary has the same few lengths."""
    text = _varint(1 << 3 | 2) + _varint(length)
    # The score takes five bytes, a type two.
    return _varint(1 << 3 | 2) + _varint(len(text) + length + 5 + 2 * typed) + text


def _message(field: int, content: bytes) -> bytes:
    """Encode a length-delimited field: a string or a nested message."""
    return _varint(field << 3 | 2) + _varint(len(content)) + content


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _varint(value: int) -> bytes:
    """Encode seven bits per byte, lowest first; the top bit says that more follow."""
    if value < 0x80:
        return bytes((value,))
    return bytes((value & 0x7F | 0x80,)) + _varint(value >> 7)
