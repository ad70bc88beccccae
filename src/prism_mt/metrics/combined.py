"""Linear combinations of metrics: `0.4*laser+0.6*lm`."""

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence

from prism_mt._core.errors import PrismError
from prism_mt.metrics.base import Metric, Segment, SegmentScore, Side

_TERM = re.compile(r"\s*(-?\d+(?:\.\d+)?)\s*\*\s*(\S.*?)\s*")
# A metric's name may end in plus signs (chrf++): a new term begins where a number and a star follow.
_BETWEEN = re.compile(r"\s*\+(?=\s*-?\d+(?:\.\d+)?\s*\*)")


def parse_terms(name: str) -> list[tuple[float, str]]:
    """Weights and names of a combination; empty when the name is not one."""
    if "*" not in name:
        return []
    terms = [_TERM.fullmatch(part) for part in _BETWEEN.split(name)]
    found = [(float(term[1]), term[2]) for term in terms if term]
    if len(found) < len(terms):
        raise PrismError(f"{name!r} is not a combination of metrics: write it as 0.4*laser+0.6*lm")
    return found


class CombinedMetric:
    """The weighted sum of metrics, of segments and of systems alike."""

    def __init__(self, name: str, terms: Sequence[tuple[float, Metric]]) -> None:
        self.name = name
        self.needs: frozenset[Side] = frozenset().union(*(metric.needs for _, metric in terms))
        self._terms = terms
        self._sizes: list[int] = []

    def score(self, segments: Iterable[Segment]) -> Iterator[SegmentScore]:
        """All metrics read the same segments side by side."""
        copies = itertools.tee(segments, len(self._terms))
        streams = [metric.score(copy) for (_, metric), copy in zip(self._terms, copies, strict=True)]
        for scores in zip(*streams, strict=True):
            self._sizes = [len(score.statistics) for score in scores]
            total = sum(weight * score.score for (weight, _), score in zip(self._terms, scores, strict=True))
            yield SegmentScore(total, [value for score in scores for value in score.statistics])

    def aggregate(self, totals: Sequence[float]) -> float:
        """The weighted sum of the metrics' own system scores."""
        rest = iter(totals)
        return sum(
            weight * metric.aggregate(list(itertools.islice(rest, size)))
            for (weight, metric), size in zip(self._terms, self._sizes, strict=True)
        )

    def signature(self) -> str:
        """The signatures of all."""
        return " + ".join(f"{weight:g} * {metric.signature()}" for weight, metric in self._terms)
