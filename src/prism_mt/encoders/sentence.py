"""Sentence encoders: translations lie close together, whatever their languages."""

from typing import Protocol

import numpy as np
import numpy.typing as npt

Vectors = npt.NDArray[np.float32]


class SentenceEncoder(Protocol):
    """Texts to vectors of length 1."""

    languages: frozenset[str] | None
    """The languages it knows; None when it does not say."""

    def encode(self, texts: list[str]) -> Vectors:
        """One vector per text."""
        ...


def unit_length(vectors: npt.NDArray[np.floating]) -> Vectors:
    """Vectors divided by their length; a vector of zeros stays."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    result: Vectors = (vectors / np.maximum(lengths, 1e-12)).astype(np.float32)
    return result
