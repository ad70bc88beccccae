"""Sentinel metrics, which know nothing about quality: what correlation they reach is worth nothing."""

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from prism_mt.metrics.base import REF, SRC, Languages, Metric, Scorer, Segment, SegmentScore, sign
from prism_mt.metrics.registry import register
from prism_mt.metrics.runtime import Runtime


@dataclass(frozen=True, kw_only=True)
class SentinelMetric(Metric):
    """The length of one of the texts."""

    lower_is_better = True

    @abstractmethod
    def text(self, segment: Segment) -> str:
        """Return the text whose length is the score."""

    def open(self, runtime: Runtime, languages: Languages) -> Scorer:
        """Open the scorer; nothing has to be loaded."""
        return SentinelScorer(self)


@register("sentinel-hyp-length")
@dataclass(frozen=True, kw_only=True)
class HypothesisLength(SentinelMetric):
    """Length of the output, in characters: shorter outputs have fewer errors."""

    needs = frozenset()

    def text(self, segment: Segment) -> str:
        """The output."""
        return segment.hypothesis


@register("sentinel-ref-length")
@dataclass(frozen=True, kw_only=True)
class ReferenceLength(SentinelMetric):
    """Length of the reference, in characters: a constant per segment that tells which segments are hard."""

    needs = REF

    def text(self, segment: Segment) -> str:
        """The first reference."""
        return segment.references[0]


@register("sentinel-src-length")
@dataclass(frozen=True, kw_only=True)
class SourceLength(SentinelMetric):
    """Length of the source, in characters: a constant per segment that tells which segments are hard."""

    needs = SRC

    def text(self, segment: Segment) -> str:
        """The source."""
        return segment.source or ""


class SentinelScorer(Scorer):
    """Lengths in characters."""

    def __init__(self, metric: SentinelMetric) -> None:
        self._metric = metric

    def score(self, segments: Iterable[Segment], tokens: bool = False) -> Iterator[SegmentScore]:
        """Count characters."""
        return (SegmentScore(float(len(self._metric.text(segment)))) for segment in segments)

    def signature(self, references: int = 1) -> str:
        """Only the name matters."""
        return sign(self._metric.name)
