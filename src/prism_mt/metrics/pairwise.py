"""Metrics that compare pairs of texts: each output with every reference, or with its source."""

import itertools
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from prism_mt.metrics.base import Scorer, Segment, SegmentScore, Side

Reduction = Literal["mean", "max"]
_CHUNK = 256


class PairwiseScorer(Scorer):
    """Scores every output against each reference, or against its source."""

    def __init__(self, side: Side, references: Reduction = "mean") -> None:
        self.side = side
        self.references = references
        """How to combine the scores of several references."""

    @abstractmethod
    def compare(self, pairs: Sequence[tuple[str, str]]) -> Sequence[float]:
        """Score each (output, other text)."""

    def score(self, segments: Iterable[Segment], tokens: bool = False) -> Iterator[SegmentScore]:
        """Score chunk by chunk, so that an encoder can batch texts of similar length."""
        rest = iter(segments)
        while chunk := list(itertools.islice(rest, _CHUNK)):
            others = [self._others(segment) for segment in chunk]
            pairs = [(s.hypothesis, text) for s, texts in zip(chunk, others, strict=True) for text in texts]
            scores = iter(self.compare(pairs))
            for texts in others:
                found = list(itertools.islice(scores, len(texts)))
                yield SegmentScore(max(found) if self.references == "max" else sum(found) / len(found))

    def _others(self, segment: Segment) -> tuple[str, ...]:
        return segment.references if self.side == "ref" else (segment.source or "",)
