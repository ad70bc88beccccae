"""Judge metrics: results with intervals, p-values against the best, and ranks."""

import logging
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from prism_mt._core.errors import PrismError
from prism_mt.evaluation.buckets import by_name
from prism_mt.evaluation.judgments import Judgments
from prism_mt.evaluation.levels import LevelComparison, Resampled, Resampling, compare_metrics
from prism_mt.evaluation.protocols import Protocol, get_protocol
from prism_mt.metrics.scores import MetricScores
from prism_mt.stats.accuracy import pairwise_agreement
from prism_mt.stats.arrays import row_means
from prism_mt.stats.ranks import rank_clusters
from prism_mt.stats.resampling import Interval
from prism_mt.stats.ties import TieCalibration

Part = Literal["domains", "documents"]
DEFAULT_PROTOCOL = "wmt21-mqm"
_LOG = logging.getLogger("prism_mt")
_SIGNED = ("pearson", "spearman", "kendall-b", "kendall-c", "pdp", "darr")
"""Statistics between -1 and 1, which are mapped to 0–1 before being averaged with accuracies."""


@dataclass(frozen=True)
class MetricResult:
    """One row of a table. `p` is the p-value that the best metric is better only by chance (NaN for the best)."""

    metric: str
    value: float
    interval: Interval | None
    p: float
    rank: int
    others: Mapping[str, float] = field(default_factory=dict)
    """Other statistics of the same data, such as accuracy within segments beside a pooled correlation."""
    calibration: TieCalibration | None = None
    """For acc-t23: the epsilon, and the accuracy of calling all pairs ties."""


@dataclass(frozen=True)
class Evaluation:
    """All metrics on one test set and language pair (`place` names both), best first; undefined results last."""

    place: str
    pair: str
    size: str
    protocol: Protocol
    resampling: Resampling
    results: tuple[MetricResult, ...]
    reference: str | None = None
    """The reference that the metrics used, if known."""
    resampled: Resampled = "segments"
    signatures: Mapping[str, str] = field(default_factory=dict)
    """How metric scores were computed, if known."""
    part: str = ""
    """The domain or document, if this is not the whole test set."""

    def is_top(self, result: MetricResult) -> bool:
        """Whether a result is the best or not significantly worse; never if nothing was tested."""
        tested = self.protocol.test != "none"
        return tested and not math.isnan(result.value) and not result.p < self.resampling.alpha

    def value(self, metric: str) -> float:
        """A metric's result; NaN if it has none."""
        return next((result.value for result in self.results if result.metric == metric), math.nan)


@dataclass(frozen=True)
class Average:
    """A metric's results in several evaluations and their mean; NaN if one of them is missing."""

    metric: str
    values: tuple[float, ...]
    mean: float


@dataclass(frozen=True)
class PooledAccuracy:
    """Share of system pairs, pooled over all language pairs, that a metric orders as humans do."""

    metric: str
    accuracy: float
    pairs: int


@dataclass(frozen=True)
class SuiteScore:
    """A metric's results on the protocols of a suite and their mean; NaN if one of them is missing."""

    metric: str
    values: tuple[float, ...]
    mean: float


def judge_scores(
    judgments: Judgments,
    scores: Iterable[MetricScores],
    *,
    protocol: str | Protocol = DEFAULT_PROTOCOL,
    resampling: Resampling | None = None,
    intervals: bool = False,
    reference: str | None = None,
) -> Evaluation:
    """Judge metrics on one set of judgments.

    `intervals` requests bootstrap intervals even if the test needs none. `reference` is the one that the metrics used.
    """
    protocol, resampling, metrics = get_protocol(protocol), resampling or Resampling(), list(scores)
    names = [metric.metric for metric in metrics]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise PrismError(f"two sets of scores are named {', '.join(twice)} ({judgments.pair}): rename one")
    _check_scores(judgments, protocol)
    compared = compare_metrics(judgments, metrics, protocol, resampling)
    if not compared.names:
        raise PrismError(f"{judgments.place}: no metric to judge")
    for name in compared.names:
        if compared.missing(name):
            count = compared.missing(name)
            _LOG.warning("%s, %s: %d judged items without a score are left out", judgments.pair, name, count)
    return Evaluation(
        judgments.place,
        judgments.pair,
        compared.size(),
        protocol,
        resampling,
        _results(compared, intervals),
        reference,
        compared.resampled,
        {metric.metric: metric.signature for metric in metrics if metric.signature},
    )


def _check_scores(judgments: Judgments, protocol: Protocol) -> None:
    """Refuse relative rankings under a protocol for scores: nothing would be left to judge."""
    if protocol.level == "preferences" or judgments.preferences is None or judgments.system_scores is not None:
        return
    if not len(judgments.ratings):
        raise PrismError(
            f"{judgments.place}: these are relative rankings without scores, which {protocol.name} needs: "
            "choose a protocol for preferences such as wmt19-darr"
        )


