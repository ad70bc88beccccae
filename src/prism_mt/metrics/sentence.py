"""Cosine of sentence vectors, like the LASER baseline of Thompson & Post 2020, with any sentence encoder."""

from collections.abc import Sequence
from dataclasses import dataclass

from prism_mt._core.options import option_of
from prism_mt.encoders.factory import open_sentence_encoder
from prism_mt.encoders.languages import check_languages, check_source
from prism_mt.encoders.sentence import SentenceEncoder
from prism_mt.metrics.base import SRC, Languages, Scorer, sign
from prism_mt.metrics.pairwise import EncoderMetric, PairwiseScorer
from prism_mt.metrics.registry import register
from prism_mt.metrics.runtime import Runtime


@dataclass(frozen=True, kw_only=True)
class SentenceMetric(EncoderMetric):
    """Similarity of the output to its reference, or to its source, which needs an encoder for both languages."""

    encoder: str = option_of(EncoderMetric, "encoder", "use")

    def open(self, runtime: Runtime, languages: Languages) -> Scorer:
        """Load the encoder and check that it supports the languages."""
        encoder = open_sentence_encoder(
            self.encoder, runtime.config.offline, languages.target, lambda: runtime.model(self.model)
        )
        check_languages(self.encoder, encoder.languages, (languages.target,))
        if self.side == "src":
            check_source(self.encoder, encoder.languages, languages.source)
        return SentenceScorer(self, encoder)


@register("laser")
@dataclass(frozen=True, kw_only=True)
class Laser(SentenceMetric):
    """Cosine of sentence vectors of output and reference."""


@register("laser-src")
@dataclass(frozen=True, kw_only=True)
class LaserSource(SentenceMetric):
    """Cosine of sentence vectors of output and source."""

    needs = SRC


class SentenceScorer(PairwiseScorer):
    """Cosines of sentence vectors."""

    def __init__(self, metric: SentenceMetric, encoder: SentenceEncoder) -> None:
        super().__init__(metric.side, metric.references)
        self._metric, self._encoder = metric, encoder

    def compare(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """Compare pairs; vectors have length 1, so that products are cosines."""
        texts = list(dict.fromkeys(text for pair in pairs for text in pair))
        vectors = dict(zip(texts, self._encoder.encode(texts), strict=True))
        return [float(vectors[one] @ vectors[other]) for one, other in pairs]

    def signature(self, references: int = 1) -> str:
        """The encoder, and the reduction of several references."""
        refs = self.references if self.side == "ref" else None
        return sign(self._metric.name, encoder=self._metric.encoder.removeprefix("hf:"), refs=refs)
