"""Bootstrap and approximate randomization: how much a result varies with the segments, preferences or systems.

Two families of tools do this in two ways, and their numbers differ in the last digits. To compare systems we draw,
compute intervals and count p-values as sacreBLEU does: `Bootstrap`, `Randomization`, `sacrebleu_interval`,
`bootstrap_p`, `chance`. To judge metrics we follow the metrics shared tasks and the Prism paper: `bootstrap_segments`,
`bootstrap_preferences`, `bootstrap_systems`, `percentile_interval`, `paired_p`.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prism_mt.stats.arrays import Matrix, Statistic, Vector
from prism_mt.stats.darr import TieRule, credit

Aggregate = Callable[[Sequence[float]], float]
"""Computes a system score from summed statistics."""

_ROWS = 32
"""Draws per block: their coins fill whole 32-bit random words, so that blocks equal one large draw."""
_COLUMNS = 1 << 16
_PREFERENCE_DRAWS = 20
_EQUAL = 1e-9


@dataclass(frozen=True)
class Interval:
    """The central share of the resampled results."""

    low: float
    high: float

    def overlaps(self, other: "Interval") -> bool:
        """Whether two intervals overlap; if they do not, a difference is called significant."""
        return self.low <= other.high and other.low <= self.high


def percentile_interval(samples: Vector, confidence: float = 0.95) -> Interval:
    """The percentile interval of a metric's results, interpolated between draws; NaN if any result is undefined.

    The daRR tables of WMT17 to WMT20 and the Prism paper compare such intervals from 1,000 draws.
    """
    tail = (1 - confidence) / 2
    low, high = np.quantile(samples, [tail, 1 - tail])
    return Interval(float(low), float(high))


def sacrebleu_interval(samples: Vector) -> Interval:
    """The 95 % interval of system scores, cut at the same order statistics as sacreBLEU's."""
    ordered = np.sort(samples)
    cut = len(ordered) // 40
    return Interval(float(ordered[cut]), float(ordered[len(ordered) - cut - 1]))


def paired_p(better: Vector, worse: Vector) -> float:
    """One-sided p-value for two metrics: share of draws in which the better one is not better (Koehn 2004).

    A draw with an undefined result counts against the difference.
    """
    return float((~(better > worse)).mean())


def bootstrap_p(first: Vector, second: Vector, difference: float) -> float:
    """p-value for two systems from their scores on the same resampled test sets, as sacreBLEU computes it."""
    differences = np.abs(first - second)
    return chance(differences - differences.mean(), difference)


def chance(differences: Vector, observed: float) -> float:
    """How often chance alone gives a larger difference than the observed one; one draw is added to both counts.

    Systems with equal scores get 1: sacreBLEU, which asks whether chance gives more than zero, calls equal systems
    significantly different.
    """
    if abs(observed) < _EQUAL:
        return 1.0
    larger = int((differences > abs(observed)).sum())
    return (larger + 1) / (len(differences) + 1)


def bootstrap_segments(
    statistic: Statistic, human: Matrix, metrics: Sequence[Matrix], rng: np.random.Generator, draws: int = 1000
) -> Matrix:
    """Results (draws × metrics) on segments drawn with replacement, the same draws for all metrics."""
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
    """daRR taus (draws × metrics) on preferences drawn with replacement, the same draws for all metrics.

    Preferences on which all metrics behave alike need not be distinguished: how often each such kind is drawn follows a
    multinomial distribution, which is sampled instead.
    """
    credits = np.array([credit(agreement, ties) for agreement in agreements]).T
    kinds, counts = np.unique(credits, axis=0, return_counts=True)
    known = ~np.isnan(kinds)
    values = np.where(known, kinds, 0.0)
    samples = np.empty((draws, credits.shape[1]))
    for start in range(0, draws, _PREFERENCE_DRAWS):
        size = min(_PREFERENCE_DRAWS, draws - start)
        drawn = rng.multinomial(len(credits), counts / len(credits), size=size).astype(np.float64)
        total = drawn @ known
        net = drawn @ values
        samples[start : start + size] = np.divide(net, total, out=np.full(net.shape, np.nan), where=total > 0)
    return samples


