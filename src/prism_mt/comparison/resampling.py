"""Draw other test sets from this one: bootstrap and approximate randomisation, draw for draw those of sacreBLEU.

Statistics add up over segments, so a drawn test set is a row of weights, and all of them are one matrix product.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from prism_mt.metaeval.bootstrap import Interval
from prism_mt.metaeval.judgments import Matrix, Vector

Aggregate = Callable[[Sequence[float]], float]
"""From added statistics to a system score."""

_BLOCK = 100
_EQUAL = 1e-9


class Bootstrap:
    """Test sets of the same size, drawn with replacement; the same ones for every system and metric."""

    def __init__(self, segments: int, draws: int, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self._times = np.empty((draws, segments), dtype=np.uint16)
        for draw in range(draws):
            chosen = rng.choice(segments, size=segments, replace=True)
            self._times[draw] = np.bincount(chosen, minlength=segments)

    def scores(self, statistics: Matrix, aggregate: Aggregate) -> Vector:
        """The system score on every drawn test set."""
        return _scores(self._times, statistics, np.zeros(statistics.shape[1]), aggregate)


class Randomisation:
    """Coins that say for every segment whether two systems swap their outputs."""

    def __init__(self, segments: int, draws: int, seed: int) -> None:
        self._keep = np.random.default_rng(seed).integers(2, size=(draws, segments), dtype=np.bool_)

    def differences(self, first: Matrix, second: Matrix, aggregate: Aggregate) -> Vector:
        """Absolute differences of the two shuffled systems' scores, one per draw."""
        mixed = _scores(self._keep, first - second, second.sum(axis=0), aggregate)
        rest = _scores(self._keep, second - first, first.sum(axis=0), aggregate)
        return np.abs(mixed - rest)


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


def _scores(weights: NDArray[np.generic], statistics: Matrix, base: Vector, aggregate: Aggregate) -> Vector:
    """Scores of `base` plus the weighted sum of statistics, for every row of weights."""
    return np.array([aggregate(row.tolist()) for block in _blocks(weights, statistics) for row in base + block])


def _blocks(weights: NDArray[np.generic], statistics: Matrix) -> Iterator[Matrix]:
    # Weights are kept in one or two bytes each; as numbers to multiply with they would fill the memory.
    for start in range(0, len(weights), _BLOCK):
        yield weights[start : start + _BLOCK].astype(np.float64) @ statistics
