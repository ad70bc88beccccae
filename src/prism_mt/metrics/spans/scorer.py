"""A scorer that also finds errors in what it scores."""

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice

from prism_mt._core.errors import PrismError
from prism_mt.metrics.base import Languages, Metric, Scorer, Segment, SegmentScore
from prism_mt.metrics.runtime import Runtime
from prism_mt.metrics.spans.error_free import load_error_free
from prism_mt.metrics.spans.finder import SpanFinder

_CHUNK = 64
"""Segments whose texts are encoded together."""


class ErrorScorer(Scorer):
    """Adds error spans, and perhaps the probability of no error, to the results of a scorer with tokens."""

    def __init__(self, scorer: Scorer, finder: SpanFinder, error_free: bool) -> None:
        self._scorer, self._finder = scorer, finder
        self._error_free = load_error_free(finder.model, finder.part) if error_free else None

    def score(self, segments: Iterable[Segment], tokens: bool = False) -> Iterator[SegmentScore]:
        """Score segments, and look for errors in a few of them at a time."""
        waiting: deque[Segment] = deque()

        def noted() -> Iterator[Segment]:
            for segment in segments:
                waiting.append(segment)
                yield segment

        results = self._scorer.score(noted(), tokens=True)
        while chunk := list(islice(results, _CHUNK)):
            own = [waiting.popleft() for _ in chunk]
            found = self._finder.find(own, [result.tokens for result in chunk])
            for result, errors in zip(chunk, found, strict=True):
                free = None if self._error_free is None else self._error_free.probability(errors.summary)
                yield replace(result, tokens=result.tokens if tokens else (), spans=errors.spans, error_free=free)

    def signature(self, references: int = 1) -> str:
        """Return the signature of the scorer: spans change no score."""
        return self._scorer.signature(references)


def open_scorer(
    metric: Metric, runtime: Runtime, languages: Languages, spans: bool = False, error_free: bool = False
) -> Scorer:
    """Open a metric that also finds errors, if they are requested and it can."""
    scorer = metric.open(runtime, languages)
    if not (spans or error_free) or not metric.has_both_directions:
        return scorer
    return ErrorScorer(scorer, SpanFinder(metric, runtime, languages), error_free)


def check_errors(metrics: Iterable[Metric]) -> None:
    """Fail if no metric can find errors, and name those that can."""
    labels = [metric.label for metric in metrics if not metric.has_both_directions]
    if labels and not any(metric.has_both_directions for metric in metrics):
        raise PrismError(
            f"{' and '.join(labels)} cannot find error spans, which need the tokens of both texts: use prism-ref, or "
            "prism-src[direction=both] with the language of the source (`src_lang=`)"
        )
