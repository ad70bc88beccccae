"""Judge metrics: results with intervals, p-values against the best, and ranks."""

import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from prism_mt._core.errors import PrismError
from prism_mt.evaluation.judgments import Judgments, MetricScores
from prism_mt.evaluation.levels import Bench, Resampling, make_bench
from prism_mt.evaluation.protocols import Task
from prism_mt.stats.ranks import rank_clusters
from prism_mt.stats.resampling import Interval, percentile_interval

_LOG = logging.getLogger("prism_mt")


@dataclass(frozen=True)
class MetricResult:
    """One line of a table. `p` is the p-value that the best metric is better only by chance (NaN for the best)."""

    metric: str
    value: float
    interval: Interval | None
    p: float
    rank: int
    beside: Mapping[str, float]


@dataclass(frozen=True)
class Evaluation:
    """All metrics on one test set and language pair (`place` names both), best first; undefined results last."""

    place: str
    pair: str
    size: str
    task: Task
    resampling: Resampling
    results: tuple[MetricResult, ...]
    signatures: Mapping[str, str] = field(default_factory=dict)
    """How the scores of metrics were computed, where that is known."""

    def is_top(self, result: MetricResult) -> bool:
        """Whether a result is the best or not significantly worse."""
        return not math.isnan(result.value) and not result.p < self.resampling.alpha


def evaluate(
    judgments: Judgments,
    metrics: Sequence[MetricScores],
    task: Task,
    resampling: Resampling | None = None,
    intervals: bool = False,
) -> Evaluation:
    """Judge metrics on one set of judgments; `intervals` asks for bootstrap intervals where the test has none."""
    resampling = resampling or Resampling()
    names = [metric.metric for metric in metrics]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise PrismError(f"two sets of scores are called {', '.join(twice)} ({judgments.pair}): rename one")
    bench = make_bench(judgments, list(metrics), task, resampling)
    if not bench.names:
        raise PrismError(f"{judgments.place}: there is no metric to judge")
    for name in bench.names:
        if bench.missing(name):
            count = bench.missing(name)
            _LOG.warning("%s, %s: %d judged items without a score are left out", judgments.pair, name, count)
    values = {name: bench.value(name) for name in bench.names}
    ordered = sorted(values, key=lambda name: (math.isnan(values[name]), -values[name]))
    comparisons = _Comparisons(bench, values, resampling.alpha)
    ranks = rank_clusters(ordered, comparisons.is_better)
    shown = intervals or task.test in ("intervals", "paired-bootstrap")
    results = tuple(
        MetricResult(
            metric=name,
            value=values[name],
            interval=percentile_interval(bench.sample(name)) if shown else None,
            p=math.nan if name == ordered[0] else comparisons.p_value(ordered[0], name),
            rank=ranks[name],
            beside=bench.beside(name),
        )
        for name in ordered
    )
    signatures = {metric.metric: metric.signature for metric in metrics if metric.signature}
    return Evaluation(judgments.place, judgments.pair, bench.size(), task, resampling, results, signatures)


class _Comparisons:
    """Tests between two metrics, each made once."""

    def __init__(self, bench: Bench, values: Mapping[str, float], alpha: float) -> None:
        self._bench, self._values, self._alpha = bench, values, alpha
        self._known: dict[tuple[str, str], float] = {}

    def p_value(self, better: str, worse: str) -> float:
        if (better, worse) not in self._known:
            self._known[better, worse] = self._bench.p_value(better, worse)
        return self._known[better, worse]

    def is_better(self, better: str, worse: str) -> bool:
        # A metric without a result ranks below all that have one.
        if math.isnan(self._values[worse]):
            return not math.isnan(self._values[better])
        return self.p_value(better, worse) < self._alpha