def bootstrap_systems(
    statistic: Statistic, human: Vector, metrics: Sequence[Vector], rng: np.random.Generator, draws: int = 1000
) -> Matrix:
    """Results (draws × metrics) on systems drawn with replacement, the same draws for all metrics.

    For judgments of whole systems, which have no segments to draw: the statistic sees one-column matrices. NaN where a
    draw leaves it undefined.
    """
    chosen = rng.integers(len(human), size=(draws, len(human)))
    return np.array([[statistic(human[rows, None], one[rows, None]) for one in metrics] for rows in chosen])


class Bootstrap:
    """Test sets of the same size, drawn with replacement; the same draws for every system and metric.

    The draws are identical to sacreBLEU's. Statistics add up over segments, so a resampled test set is a row of
    weights, and all of them are one matrix product.
    """

    def __init__(self, segments: int, draws: int, seed: int) -> None:
        self._segments, self._draws, self._seed = segments, draws, seed

    def scores(self, systems: Sequence[Matrix], aggregate: Aggregate) -> list[Vector]:
        """Every system's score on every resampled test set."""
        sums = _sums_of_draws(self._weights(), systems)
        return [np.array([aggregate(row) for row in rows.tolist()]) for rows in sums]

    def _weights(self) -> Iterator[NDArray[np.generic]]:
        rng = np.random.default_rng(self._seed)
        for start in range(0, self._draws, _ROWS):
            times = np.empty((min(_ROWS, self._draws - start), self._segments), dtype=np.uint16)
            for row in times:
                row[:] = np.bincount(rng.choice(self._segments, size=self._segments), minlength=self._segments)
            yield times


class Randomization:
    """Coin flips that decide for every segment whether two systems swap outputs; the same flips for every pair.

    The draws are identical to those of sacreBLEU's paired approximate randomization.
    """

    def __init__(self, segments: int, draws: int, seed: int) -> None:
        self._segments, self._draws, self._seed = segments, draws, seed

    def differences(
        self, systems: Sequence[Matrix], pairs: Iterable[tuple[int, int]], aggregate: Aggregate
    ) -> Iterator[Vector]:
        """For every pair of systems, the absolute differences of their shuffled scores, one per draw."""
        kept = _sums_of_draws(self._weights(), systems)
        wholes = [rows.sum(axis=0) for rows in systems]
        for a, b in pairs:
            mixed, rest = wholes[b] - kept[b] + kept[a], wholes[a] - kept[a] + kept[b]
            scores = [np.array([aggregate(row) for row in rows.tolist()]) for rows in (mixed, rest)]
            yield np.abs(scores[0] - scores[1])

    def _weights(self) -> Iterator[NDArray[np.generic]]:
        rng = np.random.default_rng(self._seed)
        for start in range(0, self._draws, _ROWS):
            yield rng.integers(2, size=(min(_ROWS, self._draws - start), self._segments), dtype=np.bool_)


def _sums_of_draws(blocks: Iterable[NDArray[np.generic]], systems: Sequence[Matrix]) -> list[Matrix]:
    """For every system, its weighted sums, one row per draw. Only the weights of a few draws are in memory."""
    sums: list[list[Matrix]] = [[] for _ in systems]
    for weights in blocks:
        for rows, found in zip(systems, sums, strict=True):
            found.append(_weighted(weights, rows))
    return [np.concatenate(found) for found in sums]


def _weighted(weights: NDArray[np.generic], rows: Matrix) -> Matrix:
    total = np.zeros((len(weights), rows.shape[1]))
    for start in range(0, len(rows), _COLUMNS):
        some = slice(start, start + _COLUMNS)
        total += weights[:, some].astype(np.float64) @ rows[some]
    return total
