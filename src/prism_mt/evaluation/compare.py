"""Systems compared by one metric: scores, intervals, tests of every pair, ranks and segments won."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from prism_mt._core.errors import PrismError
from prism_mt.stats.arrays import Matrix, Vector
from prism_mt.stats.correlation import kendall_b, pearson
from prism_mt.stats.ranks import rank_clusters
from prism_mt.stats.resampling import (
    Aggregate,
    Bootstrap,
    Interval,
    Randomization,
    bootstrap_p,
    chance,
    sacrebleu_interval,
)

Test = Literal["bootstrap", "randomisation"]

SIGNIFICANT = 0.05
DRAWS: dict[Test, int] = {"bootstrap": 1000, "randomisation": 10_000}
# Scores of equal outputs differ in the last digits where they were computed in different batches.
_TIE = 1e-6


_MOST_DRAWS = 1_000_000


@dataclass(frozen=True)
class Significance:
    """How differences are tested; the seed is sacreBLEU's, so that its numbers come out."""

    test: Test = "bootstrap"
    draws: int | None = None
    seed: int = 12345

    def __post_init__(self) -> None:
        if self.draws is not None and self.draws < 40:
            raise PrismError(f"95 % intervals need at least 40 draws, not {self.draws}")
        if self.draws is not None and self.draws > _MOST_DRAWS:
            raise PrismError(f"at most {_MOST_DRAWS:,} draws fit into memory, not {self.draws:,}")
        if self.seed < 0:
            raise PrismError(f"a seed is 0 or more, not {self.seed}")

    @property
    def count(self) -> int:
        """Number of draws of the test."""
        return self.draws or DRAWS[self.test]


@dataclass(frozen=True, eq=False)
class Measured:
    """What one metric says of all systems."""

    metric: str
    signature: str
    systems: tuple[str, ...]
    segments: Matrix
    """Scores, systems × segments."""
    statistics: Sequence[Matrix]
    """For every system a row per segment, whose sums `aggregate` makes a score of."""
    aggregate: Aggregate
    lower_is_better: bool = False

    @property
    def scores(self) -> Vector:
        """System scores."""
        return self.scores_on(slice(None))

    def scores_on(self, chosen: NDArray[np.int64] | slice) -> Vector:
        """System scores on some of the segments."""
        return np.array([self.aggregate(rows[chosen].sum(axis=0).tolist()) for rows in self.statistics])

    def merits(self, scores: Matrix) -> Matrix:
        """Scores of which higher ones are better, whichever way the metric counts."""
        return -scores if self.lower_is_better else scores


@dataclass(frozen=True, eq=False)
class Comparison:
    """The systems of `measured`, in its order."""

    measured: Measured
    scores: Vector
    order: tuple[int, ...]
    """Places of the systems from the best to the worst."""
    means: Vector
    """Mean scores of the resampled test sets."""
    intervals: tuple[Interval, ...]
    p: Matrix
    """p-values, systems × systems; 1 on the diagonal."""
    wins: NDArray[np.int64]
    """Number of segments that the row's system does better than the column's."""
    ranks: tuple[int, ...]
    noticeable: float
    """The difference that two systems of this test set typically need to be told apart."""

    def ties(self, first: int, second: int) -> int:
        """Number of segments on which two systems score the same."""
        return int(self.measured.segments.shape[1] - self.wins[first, second] - self.wins[second, first])


def compare(measured: Measured, options: Significance) -> Comparison:
    """Test every pair of systems."""
    count = measured.segments.shape[1]
    scores = measured.scores
    draws = options.count if options.test == "bootstrap" else DRAWS["bootstrap"]
    samples = Bootstrap(count, draws, options.seed).scores(measured.statistics, measured.aggregate)
    p = _p_values(measured, scores, samples, options)
    order = tuple(np.argsort(-measured.merits(scores), kind="stable").tolist())
    clusters = rank_clusters(order, lambda a, b: bool(p[a, b] < SIGNIFICANT))
    spreads = [float(np.std(samples[a] - samples[b])) for a, b in _pairs(len(scores))]
    return Comparison(
        measured,
        scores,
        order,
        np.array([sample.mean() for sample in samples]),
        tuple(map(sacrebleu_interval, samples)),
        p,
        _wins(measured),
        tuple(clusters[place] for place in range(len(scores))),
        1.96 * float(np.median(spreads)) if spreads else float("nan"),
    )


@dataclass(frozen=True)
class Agreement:
    """How much two metrics agree; NaN where there are too few systems or all scores are equal."""

    first: str
    second: str
    segments: float
    """Kendall's tau-b over all outputs."""
    systems: float
    """Pearson's r of system scores."""


def agreements(measured: Sequence[Measured]) -> list[Agreement]:
    """Every pair of metrics, with errors counted as negative scores."""
    return [
        Agreement(
            a.metric,
            b.metric,
            kendall_b(a.merits(a.segments).ravel(), b.merits(b.segments).ravel()),
            pearson(a.merits(a.scores), b.merits(b.scores)) if len(a.systems) > 2 else float("nan"),
        )
        for a, b in ((measured[i], measured[j]) for i, j in _pairs(len(measured)))
    ]


def _p_values(measured: Measured, scores: Vector, samples: Sequence[Vector], options: Significance) -> Matrix:
    p = np.ones((len(scores), len(scores)))
    pairs = list(_pairs(len(scores)))
    differences = [float(scores[a] - scores[b]) for a, b in pairs]
    if options.test == "bootstrap":
        found = [bootstrap_p(samples[a], samples[b], d) for (a, b), d in zip(pairs, differences, strict=True)]
    else:
        coins = Randomization(measured.segments.shape[1], options.count, options.seed)
        shuffled = coins.differences(measured.statistics, pairs, measured.aggregate)
        found = [chance(one, d) for one, d in zip(shuffled, differences, strict=True)]
    for (a, b), value in zip(pairs, found, strict=True):
        p[a, b] = p[b, a] = value
    return p


def _wins(measured: Measured) -> NDArray[np.int64]:
    rows = measured.merits(measured.segments)
    return np.array([[int((a - b > _TIE).sum()) for b in rows] for a in rows], dtype=np.int64)


def _pairs(count: int) -> Iterator[tuple[int, int]]:
    return ((a, b) for a in range(count) for b in range(a + 1, count))
