"""Metrics side by side on one level of judgment: values, resampled values and tests between two of them."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from prism_mt._core.errors import PrismError
from prism_mt.evaluation.judgments import Judgments, MetricScores, Preferences
from prism_mt.evaluation.protocols import Task
from prism_mt.stats.accuracy import pairwise_accuracy, segment_accuracy
from prism_mt.stats.arrays import Matrix, Statistic, Vector, row_means
from prism_mt.stats.correlation import Correlation, pairwise_difference_pearson
from prism_mt.stats.darr import agreement, credit, darr_tau, find_preferences
from prism_mt.stats.outliers import outliers
from prism_mt.stats.permutation import Unit, permutation_test
from prism_mt.stats.resampling import bootstrap_preferences, bootstrap_segments, paired_p, percentile_interval
from prism_mt.stats.soft_accuracy import SoftPairwiseAccuracy
from prism_mt.stats.ties import acc_t23, calibrate_ties
from prism_mt.stats.williams import williams_test

_UNITS: dict[str, Unit] = {"perm-both": "both", "perm-segments": "segments", "perm-systems": "systems"}


@dataclass(frozen=True)
class Resampling:
    """How often random procedures draw, and their seed: the same seed gives the same table."""

    draws: int = 1000
    seed: int = 1
    alpha: float = 0.05

    def __post_init__(self) -> None:
        if self.draws < 1 or self.seed < 0 or not 0 < self.alpha < 1:
            raise PrismError("draws must be at least 1, the seed at least 0, and alpha between 0 and 1")

    def generator(self) -> np.random.Generator:
        """A fresh generator, so that no result depends on what was computed before."""
        return np.random.default_rng(self.seed)


class Bench(ABC):
    """The metrics that are compared on some judgments under a task."""

    def __init__(self, judgments: Judgments, task: Task, resampling: Resampling) -> None:
        self.judgments, self.task, self.resampling = judgments, task, resampling
        self.names: list[str] = []

    @abstractmethod
    def value(self, name: str) -> float:
        """The task's statistic for a metric."""

    @abstractmethod
    def beside(self, name: str) -> Mapping[str, float]:
        """Other views of the same data that every table shows beside the task's statistic."""

    @abstractmethod
    def size(self) -> str:
        """How much was judged, in words."""

    @abstractmethod
    def missing(self, name: str) -> int:
        """How many judged items a metric has no score for."""

    @abstractmethod
    def resample(self) -> Matrix:
        """The statistic on resampled data, draws × metrics."""

    @cached_property
    def samples(self) -> Matrix:
        """Resampled values, the same draws for all metrics."""
        return self.resample()

    def sample(self, name: str) -> Vector:
        """One metric's resampled values."""
        column: Vector = self.samples[:, self.names.index(name)]
        return column

    def p_value(self, better: str, worse: str) -> float:
        """One-sided p-value of the task's test; 0 or 1 for intervals, NaN where the test is not defined."""
        test = self.task.test
        if test == "paired-bootstrap":
            return paired_p(self.sample(better), self.sample(worse))
        if test == "intervals":
            one, other = (percentile_interval(self.sample(name)) for name in (better, worse))
            if np.isnan([one.low, other.low]).any():
                return float("nan")
            return 1.0 if one.overlaps(other) else 0.0
        return float("nan") if test == "none" else self.other_test(better, worse)

    def other_test(self, better: str, worse: str) -> float:
        """The tests that a level may have besides the bootstrap."""
        raise PrismError(f"{self.task.test} does not test {self.task.level}")


