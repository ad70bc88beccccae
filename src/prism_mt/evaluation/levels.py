"""Compare metrics at one level of judgment: values, resampled values and tests between two metrics."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from prism_mt._core.errors import PrismError
from prism_mt._core.options import Config, option
from prism_mt.evaluation.judgments import Judgments, Preferences
from prism_mt.evaluation.protocols import Protocol
from prism_mt.metrics.scores import MetricScores
from prism_mt.stats.accuracy import pairwise_accuracy, segment_accuracy
from prism_mt.stats.arrays import Matrix, Statistic, Vector, row_means
from prism_mt.stats.correlation import Correlation, pairwise_difference_pearson
from prism_mt.stats.darr import agreement, credit, darr_tau, find_preferences
from prism_mt.stats.outliers import outliers
from prism_mt.stats.permutation import Unit, pair_permutation_test, permutation_test
from prism_mt.stats.resampling import (
    Interval,
    bootstrap_preferences,
    bootstrap_segments,
    bootstrap_systems,
    paired_p,
    percentile_interval,
)
from prism_mt.stats.soft_accuracy import MT_METRICS_EVAL_SEED, SoftPairwiseAccuracy
from prism_mt.stats.ties import TieCalibration, acc_t23, calibrate_ties
from prism_mt.stats.williams import williams_test

Resampled = Literal["segments", "systems", "preferences"]
"""What is drawn with replacement."""
_FEWEST_SYSTEMS = 3
"""A correlation of two systems is 1, -1 or undefined, whatever is drawn."""
_UNITS: dict[str, Unit] = {"perm-both": "both", "perm-segments": "segments", "perm-systems": "systems"}


@dataclass(frozen=True)
class Resampling(Config):
    """Number of draws and seed of random procedures: the same seed gives the same table."""

    draws: int = option("number of draws in random procedures", 1000, metavar="N", low=1, high=1_000_000)
    seed: int = option("random seed", 1, metavar="N", low=0)
    alpha: float = option("significance level", 0.05, metavar="A", low=1e-9, high=0.5)

    def generator(self) -> np.random.Generator:
        """A fresh generator, so that no result depends on what was computed before."""
        return np.random.default_rng(self.seed)


class LevelComparison(ABC):
    """Metrics compared on some judgments under a protocol."""

    resampled: Resampled

    def __init__(self, judgments: Judgments, protocol: Protocol, resampling: Resampling) -> None:
        self.judgments, self.protocol, self.resampling = judgments, protocol, resampling
        self.names: list[str] = []

    @abstractmethod
    def value(self, name: str) -> float:
        """The protocol's statistic for a metric."""

    @abstractmethod
    def other_statistics(self, name: str) -> Mapping[str, float]:
        """Other statistics of the same data, shown beside the protocol's."""

    @abstractmethod
    def size(self) -> str:
        """What was judged, in words."""

    @abstractmethod
    def missing(self, name: str) -> int:
        """Number of judged items without a score of the metric."""

    @abstractmethod
    def resample(self) -> Matrix:
        """The statistic on resampled data, draws × metrics."""

    def calibration(self, name: str) -> TieCalibration | None:
        """Epsilon and all-tied baseline, if the statistic calibrates ties."""
        return None

    @cached_property
    def samples(self) -> Matrix:
        """Resampled values, the same draws for all metrics."""
        return self.resample()

    def sample(self, name: str) -> Vector:
        """One metric's resampled values."""
        column: Vector = self.samples[:, self.names.index(name)]
        return column

    def interval(self, name: str) -> Interval:
        """The central 95 % of a metric's resampled values."""
        return percentile_interval(self.sample(name))

    def p_value(self, better: str, worse: str) -> float:
        """One-sided p-value of the protocol's test; 0 or 1 for intervals, NaN if the test is undefined."""
        test = self.protocol.test
        if test == "paired-bootstrap":
            return paired_p(self.sample(better), self.sample(worse))
        if test == "intervals":
            one, other = (self.interval(name) for name in (better, worse))
            if np.isnan([one.low, other.low]).any():
                return float("nan")
            return 1.0 if one.overlaps(other) else 0.0
        return float("nan") if test == "none" else self.other_test(better, worse)

    def other_test(self, better: str, worse: str) -> float:
        """Tests that a level may have besides the bootstrap."""
        raise PrismError(f"{self.protocol.test} does not test {self.protocol.level}")


