"""Sentence vectors from the token vectors of any encoder."""

import logging
from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from prism_mt.encoders.base import NetworkEncoder
from prism_mt.encoders.sentence import Vectors, unit_length

Pooling = Literal["mean_tokens", "cls_token", "max_tokens"]
Dense = Callable[[NDArray[np.float32]], NDArray[np.float32]]
_CHUNK = 256
_LOG = logging.getLogger("prism_mt")
_POOLS: dict[Pooling, Dense] = {
    "mean_tokens": lambda states: states.mean(axis=0),
    "cls_token": lambda states: states[0],
    "max_tokens": lambda states: states.max(axis=0),
}


class PooledEncoder:
    """One vector per text from all its tokens, including special symbols, as in sentence-transformers."""

    def __init__(
        self,
        encoder: NetworkEncoder,
        languages: frozenset[str] | None,
        pooling: Pooling = "mean_tokens",
        dense: Sequence[Dense] = (),
        limit: int | None = None,
    ) -> None:
        """Texts of more than `limit` tokens are truncated, with one warning."""
        self.languages = languages
        self._encoder = encoder
        self._pool = _POOLS[pooling]
        self._dense = dense
        self._limit = min(limit or encoder.limit, encoder.limit)
        self._cut = False

    def encode(self, texts: list[str]) -> Vectors:
        """One vector per text."""
        vectors = [self._encode(texts[start : start + _CHUNK]) for start in range(0, len(texts), _CHUNK)]
        return unit_length(np.concatenate(vectors))

    def _encode(self, texts: list[str]) -> NDArray[np.float32]:
        tokens = [self._encoder.tokenizer.encode(text) for text in texts]
        for text, found in zip(texts, tokens, strict=True):
            if len(found.ids) > self._limit and not self._cut:
                self._cut = True
                _LOG.warning(
                    "the encoder reads the first %d pieces of longer texts, such as %r", self._limit, text[:60]
                )
        states = self._encoder.states([found.cut(self._limit) for found in tokens])
        pooled = np.stack([self._pool(found[-1]) for found in states])
        for layer in self._dense:
            pooled = layer(pooled)
        return pooled
