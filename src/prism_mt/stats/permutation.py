"""Permutation tests: swap the scores of two metrics at random and count how often the difference is as large.

PERM-BOTH (Deutsch et al. 2021) swaps every (system, segment) entry independently; the other two variants swap whole
segments (inputs) or whole systems. For acc-t23 the shared tasks swap the outcomes of pairs of outputs instead, so that
every metric keeps its own calibrated epsilon.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from prism_mt.stats.arrays import Mask, Matrix, Statistic
from prism_mt.stats.correlation import Correlation
from prism_mt.stats.kendall_swaps import KendallSwaps
from prism_mt.stats.soft_accuracy import SoftPairwiseAccuracy
from prism_mt.stats.ties import calibrate_ties, pair_outcomes

Unit = Literal["both", "segments", "systems"]

_BLOCK = 50
# Differences that are equal up to rounding count as equal.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class PermutationResult:
    """The observed difference, and the share of draws with one at least as large."""

    difference: float
    p: float


class SwapCounter(Protocol):
    """Counts large differences after swaps; whatever swapping does not change is computed once."""

    def count_large(self, keep: Mask, threshold: float) -> int:
        """Count the draws (`keep`: draws × systems × segments) with a difference of `threshold` or more."""
        ...


def permutation_test(
    statistic: Statistic,
    human: Matrix,
    a: Matrix,
    b: Matrix,
    rng: np.random.Generator,
    draws: int = 1000,
    unit: Unit = "both",
) -> PermutationResult:
    """One-sided test that metric `a` agrees better with human scores than `b`, over cells that have all three scores.

    Both metrics are z-scored, so that a swap mixes comparable numbers. An undefined agreement gives NaN; an undefined
    difference in a draw counts as large.
    """
    known = ~(np.isnan(human) | np.isnan(a) | np.isnan(b))
    if not known.any():
        return PermutationResult(float("nan"), float("nan"))
    human, a, b = (np.where(known, scores, np.nan) for scores in (human, a, b))
    a, b = _standardize(a), _standardize(b)
    observed = statistic(human, a) - statistic(human, b)
    if np.isnan(observed):
        return PermutationResult(float("nan"), float("nan"))
    counter = _swap_counter(statistic, human, a, b)
    large = sum(
        counter.count_large(keep, observed - _ROUNDING) for keep in _draw_masks(rng, draws, human.shape, unit)
    )
    return PermutationResult(observed, large / draws)


def pair_permutation_test(
    human: Matrix, a: Matrix, b: Matrix, rng: np.random.Generator, draws: int = 1000
) -> PermutationResult:
    """One-sided test that metric `a` has a higher acc-t23 than `b`, over cells that have all three scores.

    Each metric is calibrated once; a draw swaps whether the two are right about some pairs of outputs of a segment.
    """
    known = ~(np.isnan(human) | np.isnan(a) | np.isnan(b))
    human, a, b = (np.where(known, scores, np.nan) for scores in (human, a, b))
    right_a, weight = pair_outcomes(human, a, calibrate_ties(human, a).epsilon)
    right_b, _ = pair_outcomes(human, b, calibrate_ties(human, b).epsilon)
    if not len(weight):
        return PermutationResult(float("nan"), float("nan"))
    gains = weight * (right_a - right_b)
    observed = float(gains.sum())
    # A swap turns a pair's gain around; pairs about which both are right, or both wrong, change nothing.
    gains = gains[gains != 0]
    large = 0
    for start in range(0, draws, _BLOCK):
        signs = rng.integers(2, size=(min(_BLOCK, draws - start), len(gains)), dtype=np.int8) * 2.0 - 1.0
        large += int(np.count_nonzero(signs @ gains >= observed - _ROUNDING))
    return PermutationResult(observed, large / draws)


def _swap_counter(statistic: Statistic, human: Matrix, a: Matrix, b: Matrix) -> SwapCounter:
    """Choose the fastest way to recompute a statistic after swaps."""
    if statistic == Correlation("kendall-b"):
        return KendallSwaps(human, a, b)
    if isinstance(statistic, SoftPairwiseAccuracy):
        return statistic.swaps(human, a, b)
    return _PlainSwaps(statistic, human, a, b)


@dataclass(frozen=True, eq=False)
class _PlainSwaps:
    """Recomputes any statistic in full for every draw."""

    statistic: Statistic
    human: Matrix
    a: Matrix
    b: Matrix

    def count_large(self, keep: Mask, threshold: float) -> int:
        return sum(not self._difference(draw) < threshold for draw in keep)

    def _difference(self, keep: Mask) -> float:
        a, b = np.where(keep, self.a, self.b), np.where(keep, self.b, self.a)
        return self.statistic(self.human, a) - self.statistic(self.human, b)


def _draw_masks(rng: np.random.Generator, draws: int, shape: tuple[int, ...], unit: Unit) -> Iterator[Mask]:
    """Yield blocks of masks (draws × systems × segments): True where a metric keeps its own score."""
    systems, segments = shape
    size = {"both": (systems, segments), "segments": (1, segments), "systems": (systems, 1)}[unit]
    for start in range(0, draws, _BLOCK):
        count = min(_BLOCK, draws - start)
        coins = rng.integers(2, size=(count, *size), dtype=np.uint8).astype(np.bool_)
        yield np.broadcast_to(coins, (count, systems, segments))


def _standardize(scores: Matrix) -> Matrix:
    """z-scores over all known cells; zeros for a constant metric."""
    spread = float(np.nanstd(scores))
    return (scores - np.nanmean(scores)) / (spread if spread > 0 else 1.0)
