"""Bootstrap: how far a result would move with other segments or other preferences."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from prism_mt.evaluation.judgments import Matrix, Vector
from prism_mt.stats.correlation import Statistic
from prism_mt.stats.darr import TieRule, credit

_BLOCK = 20


@dataclass(frozen=True)
class Interval:
    """The middle share of the resampled results."""

    low: float
    high: float

    def overlaps(self, other: "Interval") -> bool:
        """Whether two intervals have a point in common; without overlap a difference is called significant."""
        return self.low <= other.high and other.low <= self.high


def bootstrap_segments(
    statistic: Statistic, human: Matrix, metrics: Sequence[Matrix], rng: np.random.Generator, draws: int = 1000
) -> Matrix:
    """Results (draws × metrics) on segments drawn with replacement, the same ones for all metrics."""
    samples = np.empty((draws, len(metrics)))
    count = human.shape[1]
    for draw in range(draws):
        chosen = rng.integers(count, size=count)
        drawn = human[:, chosen]
        samples[draw] = [statistic(drawn, metric[:, chosen]) for metric in metrics]
    return samples


def bootstrap_preferences(
    agreements: Sequence[Vector], rng: np.random.Generator, draws: int = 1000, ties: TieRule = "discordant"
) -> Matrix:
    """daRR taus (draws × metrics) on preferences drawn with replacement, the same ones for all metrics.

    Preferences on which all metrics behave alike need not be told apart: how often each of these kinds is
    drawn follows a multinomial distribution, which is drawn from instead.
    """
    credits = np.array([credit(agreement, ties) for agreement in agreements]).T
    kinds, counts = np.unique(credits, axis=0, return_counts=True)
    known = ~np.isnan(kinds)
    values = np.where(known, kinds, 0.0)
    samples = np.empty((draws, credits.shape[1]))
    for start in range(0, draws, _BLOCK):
        size = min(_BLOCK, draws - start)
        drawn = rng.multinomial(len(credits), counts / len(credits), size=size).astype(np.float64)
        total = drawn @ known
        net = drawn @ values
        samples[start : start + size] = np.divide(net, total, out=np.full(net.shape, np.nan), where=total > 0)
    return samples


def interval(samples: Vector, confidence: float = 0.95) -> Interval:
    """Percentile interval of resampled results; NaN when any result is undefined."""
    tail = (1 - confidence) / 2
    low, high = np.quantile(samples, [tail, 1 - tail])
    return Interval(float(low), float(high))


def paired_p(better: Vector, worse: Vector) -> float:
    """One-sided p-value of the paired bootstrap: share of draws in which the better metric is not better.

    A draw in which a result is undefined counts against the difference.
    """
    return float((~(better > worse)).mean())
