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
    """One of the three values, from one layer of the encoder, without special tokens and without idf."""

    def __init__(
        self,
        name: str,
        encoder: PieceEncoder,
        value: Value,
        references: Reduction = "mean",
        of_sources: PieceEncoder | None = None,
    ) -> None:
        """With an encoder of sources, outputs are compared with them instead of references."""
        super().__init__(name, "src" if of_sources else "ref", references)
        self._encoder = encoder
        self._other = of_sources or encoder
        self._value = value

    def compare(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """All texts of a side of the chunk are encoded together."""
        ours = _top_layer(self._encoder, [pair[0] for pair in pairs])
        others = _top_layer(self._other, [pair[1] for pair in pairs])
        return [float(getattr(match(ours[one], others[other]), self._value)) for one, other in pairs]

    def signature(self) -> str:
        """Which value of which encoder."""
        encoder = f"{self._encoder.name}@{self._encoder.digest[:12]}"
        refs = self.references if "ref" in self.needs else None
        return sign(self.name, value=self._value, encoder=encoder, layer=self._encoder.layer, idf="no", refs=refs)


def _top_layer(encoder: PieceEncoder, texts: Sequence[str]) -> dict[str, NDArray[np.float32]]:
    different = list(dict.fromkeys(texts))
    return dict(zip(different, (found[-1] for found in encoder.encode(different)), strict=True))


def _unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    result: NDArray[np.float32] = vectors / np.maximum(lengths, 1e-12)
    return result
