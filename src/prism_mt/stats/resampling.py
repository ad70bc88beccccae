"""Draw other test sets from this one: bootstrap and approximate randomisation, draw for draw those of sacreBLEU.

Statistics add up over segments, so a drawn test set is a row of weights, and all of them are one matrix product.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from prism_mt.evaluation.judgments import Matrix, Vector
from prism_mt.stats.bootstrap import Interval

Aggregate = Callable[[Sequence[float]], float]
"""From added statistics to a system score."""

_ROWS = 32
"""Draws made at a time: their coins fill whole words of 32 random bits, and so are those of one large draw."""
_COLUMNS = 1 << 16
_EQUAL = 1e-9


class Bootstrap:
    """Test sets of the same size, drawn with replacement; the same ones for every system and metric."""

    def __init__(self, segments: int, draws: int, seed: int) -> None:
        self._segments, self._draws, self._seed = segments, draws, seed

    def scores(self, systems: Sequence[Matrix], aggregate: Aggregate) -> list[Vector]:
        """Every system's score on every drawn test set."""
        sums = _sums_of_draws(self._weights(), systems)
        return [np.array([aggregate(row) for row in rows.tolist()]) for rows in sums]

    def _weights(self) -> Iterator[NDArray[np.generic]]:
        rng = np.random.default_rng(self._seed)
        for start in range(0, self._draws, _ROWS):
            times = np.empty((min(_ROWS, self._draws - start), self._segments), dtype=np.uint16)
            for row in times:
                row[:] = np.bincount(rng.choice(self._segments, size=self._segments), minlength=self._segments)
            yield times


class Randomisation:
    """Coins that say for every segment whether two systems swap their outputs; the same ones for every pair."""

    def __init__(self, segments: int, draws: int, seed: int) -> None:
        self._segments, self._draws, self._seed = segments, draws, seed

    def differences(
        self, systems: Sequence[Matrix], pairs: Iterable[tuple[int, int]], aggregate: Aggregate
    ) -> Iterator[Vector]:
        """For every pair of systems the absolute differences of their shuffled scores, one per draw."""
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


def interval(samples: Vector) -> Interval:
    """The middle 95 % of resampled scores, cut at the same order statistics as sacreBLEU's."""
    ordered = np.sort(samples)
    cut = len(ordered) // 40
    return Interval(float(ordered[cut]), float(ordered[len(ordered) - cut - 1]))


def bootstrap_p(first: Vector, second: Vector, difference: float) -> float:
    """p-value of the paired bootstrap from both systems' scores on the same drawn test sets."""
    differences = np.abs(first - second)
    return chance(differences - differences.mean(), difference)


def chance(differences: Vector, observed: float) -> float:
    """How often chance alone gives a larger difference than the observed one.

    Systems with equal scores get 1: sacreBLEU, which asks whether chance gives more than nothing, calls equal
    systems significantly different.
    """
    if abs(observed) < _EQUAL:
        return 1.0
    larger = int((differences > abs(observed)).sum())
    return (larger + 1) / (len(differences) + 1)


def _sums_of_draws(blocks: Iterable[NDArray[np.generic]], systems: Sequence[Matrix]) -> list[Matrix]:
    """For every system its weighted sums, one row per draw. The weights of a few draws are all that is in memory."""
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
