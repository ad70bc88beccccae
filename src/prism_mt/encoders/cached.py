"""Vectors that are kept on disk in float16: a text is encoded once per encoder, whatever becomes of the run."""

import logging
import sqlite3
from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np

from prism_mt._core.environment import cache_folder
from prism_mt._core.textstore import TextStore
from prism_mt.encoders.base import PieceEncoder, PieceVectors

Layers = Literal["last", "all"]
_CHUNK = 256
_LOG = logging.getLogger("prism_mt")


class StoredEncoder:
    """An encoder whose vectors come from the user's cache where they are known.

    New ones are rounded to float16 as well, so that a number does not depend on what the cache holds. With
    `last` only the top layer is kept and given. Where the cache cannot be used, a warning tells so once.
    """

    def __init__(self, encoder: PieceEncoder, kept: Layers = "last") -> None:
        self._encoder = encoder
        self._kept = kept
        self.name, self.digest, self.width = encoder.name, encoder.digest, encoder.width
        self.layers = encoder.layers if kept == "all" else 1
        self.layer = encoder.layer
        name = f"{encoder.digest[:24]}-{encoder.name}-{encoder.layer}-{kept}.sqlite".replace("/", "_")
        self.path = cache_folder() / "encodings" / name
        self._usable = True

    def encode(self, texts: Sequence[str], advance: Callable[[], None] = lambda: None) -> list[PieceVectors]:
        """The vectors of every text; `advance` is called once for each different one."""
        if self._usable:
            try:
                return self._encode_new(texts, advance)
            except (sqlite3.Error, OSError) as error:
                self._usable = False
                _LOG.warning("cannot keep vectors in %s (%s): they are computed each time", self.path, error)
        return [self._unpack(self._pack(vectors)) for vectors in self._encoder.encode(texts)]

    def _encode_new(self, texts: Sequence[str], advance: Callable[[], None]) -> list[PieceVectors]:
        """Read what is known, encode and keep the rest."""
        known: dict[str, PieceVectors] = {}
        with TextStore(self.path, "encodings").open() as store:
            for text, blob in store.get(texts):
                known[text] = self._unpack(blob)
                advance()
            missing = [text for text in dict.fromkeys(texts) if text not in known]
            for start in range(0, len(missing), _CHUNK):
                chunk = missing[start : start + _CHUNK]
                packed = [self._pack(vectors) for vectors in self._encoder.encode(chunk)]
                store.put(zip(chunk, packed, strict=True))
                for text, blob in zip(chunk, packed, strict=True):
                    known[text] = self._unpack(blob)
                    advance()
        return [known[text] for text in texts]

    def prepare(self, texts: Sequence[str], advance: Callable[[], None] = lambda: None) -> None:
        """Encode what is not known yet, without holding all of it in memory."""
        for start in range(0, len(texts), _CHUNK):
            self.encode(texts[start : start + _CHUNK], advance)

    def _pack(self, vectors: PieceVectors) -> bytes:
        return (vectors[-1:] if self._kept == "last" else vectors).astype(np.float16).tobytes()

    def _unpack(self, blob: bytes) -> PieceVectors:
        return np.frombuffer(blob, dtype=np.float16).reshape(self.layers, -1, self.width).astype(np.float32)
