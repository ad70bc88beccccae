"""Soft matches between contextual vectors of two texts: BERTr (Mathur et al. 2019) and BERTScore's P, R and F1."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from prism_mt._core.errors import PrismError
from prism_mt._core.options import option
from prism_mt.encoders.base import PieceEncoder
from prism_mt.encoders.cached import StoredEncoder
from prism_mt.encoders.factory import EncoderConfig, open_both_encoders, open_piece_encoder
from prism_mt.metrics.base import SRC, HandlesOverlong, Languages, Scorer, sign
from prism_mt.metrics.pairwise import EncoderMetric, PairwiseScorer
from prism_mt.metrics.rarity import Rarity, Weights
from prism_mt.metrics.registry import register
from prism_mt.metrics.runtime import Runtime
from prism_mt.text.lines import open_lines

Value = Literal["precision", "recall", "f1"]


class Matches(NamedTuple):
    """How well the pieces of two texts match."""

    precision: float
    recall: float
    f1: float


def match(
    hypothesis: NDArray[np.float32], reference: NDArray[np.float32], weights: tuple[Weights, Weights] | None = None
) -> Matches:
    """Match every piece with the most similar piece of the other text (pieces × width each), by cosine.

    Recall is the mean over the reference's pieces, precision over the output's. `weights` of the
    pieces of both, which add up to 1, make weighted means. A text without pieces matches nothing.
    """
    if not len(hypothesis) or not len(reference):
        return Matches(0.0, 0.0, 0.0)
    cosines = _unit(hypothesis) @ _unit(reference).T
    ours, theirs = cosines.max(axis=1), cosines.max(axis=0)
    if weights is None:
        precision, recall = float(ours.mean()), float(theirs.mean())
    else:
        precision, recall = float(ours @ weights[0]), float(theirs @ weights[1])
    total = precision + recall
    return Matches(precision, recall, 2 * precision * recall / total if total else 0.0)


@dataclass(frozen=True, kw_only=True)
class MatchMetric(EncoderMetric, HandlesOverlong):
    """One of the three values, from one layer of the encoder, without special tokens."""

    value: ClassVar[Value]

    layer: int | None = option(
        "layer of the encoder: 1 is the first, -1 the last (default: as published for the encoder)",
        None,
        metavar="L",
    )
    idf: Path | None = option(
        "weigh pieces by how rare they are in the lines of this file, usually the references (BERTScore's idf)",
        None,
        metavar="FILE",
    )

    def open(self, runtime: Runtime, languages: Languages) -> Scorer:
        """Load the encoder, and one for sources if outputs are compared with them."""
        config = EncoderConfig(layer=self.layer, precision=runtime.encoder_precision(), overlong=self.overlong)
        options = ((lambda: runtime.model(self.model)), runtime.config.offline, config)
        if self.side == "ref":
            network = open_piece_encoder(self.encoder, languages.target, *options)
            rarity = Rarity.of(open_lines(self.idf), network.tokenizer) if self.idf else None
            return MatchScorer(self, StoredEncoder(network), rarity=rarity)
        if self.idf is not None:
            raise PrismError(f"{self.name} compares two languages: `idf=` is for metrics that use references")
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
    """F1 of best cosines of pieces."""

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

    def __init__(
        self,
        metric: MatchMetric,
        encoder: PieceEncoder,
        of_sources: PieceEncoder | None = None,
        rarity: Rarity | None = None,
    ) -> None:
        super().__init__(metric.side, metric.references)
        self._metric = metric
        self._encoder = encoder
        self._other = of_sources or encoder
        self._rarity = rarity

    def compare(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """Encode all texts of each side of the chunk together."""
        ours = _top_layer(self._encoder, [pair[0] for pair in pairs])
        others = _top_layer(self._other, [pair[1] for pair in pairs])
        return [
            float(getattr(match(ours[one], others[other], self._weights(one, other)), self._metric.value))
            for one, other in pairs
        ]

    def _weights(self, hypothesis: str, reference: str) -> tuple[Weights, Weights] | None:
        if self._rarity is None:
            return None
        return self._rarity.weights(hypothesis), self._rarity.weights(reference)

    def signature(self, references: int = 1) -> str:
        """Value and encoder."""
        encoder = f"{self._encoder.name}@{self._encoder.digest[:12]}"
        refs = self.references if self.side == "ref" else None
        return sign(
            self._metric.name,
            value=self._metric.value,
            encoder=encoder,
            layer=self._encoder.layer,
            idf=self._rarity.digest[:12] if self._rarity else "no",
            long=self._metric.overlong_in_signature,
            refs=refs,
        )


def _top_layer(encoder: PieceEncoder, texts: Sequence[str]) -> dict[str, NDArray[np.float32]]:
    different = list(dict.fromkeys(texts))
    return dict(zip(different, (found[-1] for found in encoder.encode(different)), strict=True))


def _unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    result: NDArray[np.float32] = vectors / np.maximum(lengths, 1e-12)
    return result