class SegmentComparison(LevelComparison):
    """Segment scores against judgments of individual outputs."""

    resampled = "segments"

    def __init__(
        self, judgments: Judgments, metrics: Sequence[MetricScores], protocol: Protocol, resampling: Resampling
    ) -> None:
        super().__init__(judgments, protocol, resampling)
        self.names = [metric.metric for metric in metrics]
        self.human = judgments.scores
        self._scores = {one.metric: _segment_scores(one, judgments) for one in metrics}
        self.statistic = _segment_statistic(protocol)

    def value(self, name: str) -> float:
        """The protocol's statistic over all judged outputs."""
        return self.statistic(self.human, self._scores[name])

    def other_statistics(self, name: str) -> Mapping[str, float]:
        """Pooled results also reward knowing which segments are hard; within segments only the order counts."""
        scores = self._scores[name]
        others: dict[str, Statistic] = {
            "tau-b pooled": Correlation("kendall-b"),
            "tau-b in segments": Correlation("kendall-b", "segments"),
            "accuracy in segments": segment_accuracy,
        }
        return {title: other(self.human, scores) for title, other in others.items() if other != self.statistic}

    def calibration(self, name: str) -> TieCalibration | None:
        """Epsilon and all-tied baseline of acc-t23."""
        return calibrate_ties(self.human, self._scores[name]) if self.protocol.statistic == "acc-t23" else None

    def size(self) -> str:
        """Systems, segments and judged outputs."""
        judged = ~np.isnan(self.human)
        segments = int(judged.any(axis=0).sum())
        return f"{int(judged.any(axis=1).sum())} systems, {segments} segments, {int(judged.sum())} outputs"

    def missing(self, name: str) -> int:
        """Judged outputs without a score."""
        return int((np.isnan(self._scores[name]) & ~np.isnan(self.human)).sum())

    def resample(self) -> Matrix:
        """Draw segments with replacement."""
        scores = [self._scores[name] for name in self.names]
        rng = self.resampling.generator()
        return bootstrap_segments(self.statistic, self.human, scores, rng, self.resampling.draws)

    def other_test(self, better: str, worse: str) -> float:
        """Williams over all outputs, or a permutation test."""
        a, b = self._scores[better], self._scores[worse]
        if self.protocol.test == "williams":
            return williams_test(self.human.ravel(), a.ravel(), b.ravel()).p
        rng = self.resampling.generator()
        if self.protocol.test == "perm-pairs":
            return pair_permutation_test(self.human, a, b, rng, self.resampling.draws).p
        unit = _UNITS[self.protocol.test]
        return permutation_test(self.statistic, self.human, a, b, rng, self.resampling.draws, unit).p


class SystemComparison(LevelComparison):
    """System scores against judgments of systems.

    If human segment scores are known, segments are drawn with replacement and system scores are their means; otherwise
    systems are drawn.
    """

    def __init__(
        self, judgments: Judgments, metrics: Sequence[MetricScores], protocol: Protocol, resampling: Resampling
    ) -> None:
        super().__init__(judgments, protocol, resampling)
        self.names = [metric.metric for metric in metrics]
        self.human = judgments.system_means()
        self.systems = {one.metric: one.higher.align_systems(judgments.systems) for one in metrics}
        # Segments without judgments take part in no draw.
        judged = ~np.isnan(judgments.scores).all(axis=0)
        self._human_segments = judgments.scores[:, judged]
        self._segments = {one.metric: _segment_scores(one, judgments)[:, judged] for one in metrics}
        self.statistic = _system_statistic(protocol, int(judged.sum()))
        self.resampled = "segments" if judged.any() else "systems"

    def value(self, name: str) -> float:
        """The protocol's statistic over systems."""
        return self._values[name]

    @cached_property
    def _values(self) -> dict[str, float]:
        if isinstance(self.statistic, SoftPairwiseAccuracy):
            # All metrics at once, so that human p-values are computed once.
            segments = [self._segments[name] for name in self.names]
            found = self.statistic.each(self._human_segments, segments)
        else:
            found = [self.statistic(self.human[:, None], self.systems[name][:, None]) for name in self.names]
        return dict(zip(self.names, found, strict=True))

    def other_statistics(self, name: str) -> Mapping[str, float]:
        """The same without outlier systems, and pairwise accuracy over systems."""
        scores, kept = self.systems[name], ~outliers(self.human)
        others = {}
        if self.protocol.statistic != "soft-accuracy":
            others["without outliers"] = self.statistic(self.human[kept][:, None], scores[kept][:, None])
        if self.protocol.statistic != "accuracy":
            others["accuracy"] = pairwise_accuracy(self.human, scores)
        return others

    def size(self) -> str:
        """Systems, and how many of them are outliers."""
        known = int((~np.isnan(self.human)).sum())
        return f"{known} systems, {int(outliers(self.human).sum())} of them outliers"

    def missing(self, name: str) -> int:
        """Judged systems without a score."""
        return int((np.isnan(self.systems[name]) & ~np.isnan(self.human)).sum())

    def resample(self) -> Matrix:
        """Draw segments with replacement, or systems if humans judged only these."""
        rng, draws = self.resampling.generator(), self.resampling.draws
        if self.resampled == "systems":
            systems = [self.systems[name] for name in self.names]
            return bootstrap_systems(self.statistic, self.human, systems, rng, draws)
        scores = [self._with_segments(name) for name in self.names]
        return bootstrap_segments(self.statistic, self._human_segments, scores, rng, draws)

    def interval(self, name: str) -> Interval:
        """Leave out draws of so few distinct systems that the statistic is undefined."""
        sample = self.sample(name)
        defined = sample[~np.isnan(sample)]
        few = int((~np.isnan(self.human) & ~np.isnan(self.systems[name])).sum()) < _FEWEST_SYSTEMS
        return percentile_interval(sample if few or not len(defined) else defined)

    def other_test(self, better: str, worse: str) -> float:
        """Williams over systems, or a permutation test over segment scores."""
        if self.protocol.test == "williams":
            return williams_test(self.human, self.systems[better], self.systems[worse]).p
        a, b = self._with_segments(better), self._with_segments(worse)
        rng, unit = self.resampling.generator(), _UNITS[self.protocol.test]
        return permutation_test(self.statistic, self._human_segments, a, b, rng, self.resampling.draws, unit).p

    def _with_segments(self, name: str) -> Matrix:
        if np.isnan(self._segments[name]).all():
            raise PrismError(
                f"{self.protocol.test} needs human segment scores and those of {name}: choose the test williams or none"
            )
        return self._segments[name]


