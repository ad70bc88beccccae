"""Soft matches between the contextual vectors of two texts: BERTr (Mathur et al. 2019) and BERTScore's P, R and F1."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from prism_mt.encoders.base import PieceEncoder
from prism_mt.metrics.averaged import AveragedMetric, Reduction
from prism_mt.metrics.base import sign

Value = Literal["precision", "recall", "f1"]


class Matches(NamedTuple):
    """How well the pieces of two texts match."""

    precision: float
    recall: float
    f1: float


def match(hypothesis: NDArray[np.float32], reference: NDArray[np.float32]) -> Matches:
    """Every piece goes with its most similar piece of the other text (pieces × width each), by cosine.

    Recall is the mean over the reference's pieces, precision over the output's. A text without pieces matches nothing.
    """
    if not len(hypothesis) or not len(reference):
        return Matches(0.0, 0.0, 0.0)
    cosines = _unit(hypothesis) @ _unit(reference).T
    precision, recall = float(cosines.max(axis=1).mean()), float(cosines.max(axis=0).mean())
    total = precision + recall
    return Matches(precision, recall, 2 * precision * recall / total if total else 0.0)


class MatchMetric(AveragedMetric):
    """One of the three values, from the encoder's top layer, without special tokens and without idf."""

    def __init__(self, name: str, encoder: PieceEncoder, value: Value, references: Reduction = "mean") -> None:
        super().__init__(name, "ref", references)
        self._encoder = encoder
        self._value = value

    def compare(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """All texts of the chunk are encoded together."""
        texts = list(dict.fromkeys(text for pair in pairs for text in pair))
        vectors = dict(zip(texts, (found[-1] for found in self._encoder.encode(texts)), strict=True))
        return [float(getattr(match(vectors[one], vectors[other]), self._value)) for one, other in pairs]

    def signature(self) -> str:
        """Which value of which encoder."""
        encoder = f"{self._encoder.name}@{self._encoder.digest[:12]}"
        return sign(self.name, value=self._value, encoder=encoder, layer="last", idf="no", refs=self.references)


def _unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    result: NDArray[np.float32] = vectors / np.maximum(lengths, 1e-12)
    return result