class SegmentBench(Bench):
    """Scores of single outputs against judgments of single outputs."""

    def __init__(
        self, judgments: Judgments, metrics: list[MetricScores], task: Task, resampling: Resampling
    ) -> None:
        super().__init__(judgments, task, resampling)
        self.names = [metric.metric for metric in metrics]
        self.human = judgments.scores
        self._scores = {metric.metric: metric.align(judgments) for metric in metrics}
        self.statistic = _segment_statistic(task)

    def value(self, name: str) -> float:
        """The task's statistic over all judged outputs."""
        return self.statistic(self.human, self._scores[name])

    def beside(self, name: str) -> Mapping[str, float]:
        """Pooled results also reward knowing which segments are hard; within segments only order counts."""
        scores = self._scores[name]
        views: dict[str, Statistic] = {
            "tau-b pooled": Correlation("kendall-b"),
            "tau-b in segments": Correlation("kendall-b", "segments"),
            "accuracy in segments": segment_accuracy,
        }
        shown = {title: view(self.human, scores) for title, view in views.items() if view != self.statistic}
        if self.statistic is acc_t23:
            # An accuracy that is no higher than that of tying all pairs says nothing for the metric.
            calibration = calibrate_ties(self.human, scores)
            shown |= {"epsilon": calibration.epsilon, "all tied": calibration.all_tied}
        return shown

    def size(self) -> str:
        """Systems, segments and judged outputs."""
        judged = ~np.isnan(self.human)
        segments = int(judged.any(axis=0).sum())
        return f"{int(judged.any(axis=1).sum())} systems, {segments} segments, {int(judged.sum())} outputs"

    def missing(self, name: str) -> int:
        """Judged outputs without a score."""
        return int((np.isnan(self._scores[name]) & ~np.isnan(self.human)).sum())

    def resample(self) -> Matrix:
        """Segments drawn with replacement."""
        scores = [self._scores[name] for name in self.names]
        rng = self.resampling.generator()
        return bootstrap_segments(self.statistic, self.human, scores, rng, self.resampling.draws)

    def other_test(self, better: str, worse: str) -> float:
        """Williams over all outputs, or a permutation test."""
        a, b = self._scores[better], self._scores[worse]
        if self.task.test == "williams":
            return williams_test(self.human.ravel(), a.ravel(), b.ravel()).p
        rng = self.resampling.generator()
        unit = _UNITS[self.task.test]
        return permutation_test(self.statistic, self.human, a, b, rng, self.resampling.draws, unit).p


class SystemBench(Bench):
    """System scores against judgments of systems; tests that resample need segment scores of both."""

    def __init__(
        self, judgments: Judgments, metrics: list[MetricScores], task: Task, resampling: Resampling
    ) -> None:
        super().__init__(judgments, task, resampling)
        self.names = [metric.metric for metric in metrics]
        self.human = judgments.system_means()
        self.systems = {metric.metric: metric.align_systems(judgments) for metric in metrics}
        self._segments = {metric.metric: metric.align(judgments) for metric in metrics}
        self.statistic = _system_statistic(task, resampling, len(judgments.segments))

    def value(self, name: str) -> float:
        """The task's statistic over systems."""
        return self._values[name]

    @cached_property
    def _values(self) -> dict[str, float]:
        if isinstance(self.statistic, SoftPairwiseAccuracy):
            # All metrics at once, so that the human p-values are computed once.
            segments = [self._segments[name] for name in self.names]
            found = self.statistic.each(self.judgments.scores, segments)
        else:
            found = [self.statistic(self.human[:, None], self.systems[name][:, None]) for name in self.names]
        return dict(zip(self.names, found, strict=True))

    def beside(self, name: str) -> Mapping[str, float]:
        """The same without outlier systems, and the share of pairs of systems in the right order."""
        scores, kept = self.systems[name], ~outliers(self.human)
        views = {}
        if self.task.statistic != "soft-accuracy":
            views["without outliers"] = self.statistic(self.human[kept][:, None], scores[kept][:, None])
        if self.task.statistic != "accuracy":
            views["accuracy"] = pairwise_accuracy(self.human, scores)
        return views

    def size(self) -> str:
        """Systems, and how many of them are outliers."""
        known = int((~np.isnan(self.human)).sum())
        return f"{known} systems, {int(outliers(self.human).sum())} of them outliers"

    def missing(self, name: str) -> int:
        """Judged systems without a score."""
        return int((np.isnan(self.systems[name]) & ~np.isnan(self.human)).sum())

    def resample(self) -> Matrix:
        """Segments drawn with replacement, system scores are their means."""
        scores = [self._with_segments(name) for name in self.names]
        rng = self.resampling.generator()
        return bootstrap_segments(self.statistic, self.judgments.scores, scores, rng, self.resampling.draws)

    def other_test(self, better: str, worse: str) -> float:
        """Williams over systems, or a permutation test over segment scores."""
        if self.task.test == "williams":
            return williams_test(self.human, self.systems[better], self.systems[worse]).p
        a, b = self._with_segments(better), self._with_segments(worse)
        rng, unit = self.resampling.generator(), _UNITS[self.task.test]
        return permutation_test(self.statistic, self.judgments.scores, a, b, rng, self.resampling.draws, unit).p

    def _with_segments(self, name: str) -> Matrix:
        if np.isnan(self.judgments.scores).all() or np.isnan(self._segments[name]).all():
            raise PrismError(
                f"{self.task.test} needs segment scores of people and of {name}: use --test williams or none"
            )
        return self._segments[name]


