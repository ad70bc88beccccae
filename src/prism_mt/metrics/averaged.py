"""Metrics that compare texts two by two, and whose system score is the mean over segments."""

import itertools
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from prism_mt.metrics.base import Segment, SegmentScore, Side

Reduction = Literal["mean", "max"]
_CHUNK = 256


class AveragedMetric(ABC):
    """Scores every output against each reference, or against its source."""

    def __init__(self, name: str, side: Side, references: Reduction = "mean") -> None:
        self.name = name
        self.needs: frozenset[Side] = frozenset({side})
        self.references = references
        """How the scores with several references become one."""

    @abstractmethod
    def compare(self, pairs: Sequence[tuple[str, str]]) -> Sequence[float]:
        """The score of each (output, other text)."""

    @abstractmethod
    def signature(self) -> str:
        """Everything that a number depends on."""

    def score(self, segments: Iterable[Segment]) -> Iterator[SegmentScore]:
        """Chunk by chunk, so that texts of similar length can go through an encoder together."""
        rest = iter(segments)
        while chunk := list(itertools.islice(rest, _CHUNK)):
            others = [self._others(segment) for segment in chunk]
            pairs = [(s.hypothesis, text) for s, texts in zip(chunk, others, strict=True) for text in texts]
            scores = iter(self.compare(pairs))
            for texts in others:
                found = list(itertools.islice(scores, len(texts)))
                score = max(found) if self.references == "max" else sum(found) / len(found)
                yield SegmentScore(score, (score, 1.0))

    def aggregate(self, totals: Sequence[float]) -> float:
        """The mean of the segments' scores."""
        return totals[0] / totals[1]

    def _others(self, segment: Segment) -> tuple[str, ...]:
        return segment.references if "ref" in self.needs else (segment.source or "",)
