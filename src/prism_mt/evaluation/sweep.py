"""Linear combinations of metrics, tuned on one set of judgments and tested on another."""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from prism_mt._core.errors import PrismError
from prism_mt.evaluation.judgments import Judgments
from prism_mt.evaluation.levels import Resampling, compare_metrics
from prism_mt.evaluation.protocols import Protocol
from prism_mt.metrics.scores import MetricScores
from prism_mt.stats.arrays import Matrix, Vector

JudgmentsAndScores = tuple[Judgments, Sequence[MetricScores]]


@dataclass(frozen=True)
class SweepPoint:
    """Weights (they add up to 1) and the mean results over the language pairs; NaN without test judgments."""

    weights: tuple[float, ...]
    dev: float
    test: float


@dataclass(frozen=True)
class Sweep:
    """All points, and the best one on the development set (among equals, the first)."""

    metrics: tuple[str, ...]
    points: tuple[SweepPoint, ...]
    best: SweepPoint
    standardized: bool = True
    """Whether all metrics were scaled to the same spread before weighting."""


def sweep(
    names: Sequence[str],
    dev: Sequence[JudgmentsAndScores],
    test: Sequence[JudgmentsAndScores],
    protocol: Protocol,
    steps: int = 20,
    standardize: bool = True,
) -> Sweep:
    """Try all combinations of the named metrics in steps of 1/steps.

    `standardize` gives every metric mean 0 and deviation 1 on the development set of its language pair (for
    pairs that the development set lacks: of all its pairs), for metrics whose scales differ, such as BLEU and Prism.
    """
    if len(names) < 2:
        raise PrismError("a combination needs at least two metrics")
    scales = _Scales(names, dev, protocol) if standardize else None
    points = []
    for weights in simplex(len(names), steps):
        on_dev = _mean_result(names, weights, dev, protocol, scales)
        on_test = _mean_result(names, weights, test, protocol, scales) if test else math.nan
        points.append(SweepPoint(weights, on_dev, on_test))
    defined = [point for point in points if not math.isnan(point.dev)]
    if not defined:
        raise PrismError("no combination has a defined result on the development set")
    best = max(defined, key=lambda point: point.dev)
    return Sweep(tuple(names), tuple(points), best, standardize)


def simplex(parts: int, steps: int) -> Iterator[tuple[float, ...]]:
    """All ways to divide 1 among `parts` in units of 1/steps, the first part growing slowest."""

    def counts(left: int, parts: int) -> Iterator[tuple[int, ...]]:
        if parts == 1:
            yield (left,)
            return
        for first in range(left + 1):
            for rest in counts(left - first, parts - 1):
                yield (first, *rest)

    return (tuple(count / steps for count in found) for found in counts(steps, parts))


def is_called(metric: MetricScores, name: str) -> bool:
    """Whether a metric has that name, or one that starts with it as a word."""
    return re.match(rf"{re.escape(name)}(?![\w+])", metric.metric) is not None


def find_metric(metrics: Sequence[MetricScores], name: str) -> MetricScores:
    """Find the metric of that name, or the only one whose name starts with it as a word (`chrF` finds `chrF-refA`).

    It is renamed to the requested name, so that results of several language pairs can be combined.
    """
    exact = [metric for metric in metrics if metric.metric == name]
    found = exact or [metric for metric in metrics if is_called(metric, name)]
    if len(found) == 1:
        return replace(found[0], metric=name)
    known = ", ".join(metric.metric for metric in found or metrics)
    problem = "is the start of several metric names" if found else "is not among the metrics"
    raise PrismError(f"{name!r} {problem}: {known}")


def combine(judgments: Judgments, metrics: Sequence[MetricScores], weights: Sequence[float]) -> MetricScores:
    """The weighted sum of metrics, with error rates negated, in the order of the judgments."""
    scores: Matrix = sum(
        (weight * _segment_scores(metric, judgments) for metric, weight in zip(metrics, weights, strict=True)),
        np.zeros_like(judgments.scores),
    )
    systems: Vector = sum(
        (weight * _system_scores(metric, judgments) for metric, weight in zip(metrics, weights, strict=True)),
        np.zeros(len(judgments.systems)),
    )
    name = " + ".join(f"{weight:g} {metric.metric}" for metric, weight in zip(metrics, weights, strict=True))
    return MetricScores(
        name, judgments.systems, scores, systems, segment_ids=judgments.segments, pair=judgments.pair
    )


class _Scales:
    """Standard deviations of metrics on the development set; means do not affect any statistic."""

    def __init__(self, names: Sequence[str], dev: Sequence[JudgmentsAndScores], protocol: Protocol) -> None:
        self._by_pair: dict[tuple[str, str], float] = {}
        self._overall: dict[str, float] = {}
        for name in names:
            everything = []
            for judgments, metrics in dev:
                metric = find_metric(metrics, name)
                systems = protocol.level == "systems"
                scores = _system_scores(metric, judgments) if systems else _segment_scores(metric, judgments)
                self._by_pair[name, judgments.pair] = _deviation(scores)
                everything.append(scores.ravel())
            self._overall[name] = _deviation(np.concatenate(everything))

    def of(self, name: str, pair: str) -> float:
        return self._by_pair.get((name, pair), self._overall[name])


def _mean_result(
    names: Sequence[str],
    weights: Sequence[float],
    data: Sequence[JudgmentsAndScores],
    protocol: Protocol,
    scales: _Scales | None,
) -> float:
    results = []
    for judgments, metrics in data:
        scaled = [w / (scales.of(n, judgments.pair) if scales else 1) for n, w in zip(names, weights, strict=True)]
        # A metric with weight 0 must not matter, not even through missing scores.
        used = [(find_metric(metrics, n), w) for n, w in zip(names, scaled, strict=True) if w]
        combined = combine(judgments, [metric for metric, _ in used], [weight for _, weight in used])
        results.append(compare_metrics(judgments, [combined], protocol, Resampling()).value(combined.metric))
    return float(np.mean(results))


def _segment_scores(metric: MetricScores, judgments: Judgments) -> Matrix:
    return metric.higher.align(judgments.systems, judgments.segments)


def _system_scores(metric: MetricScores, judgments: Judgments) -> Vector:
    return metric.higher.align_systems(judgments.systems)


def _deviation(scores: Matrix | Vector) -> float:
    known = scores[~np.isnan(scores)]
    spread = float(known.std()) if len(known) else 0.0
    return spread or 1.0