class PreferenceBench(Bench):
    """Metrics against preferences; metrics that are known only by their agreement take part as well."""

    def __init__(
        self, judgments: Judgments, metrics: list[MetricScores], task: Task, resampling: Resampling
    ) -> None:
        super().__init__(judgments, task, resampling)
        preferences = judgments.preferences or Preferences(*find_preferences(judgments.scores))
        if not len(preferences):
            raise PrismError(f"{judgments.place}: no two outputs differ by 25 points or more")
        self._segment = preferences.segment
        self._agreements = dict(preferences.agreements)
        indices = preferences.segment, preferences.better, preferences.worse
        self._agreements |= {m.metric: agreement(m.align(judgments), *indices) for m in metrics}
        self.names = list(self._agreements)

    def value(self, name: str) -> float:
        """Tau over all preferences."""
        return darr_tau(self._agreements[name], self.task.ties)

    def beside(self, name: str) -> Mapping[str, float]:
        """The mean of each segment's own tau: segments with many preferences weigh no more than others."""
        values = credit(self._agreements[name], self.task.ties)
        known = ~np.isnan(values)
        count = np.bincount(self._segment[known])
        total = np.bincount(self._segment[known], weights=values[known])
        return {"mean of segments": float((total[count > 0] / count[count > 0]).mean()) if known.any() else np.nan}

    def size(self) -> str:
        """Number of preferences."""
        return f"{len(self._segment)} preferences"

    def missing(self, name: str) -> int:
        """Preferences of which the metric has not scored both outputs."""
        return int(np.isnan(self._agreements[name]).sum())

    def resample(self) -> Matrix:
        """Preferences drawn with replacement."""
        values = [self._agreements[name] for name in self.names]
        rng = self.resampling.generator()
        return bootstrap_preferences(values, rng, self.resampling.draws, self.task.ties)


def make_bench(judgments: Judgments, metrics: list[MetricScores], task: Task, resampling: Resampling) -> Bench:
    """The bench of the task's level."""
    if task.level == "segments":
        return SegmentBench(judgments, metrics, task, resampling)
    if task.level == "systems":
        return SystemBench(judgments, metrics, task, resampling)
    return PreferenceBench(judgments, metrics, task, resampling)


def _segment_statistic(task: Task) -> Statistic:
    match task.statistic:
        case "accuracy":
            return segment_accuracy
        case "acc-t23":
            return acc_t23
        case "pdp":
            return pairwise_difference_pearson
        case "pearson" | "spearman" | "kendall-b" | "kendall-c" as kind:
            return Correlation(kind, task.over)
    raise PrismError(f"{task.statistic} is not a statistic of segments")


def _system_statistic(task: Task, resampling: Resampling, segments: int) -> Statistic:
    """A statistic of row means, so that the same function serves system scores and resampled segments."""
    match task.statistic:
        case "soft-accuracy":
            return SoftPairwiseAccuracy(segments, resampling.generator())
        case "accuracy":
            return lambda human, metric: pairwise_accuracy(row_means(human), row_means(metric))
        case "pearson" | "spearman" | "kendall-b" | "kendall-c" as kind:
            whole = Correlation(kind)
            return lambda human, metric: whole(row_means(human)[:, None], row_means(metric)[:, None])
    raise PrismError(f"{task.statistic} is not a statistic of systems")
