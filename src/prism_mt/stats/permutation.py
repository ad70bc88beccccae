"""Permutation tests: swap the scores of two metrics at random and see how often the difference is as large.

PERM-BOTH (Deutsch et al. 2021) swaps every (system, segment) entry on its own; the other two kinds swap whole
segments (inputs) or whole systems.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from prism_mt.evaluation.judgments import Matrix
from prism_mt.stats.correlation import Correlation, Statistic
from prism_mt.stats.swaps import KendallSwaps

Unit = Literal["both", "segments", "systems"]

_BLOCK = 50
# Differences that are equal but for rounding count as equal.
_SLACK = 1e-12


@dataclass(frozen=True)
class Permutation:
    """The observed difference, and the share of draws with one that is at least as large."""

    difference: float
    p: float


def permutation_test(
    statistic: Statistic,
    human: Matrix,
    a: Matrix,
    b: Matrix,
    rng: np.random.Generator,
    draws: int = 1000,
    unit: Unit = "both",
) -> Permutation:
    """One-sided test that metric `a` agrees better with people than `b`, over cells that have all three scores.

    Both are z-scored, so that a swap mixes comparable numbers. Undefined agreement gives NaN; an undefined
    difference of a draw counts as a large one.
    """
    known = ~(np.isnan(human) | np.isnan(a) | np.isnan(b))
    if not known.any():
        return Permutation(float("nan"), float("nan"))
    human, a, b = (np.where(known, scores, np.nan) for scores in (human, a, b))
    a, b = _standardise(a), _standardise(b)
    observed = statistic(human, a) - statistic(human, b)
    if np.isnan(observed):
        return Permutation(float("nan"), float("nan"))
    if statistic == Correlation("kendall-b"):
        swaps = KendallSwaps(human[known], a[known], b[known])
        large = sum(
            swaps.count_large(keep[:, known], observed - _SLACK) for keep in _draw(rng, draws, human.shape, unit)
        )
        return Permutation(observed, large / draws)
    large = 0
    for block in _draw(rng, draws, human.shape, unit):
        for keep in block:
            difference = statistic(human, np.where(keep, a, b)) - statistic(human, np.where(keep, b, a))
            large += not difference < observed - _SLACK
    return Permutation(observed, large / draws)


def _draw(rng: np.random.Generator, draws: int, shape: tuple[int, ...], unit: Unit) -> Iterator[NDArray[np.bool_]]:
    """Blocks of masks (draws × systems × segments): True where a metric keeps its own score."""
    systems, segments = shape
    size = {"both": (systems, segments), "segments": (1, segments), "systems": (systems, 1)}[unit]
    for start in range(0, draws, _BLOCK):
        count = min(_BLOCK, draws - start)
        coins = rng.integers(2, size=(count, *size), dtype=np.uint8).astype(np.bool_)
        yield np.broadcast_to(coins, (count, systems, segments))


def _standardise(scores: Matrix) -> Matrix:
    """z-scores over all known cells; zeros for a constant metric."""
    spread = float(np.nanstd(scores))
    return (scores - np.nanmean(scores)) / (spread if spread > 0 else 1.0)
