"""Soft matches between contextual vectors of two texts: BERTr (Mathur et al. 2019) and BERTScore's P, R and F1."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from prism_mt._core.options import option
from prism_mt.encoders.base import PieceEncoder
from prism_mt.encoders.cached import StoredEncoder
from prism_mt.encoders.factory import EncoderConfig, open_both_encoders, open_piece_encoder
from prism_mt.metrics.base import SRC, Languages, Scorer, sign
from prism_mt.metrics.pairwise import EncoderMetric, PairwiseScorer
from prism_mt.metrics.registry import register
from prism_mt.metrics.runtime import Runtime

Value = Literal["precision", "recall", "f1"]


class Matches(NamedTuple):
    """How well the pieces of two texts match."""

    precision: float
    recall: float
    f1: float


def match(hypothesis: NDArray[np.float32], reference: NDArray[np.float32]) -> Matches:
    """Match every piece with the most similar piece of the other text (pieces × width each), by cosine.

    Recall is the mean over the reference's pieces, precision over the output's. A text without pieces matches nothing.
    """
    if not len(hypothesis) or not len(reference):
        return Matches(0.0, 0.0, 0.0)
    cosines = _unit(hypothesis) @ _unit(reference).T
    precision, recall = float(cosines.max(axis=1).mean()), float(cosines.max(axis=0).mean())
    total = precision + recall
    return Matches(precision, recall, 2 * precision * recall / total if total else 0.0)


@dataclass(frozen=True, kw_only=True)
class MatchMetric(EncoderMetric):
    """One of the three values, from one layer of the encoder, without special tokens and without idf weighting."""

    value: ClassVar[Value]

    layer: int | None = option(
        "layer of the encoder: 1 is the first, -1 the last (default: as published for the encoder)",
        None,
        metavar="L",
    )

    def open(self, runtime: Runtime, languages: Languages) -> Scorer:
        """Load the encoder, and one for sources if outputs are compared with them."""
        config = EncoderConfig(layer=self.layer, precision=runtime.encoder_precision())
        options = ((lambda: runtime.model(self.model)), runtime.config.offline, config)
        if self.side == "ref":
            return MatchScorer(self, StoredEncoder(open_piece_encoder(self.encoder, languages.target, *options)))
        encoder, of_sources = open_both_encoders(self.encoder, languages.target, languages.source, *options)
        return MatchScorer(self, StoredEncoder(encoder), StoredEncoder(of_sources))


@register("bertr")
@dataclass(frozen=True, kw_only=True)
class Bertr(MatchMetric):
    """Mean best cosine of the reference's pieces (BERTr, BERTScore's recall)."""

    value = "recall"


@register("bertscore")
@dataclass(frozen=True, kw_only=True)
class BertScore(MatchMetric):
    """F1 of best cosines of pieces, without idf."""

    value = "f1"


@register("bertscore-p")
@dataclass(frozen=True, kw_only=True)
class BertScorePrecision(MatchMetric):
    """Mean best cosine of the output's pieces."""

    value = "precision"


@register("bertr-src")
@dataclass(frozen=True, kw_only=True)
class BertrSource(Bertr):
    """Mean best cosine of the source's pieces (multilingual encoder)."""

    needs = SRC


@register("bertscore-src")
@dataclass(frozen=True, kw_only=True)
class BertScoreSource(BertScore):
    """F1 of best cosines of output and source (multilingual encoder)."""

    needs = SRC


class MatchScorer(PairwiseScorer):
    """Best matches between the vectors of one layer."""

    def __init__(self, metric: MatchMetric, encoder: PieceEncoder, of_sources: PieceEncoder | None = None) -> None:
        super().__init__(metric.side, metric.references)
        self._metric = metric
        self._encoder = encoder
        self._other = of_sources or encoder

    def compare(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """Encode all texts of each side of the chunk together."""
        ours = _top_layer(self._encoder, [pair[0] for pair in pairs])
        others = _top_layer(self._other, [pair[1] for pair in pairs])
        return [float(getattr(match(ours[one], others[other]), self._metric.value)) for one, other in pairs]

    def signature(self, references: int = 1) -> str:
        """Value and encoder."""
        encoder = f"{self._encoder.name}@{self._encoder.digest[:12]}"
        refs = self.references if self.side == "ref" else None
        layer = self._encoder.layer
        return sign(self._metric.name, value=self._metric.value, encoder=encoder, layer=layer, idf="no", refs=refs)


def _top_layer(encoder: PieceEncoder, texts: Sequence[str]) -> dict[str, NDArray[np.float32]]:
    different = list(dict.fromkeys(texts))
    return dict(zip(different, (found[-1] for found in encoder.encode(different)), strict=True))


def _unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    result: NDArray[np.float32] = vectors / np.maximum(lengths, 1e-12)
    return result