class PreferenceComparison(LevelComparison):
    """Metrics against preferences; metrics known only by their agreements take part as well."""

    resampled = "preferences"

    def __init__(
        self, judgments: Judgments, metrics: Sequence[MetricScores], protocol: Protocol, resampling: Resampling
    ) -> None:
        super().__init__(judgments, protocol, resampling)
        preferences = judgments.preferences or Preferences(*find_preferences(judgments.scores))
        if not len(preferences):
            raise PrismError(f"{judgments.place}: no two outputs differ by 25 points or more")
        self._segment = preferences.segment
        self._agreements = dict(preferences.agreements)
        indices = preferences.segment, preferences.better, preferences.worse
        for one in metrics:
            self._agreements[one.metric] = agreement(_segment_scores(one, judgments), *indices)
        self.names = list(self._agreements)

    def value(self, name: str) -> float:
        """Tau over all preferences."""
        return darr_tau(self._agreements[name], self.protocol.ties)

    def other_statistics(self, name: str) -> Mapping[str, float]:
        """The mean of each segment's own tau: segments with many preferences weigh no more than others."""
        values = credit(self._agreements[name], self.protocol.ties)
        known = ~np.isnan(values)
        count = np.bincount(self._segment[known])
        total = np.bincount(self._segment[known], weights=values[known])
        return {"mean of segments": float((total[count > 0] / count[count > 0]).mean()) if known.any() else np.nan}

    def size(self) -> str:
        """Number of preferences."""
        return f"{len(self._segment)} preferences"

    def missing(self, name: str) -> int:
        """Preferences for which the metric has not scored both outputs."""
        return int(np.isnan(self._agreements[name]).sum())

    def resample(self) -> Matrix:
        """Draw preferences with replacement."""
        values = [self._agreements[name] for name in self.names]
        rng = self.resampling.generator()
        return bootstrap_preferences(values, rng, self.resampling.draws, self.protocol.ties)


def compare_metrics(
    judgments: Judgments, metrics: Sequence[MetricScores], protocol: Protocol, resampling: Resampling
) -> LevelComparison:
    """Compare metrics at the protocol's level."""
    if protocol.level == "segments":
        return SegmentComparison(judgments, metrics, protocol, resampling)
    if protocol.level == "systems":
        return SystemComparison(judgments, metrics, protocol, resampling)
    return PreferenceComparison(judgments, metrics, protocol, resampling)


def _segment_scores(metric: MetricScores, judgments: Judgments) -> Matrix:
    return metric.higher.align(judgments.systems, judgments.segments)


def _segment_statistic(protocol: Protocol) -> Statistic:
    match protocol.statistic:
        case "accuracy":
            return segment_accuracy
        case "acc-t23":
            return acc_t23
        case "pdp":
            return pairwise_difference_pearson
        case "pearson" | "spearman" | "kendall-b" | "kendall-c" as kind:
            return Correlation(kind, protocol.over)
    raise PrismError(f"{protocol.statistic} is not a statistic of segments")


def _system_statistic(protocol: Protocol, segments: int) -> Statistic:
    """A statistic of row means, so that the same function serves system scores and resampled segments."""
    match protocol.statistic:
        case "soft-accuracy":
            # Always the same draws: as in the shared tasks' tool, they belong to the statistic, not to its test.
            return SoftPairwiseAccuracy(segments, np.random.default_rng(MT_METRICS_EVAL_SEED))
        case "accuracy":
            return lambda human, metric: pairwise_accuracy(row_means(human), row_means(metric))
        case "pearson" | "spearman" | "kendall-b" | "kendall-c" as kind:
            whole = Correlation(kind)
            return lambda human, metric: whole(row_means(human)[:, None], row_means(metric)[:, None])
    raise PrismError(f"{protocol.statistic} is not a statistic of systems")
