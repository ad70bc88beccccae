"""Compare systems by one metric: scores, intervals, tests of every pair, ranks and segment wins."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from prism_mt._core.errors import PrismError
from prism_mt.metrics.scores import Matrix, MetricScores, Vector
from prism_mt.stats.correlation import kendall_b, pearson
from prism_mt.stats.ranks import rank_clusters
from prism_mt.stats.resampling import Bootstrap, Interval, Randomization, bootstrap_p, chance, sacrebleu_interval

Test = Literal["bootstrap", "randomization"]

SIGNIFICANT = 0.05
DRAWS: dict[Test, int] = {"bootstrap": 1000, "randomization": 10_000}
# Scores of equal outputs differ in the last digits if they were computed in different batches.
_TIE = 1e-6


_MOST_DRAWS = 1_000_000


@dataclass(frozen=True)
class Significance:
    """How to test differences; the default seed is sacreBLEU's, so that its numbers are reproduced."""

    test: Test = "bootstrap"
    draws: int | None = None
    seed: int = 12345

    def __post_init__(self) -> None:
        if self.draws is not None and self.draws < 40:
            raise PrismError(f"95 % intervals need at least 40 draws, not {self.draws}")
        if self.draws is not None and self.draws > _MOST_DRAWS:
            raise PrismError(f"at most {_MOST_DRAWS:,} draws fit into memory, not {self.draws:,}")
        if self.seed < 0:
            raise PrismError(f"the seed must not be negative: {self.seed}")

    @property
    def count(self) -> int:
        """Number of draws of the test."""
        return self.draws or DRAWS[self.test]


@dataclass(frozen=True, eq=False)
class Comparison:
    """Systems by one metric, in the order of its scores."""

    metric: MetricScores
    order: tuple[int, ...]
    """Indices of the systems from best to worst."""
    means: Vector
    """Mean scores of the resampled test sets."""
    intervals: tuple[Interval, ...]
    p: Matrix
    """p-values, systems × systems; 1 on the diagonal."""
    wins: NDArray[np.int64]
    """Number of segments on which the row's system beats the column's."""
    ranks: tuple[int, ...]
    noticeable: float
    """The difference that is typically significant between two systems on this test set."""

    def ties(self, first: int, second: int) -> int:
        """Number of segments on which two systems score the same."""
        return int(self.metric.segments.shape[1] - self.wins[first, second] - self.wins[second, first])


def compare_systems(metric: MetricScores, test: Significance) -> Comparison:
    """Test every pair of systems."""
    if np.isnan(metric.segments).any():
        raise PrismError(f"{metric.metric} has not scored every segment of every system")
    scores, count = metric.system_scores, metric.segments.shape[1]
    draws = test.count if test.test == "bootstrap" else DRAWS["bootstrap"]
    samples = Bootstrap(count, draws, test.seed).scores(metric.sums, metric.combine)
    p = _p_values(metric, samples, test)
    order = tuple(np.argsort(-metric.higher.system_scores, kind="stable").tolist())
    clusters = rank_clusters([str(place) for place in order], lambda a, b: bool(p[int(a), int(b)] < SIGNIFICANT))
    spreads = [float(np.std(samples[a] - samples[b])) for a, b in _pairs(len(scores))]
    return Comparison(
        metric,
        order,
        np.array([sample.mean() for sample in samples]),
        tuple(map(sacrebleu_interval, samples)),
        p,
        _wins(metric),
        tuple(clusters[str(place)] for place in range(len(scores))),
        1.96 * float(np.median(spreads)) if spreads else float("nan"),
    )


@dataclass(frozen=True)
class Agreement:
    """How much two metrics agree; NaN if there are too few systems or all scores are equal."""

    first: str
    second: str
    segments: float
    """Kendall's tau-b over all outputs."""
    systems: float
    """Pearson's r of system scores."""


def agreements(metrics: Sequence[MetricScores]) -> list[Agreement]:
    """Compare every pair of metrics; error rates are negated."""
    found = []
    for i, j in _pairs(len(metrics)):
        a, b = metrics[i].higher, metrics[j].higher
        found.append(
            Agreement(
                a.metric,
                b.metric,
                kendall_b(a.segments.ravel(), b.segments.ravel()),
                pearson(a.system_scores, b.system_scores) if len(a.systems) > 2 else float("nan"),
            )
        )
    return found


def _p_values(metric: MetricScores, samples: Sequence[Vector], test: Significance) -> Matrix:
    scores = metric.system_scores
    p = np.ones((len(scores), len(scores)))
    pairs = list(_pairs(len(scores)))
    differences = [float(scores[a] - scores[b]) for a, b in pairs]
    if test.test == "bootstrap":
        found = [bootstrap_p(samples[a], samples[b], d) for (a, b), d in zip(pairs, differences, strict=True)]
    else:
        coins = Randomization(metric.segments.shape[1], test.count, test.seed)
        shuffled = coins.differences(metric.sums, pairs, metric.combine)
        found = [chance(one, d) for one, d in zip(shuffled, differences, strict=True)]
    for (a, b), value in zip(pairs, found, strict=True):
        p[a, b] = p[b, a] = value
    return p


def _wins(metric: MetricScores) -> NDArray[np.int64]:
    rows = metric.higher.segments
    return np.array([[int((a - b > _TIE).sum()) for b in rows] for a in rows], dtype=np.int64)


def _pairs(count: int) -> Iterator[tuple[int, int]]:
    return ((a, b) for a in range(count) for b in range(a + 1, count))
