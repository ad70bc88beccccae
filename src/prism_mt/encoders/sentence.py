"""Sentence encoders: translations are close together, whatever their languages."""

from typing import Protocol

import numpy as np
import numpy.typing as npt

Vectors = npt.NDArray[np.float32]


class SentenceEncoder(Protocol):
    """Texts to vectors of length 1."""

    languages: frozenset[str] | None
    """The supported languages; None if unknown."""

    def encode(self, texts: list[str]) -> Vectors:
        """One vector per text."""
        ...


def unit_length(vectors: npt.NDArray[np.floating]) -> Vectors:
    """Normalize vectors to length 1; zero vectors stay as they are."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    result: Vectors = (vectors / np.maximum(lengths, 1e-12)).astype(np.float32)
    return result
