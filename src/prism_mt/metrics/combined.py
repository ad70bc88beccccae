"""Weighted sums of metrics: `0.4*laser+0.6*lm`."""

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from prism_mt._core.errors import PrismError
from prism_mt._core.options import option
from prism_mt.metrics.base import Languages, Metric, Scorer, Segment, SegmentScore, Side
from prism_mt.metrics.runtime import Runtime

_TERM = re.compile(r"\s*(-?\d+(?:\.\d+)?)\s*\*\s*(\S.*?)\s*")
# A metric's name may end in plus signs (chrf++): a new term starts where a number and an asterisk follow.
_BETWEEN = re.compile(r"\s*\+(?=\s*-?\d+(?:\.\d+)?\s*\*)")


def parse_terms(text: str) -> list[tuple[float, str]]:
    """Return the weights and names of a weighted sum; an empty list if the text is not one."""
    if "*" not in text:
        return []
    terms = [_TERM.fullmatch(part) for part in _BETWEEN.split(text)]
    found = [(float(term[1]), term[2]) for term in terms if term]
    if len(found) < len(terms):
        raise PrismError(f"{text!r} is not a weighted sum of metrics: write it as 0.4*laser+0.6*lm")
    return found


@dataclass(frozen=True, kw_only=True)
class Combined(Metric):
    """A weighted sum of metrics, for segments and systems alike."""

    name = "sum"
    terms: tuple[tuple[float, Metric], ...] = option("weights and metrics")

    def __post_init__(self) -> None:
        super().__post_init__()
        if not any(weight for weight, _ in self.terms):
            raise PrismError(f"{self.label}: all weights are 0")
        directions = {(weight < 0) != metric.lower_is_better for weight, metric in self.terms if weight}
        if len(directions) > 1:
            raise PrismError(
                f"{self.label} mixes metrics for which higher is better with others for which lower is better: "
                "give one kind negative weights"
            )

    @property
    def needs(self) -> frozenset[Side]:  # type: ignore[override]
        """What any of its metrics needs."""
        return frozenset[Side]().union(*(metric.needs for _, metric in self.terms))

    @property
    def lower_is_better(self) -> bool:  # type: ignore[override]
        """Determined by the signs of the weights: `-1*ter` is higher for better outputs."""
        return any((weight < 0) != metric.lower_is_better for weight, metric in self.terms if weight)

    @property
    def needs_language(self) -> bool:  # type: ignore[override]
        """Whether any of its metrics does."""
        return any(metric.needs_language for _, metric in self.terms)

    @property
    def label(self) -> str:
        """The sum as the user writes it."""
        return "+".join(f"{weight:g}*{metric.label}" for weight, metric in self.terms)

    @property
    def full_label(self) -> str:
        """The sum with the models of its metrics."""
        return "+".join(f"{weight:g}*{metric.full_label}" for weight, metric in self.terms)

    @property
    def models(self) -> frozenset[str]:
        """Those of all its metrics."""
        return frozenset[str]().union(*(metric.models for _, metric in self.terms))

    @property
    def context_segments(self) -> int:
        """The most that any of its metrics reads."""
        return max(metric.context_segments for _, metric in self.terms)

    def open(self, runtime: Runtime, languages: Languages) -> Scorer:
        """Open all metrics."""
        return _Sum([(weight, metric.open(runtime, languages)) for weight, metric in self.terms])

    def aggregate(self, totals: Sequence[float]) -> float:
        """Weighted sum of the metrics' own system scores. Each metric's statistics are preceded by their number."""
        rest = iter(totals)
        segments = next(rest)
        score = 0.0
        for weight, metric in self.terms:
            # Every segment has added the number of its statistics, so that the sums can be separated again.
            size = round(next(rest) / segments)
            own = list(itertools.islice(rest, size))
            score += weight * (own[0] / segments if size == 1 else metric.aggregate(own))
        return score


class _Sum(Scorer):
    def __init__(self, terms: Sequence[tuple[float, Scorer]]) -> None:
        self._terms = terms

    def score(self, segments: Iterable[Segment], tokens: bool = False) -> Iterator[SegmentScore]:
        """Let all metrics read the same segments in parallel."""
        copies = itertools.tee(segments, len(self._terms))
        streams = [scorer.score(copy) for (_, scorer), copy in zip(self._terms, copies, strict=True)]
        for scores in zip(*streams, strict=True):
            total = sum(weight * score.score for (weight, _), score in zip(self._terms, scores, strict=True))
            statistics = [1.0]
            for score in scores:
                own = list(score.statistics) or [score.score]
                statistics += [float(len(own)), *own]
            yield SegmentScore(total, statistics)

    def signature(self, references: int = 1) -> str:
        """The signatures of all terms."""
        return " + ".join(f"{weight:g} * {scorer.signature(references)}" for weight, scorer in self._terms)