def judge_parts(
    judgments: Judgments,
    scores: Iterable[MetricScores],
    split_by: Part,
    *,
    protocol: str | Protocol = DEFAULT_PROTOCOL,
    resampling: Resampling | None = None,
    reference: str | None = None,
) -> list[Evaluation]:
    """Judge metrics on every domain or document separately, in the order of the data.

    Parts are small: p-values of a protocol's test would be many and say little, so nothing is tested. Parts without
    judgments are left out. System scores are means over the part's segments.
    """
    labels = judgments.domains if split_by == "domains" else judgments.documents
    if not labels:
        raise PrismError(f"{judgments.place} does not say which {split_by} its segments belong to")
    untested = replace(get_protocol(protocol), test="none")
    metrics, found = list(scores), []
    for bucket in by_name(split_by, labels).parts:
        part = judgments.on_segments(bucket.segments.tolist())
        if part.judged().any():
            here = [_on_part(metric, part) for metric in metrics]
            evaluation = judge_scores(part, here, protocol=untested, resampling=resampling, reference=reference)
            found.append(replace(evaluation, part=bucket.label))
    return found


def average(evaluations: Sequence[Evaluation]) -> list[Average]:
    """Average results over language pairs or parts, best mean first; metrics that lack one come last."""
    names = dict.fromkeys(result.metric for evaluation in evaluations for result in evaluation.results)
    found = []
    for name in names:
        values = tuple(evaluation.value(name) for evaluation in evaluations)
        found.append(Average(name, values, float(np.mean(values))))
    return sorted(found, key=lambda one: (math.isnan(one.mean), -one.mean))


def pooled_accuracy(judged: Iterable[tuple[Judgments, Iterable[MetricScores]]]) -> list[PooledAccuracy]:
    """Count system pairs pooled over all language pairs, as the shared tasks do; best first."""
    counts: dict[str, tuple[int, int]] = {}
    for judgments, metrics in judged:
        human = judgments.system_means()
        for metric in metrics:
            agreed, pairs = pairwise_agreement(human, metric.higher.align_systems(judgments.systems))
            before = counts.get(metric.metric, (0, 0))
            counts[metric.metric] = before[0] + agreed, before[1] + pairs
    found = [
        PooledAccuracy(name, agreed / pairs if pairs else math.nan, pairs)
        for name, (agreed, pairs) in counts.items()
    ]
    return sorted(found, key=lambda one: (math.isnan(one.accuracy), -one.accuracy))


def average_suite(
    judged: Sequence[tuple[Judgments, Sequence[MetricScores]]], tasks: Sequence[Sequence[Evaluation]]
) -> list[SuiteScore]:
    """Average over the protocols of a suite (`tasks`: one list of evaluations each), best mean first.

    Protocols are weighted equally, and so are language pairs within each; system accuracies are pooled over pairs.
    """
    pooled = {one.metric: one.accuracy for one in pooled_accuracy(judged)}
    columns = []
    for evaluations in tasks:
        statistic, level = evaluations[0].protocol.statistic, evaluations[0].protocol.level
        means = {one.metric: one.mean for one in average(evaluations)}
        if level == "systems" and statistic == "accuracy":
            means = {name: pooled.get(name, math.nan) for name in means}
        shift = statistic in _SIGNED
        columns.append({name: (value + 1) / 2 if shift else value for name, value in means.items()})
    names = dict.fromkeys(name for column in columns for name in column)
    found = []
    for name in names:
        values = tuple(column.get(name, math.nan) for column in columns)
        found.append(SuiteScore(name, values, float(np.mean(values))))
    return sorted(found, key=lambda one: (math.isnan(one.mean), -one.mean))


def _results(compared: LevelComparison, intervals: bool) -> tuple[MetricResult, ...]:
    values = {name: compared.value(name) for name in compared.names}
    ordered = sorted(values, key=lambda name: (math.isnan(values[name]), -values[name]))
    comparisons = _Comparisons(compared, values)
    ranks = rank_clusters(ordered, comparisons.is_better)
    shown = intervals or compared.protocol.test in ("intervals", "paired-bootstrap")
    return tuple(
        MetricResult(
            metric=name,
            value=values[name],
            interval=compared.interval(name) if shown else None,
            p=math.nan if name == ordered[0] else comparisons.p_value(ordered[0], name),
            rank=ranks[name],
            others=compared.other_statistics(name),
            calibration=compared.calibration(name),
        )
        for name in ordered
    )


def _on_part(metric: MetricScores, part: Judgments) -> MetricScores:
    """A metric's scores on some segments; system scores are recomputed from these."""
    place = {name: index for index, name in enumerate(metric.segment_ids)}
    columns = np.array([place[name] for name in part.segments if name in place], dtype=np.int64)
    segments = metric.segments[:, columns]
    statistics = None if metric.statistics is None else tuple(rows[columns] for rows in metric.statistics)
    return replace(
        metric,
        segments=segments,
        segment_ids=tuple(metric.segment_ids[column] for column in columns),
        system_scores=row_means(segments) if statistics is None else metric.on(columns),
        statistics=statistics,
        tokens=None,
    )


class _Comparisons:
    """Tests between two metrics, each run once."""

    def __init__(self, compared: LevelComparison, values: Mapping[str, float]) -> None:
        self._compared, self._values = compared, values
        self._known: dict[tuple[str, str], float] = {}

    def p_value(self, better: str, worse: str) -> float:
        if (better, worse) not in self._known:
            self._known[better, worse] = self._compared.p_value(better, worse)
        return self._known[better, worse]

    def is_better(self, better: str, worse: str) -> bool:
        # A metric without a result ranks below all that have one.
        if math.isnan(self._values[worse]):
            return not math.isnan(self._values[better])
        return self.p_value(better, worse) < self._compared.resampling.alpha
