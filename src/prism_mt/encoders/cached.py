"""Vectors cached in float16: a text is encoded once per encoder, even if the run is killed."""

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from prism_mt._core.cache import Keys, Store
from prism_mt.encoders.base import PieceEncoder, PieceVectors

Layers = Literal["last", "all"]
_CHUNK = 256


class StoredEncoder:
    """An encoder whose vectors come from the user's cache if available.

    New ones are rounded to float16 as well, so that a number does not depend on what the cache holds. With
    `last` only the top layer is kept and given; with a mix, the sum of all layers by these weights. Overlong texts are
    encoded again each time: their vectors depend on what is done with them, and there are few of them.
    """

    def __init__(
        self,
        encoder: PieceEncoder,
        kept: Layers = "last",
        store: Store | None = None,
        mix: NDArray[np.float32] | None = None,
    ) -> None:
        self._encoder = encoder
        self._kept, self._mix = kept, mix
        self.name, self.digest, self.width = encoder.name, encoder.digest, encoder.width
        self.layers = encoder.layers if kept == "all" and mix is None else 1
        self.layer, self.room = encoder.layer, encoder.room
        self._store = store or Store("encodings")
        way = kept if mix is None else f"mix {mix.astype('<f4').tobytes().hex()}"
        shape = f"{self.layers} {self.width}"
        self._keys = Keys("float16", encoder.digest, encoder.name, f"{encoder.layer} {way}", shape)

    def encode(self, texts: Sequence[str], advance: Callable[[], None] = lambda: None) -> list[PieceVectors]:
        """Return the vectors of every text; `advance` is called once per distinct text."""
        keys = {text: self._keys.key(text.encode("utf-8", "surrogatepass")) for text in texts}
        stored = self._store.get(list(keys.values()))
        known: dict[str, PieceVectors] = {}
        for text, key in keys.items():
            if key in stored:
                known[text] = self._unpack(stored[key])
                advance()
        missing = [text for text in keys if text not in known]
        for start in range(0, len(missing), _CHUNK):
            chunk = missing[start : start + _CHUNK]
            packed = [self._pack(vectors) for vectors in self._encoder.encode(chunk)]
            for text, blob in zip(chunk, packed, strict=True):
                known[text] = self._unpack(blob)
                advance()
            # A truncated text has exactly as many pieces as there is room for.
            self._store.put(
                (keys[text], blob)
                for text, blob in zip(chunk, packed, strict=True)
                if known[text].shape[1] < self.room
            )
        return [known[text] for text in texts]

    def prepare(self, texts: Sequence[str], advance: Callable[[], None] = lambda: None) -> None:
        """Encode what is not cached yet, without holding all of it in memory."""
        for start in range(0, len(texts), _CHUNK):
            self.encode(texts[start : start + _CHUNK], advance)

    def _pack(self, vectors: PieceVectors) -> bytes:
        if self._mix is not None:
            vectors = np.tensordot(self._mix, vectors, 1)[None]
        elif self._kept == "last":
            vectors = vectors[-1:]
        return vectors.astype(np.float16).tobytes()

    def _unpack(self, blob: bytes) -> PieceVectors:
        return np.frombuffer(blob, dtype=np.float16).reshape(self.layers, -1, self.width).astype(np.float32)
