"""Soft pairwise accuracy (Thompson et al. 2024): does a metric tell systems apart as confidently as people do?

A one-sided paired permutation test says for every pair of systems how probable it is that the first is better only
by chance, once from human scores and once from the metric's. Soft pairwise accuracy is
1 - mean over pairs of |p(human) - p(metric)|.

A draw of the test flips the sign of some segments' differences. It keeps at least the observed difference exactly
if the differences that it flips add up to no more than 0. So only sums over flipped segments are needed, and they
are taken per system, not per pair, since all pairs share the flips: all draws are one matrix product.
"""

from collections.abc import Sequence

import numpy as np

from prism_mt.stats.arrays import Index, Mask, Matrix, Vector

# Sums in another order differ in the last bits, which must not turn "equal" into "larger".
_ROUNDING = 1e-12
# Segments whose flips are floats at a time, and numbers that a matrix product may give: both bound memory. The
# products are large, because threads that wait for each other cost more than small products take.
_SEGMENTS = 1024
_PRODUCT = 1 << 22


class SoftPairwiseAccuracy:
    """Statistic of matrices with `segments` columns; all calls share the flips that are drawn here."""

    def __init__(self, segments: int, rng: np.random.Generator, draws: int = 1000) -> None:
        self._flipped: Mask = rng.choice(np.array([True, False]), size=(segments, draws))

    def __call__(self, human: Matrix, metric: Matrix) -> float:
        """Return the accuracy over cells that have both scores; NaN where no two systems share a segment."""
        return self.each(human, [metric])[0]

    def each(self, human: Matrix, metrics: Sequence[Matrix]) -> list[float]:
        """Accuracies of several metrics; those that score the same cells share the human p-values."""
        prepared: dict[bytes, tuple[_PairwiseTests, Vector]] = {}
        accuracies = []
        for metric in metrics:
            known = ~(np.isnan(human) | np.isnan(metric))
            if (cells := known.tobytes()) not in prepared:
                tests = _PairwiseTests(known, self._flipped)
                prepared[cells] = tests, tests.p_values(human)
            tests, p_human = prepared[cells]
            accuracies.append(_accuracy(p_human, tests.p_values(metric)))
        return accuracies

    def swaps(self, human: Matrix, a: Matrix, b: Matrix) -> "SoftAccuracySwaps":
        """Prepare a permutation test of two metrics; the three matrices lack the same cells."""
        return SoftAccuracySwaps(_PairwiseTests(~np.isnan(human), self._flipped), human, a, b)


class SoftAccuracySwaps:
    """Differences of soft pairwise accuracy after random swaps between two metrics.

    A swap leaves the mean of the two scores as it is and changes the sign of half their difference. So both
    metrics of a draw need one product, many draws share a large one, and the human p-values are never recomputed.
    """

    def __init__(self, tests: "_PairwiseTests", human: Matrix, a: Matrix, b: Matrix) -> None:
        self._tests = tests
        self._p_human = tests.p_values(human)
        mean, self._half = (a + b) / 2, (a - b) / 2
        self._sums_of_mean = tests.flipped_sums(mean)
        self._rounding = _rounding(mean) + _rounding(self._half)

    def count_large(self, keep: Mask, threshold: float) -> int:
        """In how many draws (`keep`: draws × systems × segments) the first metric is ahead by `threshold` or more."""
        block = max(1, _PRODUCT // self._sums_of_mean.size)
        large = 0
        for start in range(0, len(keep), block):
            halves = np.where(keep[start : start + block], self._half, -self._half)
            large += sum(not self._difference(sums) < threshold for sums in self._tests.flipped_sums(halves))
        return large

    def _difference(self, sums_of_half: Matrix) -> float:
        p_a = self._tests.shares(self._sums_of_mean + sums_of_half, self._rounding)
        p_b = self._tests.shares(self._sums_of_mean - sums_of_half, self._rounding)
        return _accuracy(self._p_human, p_a) - _accuracy(self._p_human, p_b)


class _PairwiseTests:
    """Paired permutation tests of all pairs of systems, on fixed cells and with fixed flips.

    Where all systems have the same segments, sums are taken per system. Otherwise every pair has segments of its
    own and sums are taken per pair: larger products, the same p-values.
    """

    def __init__(self, known: Mask, flipped: Mask) -> None:
        self._flipped = flipped
        self._known = known
        self._per_system = bool((known == known[:1]).all())
        first, second = np.triu_indices(len(known), k=1)
        shared = known[first] & known[second]
        compared = shared.any(axis=1)
        self._first, self._second, self._shared = first[compared], second[compared], shared[compared]

    def p_values(self, scores: Matrix) -> Vector:
        """One-sided p-values of the pairs of systems that share a segment."""
        return self.shares(self.flipped_sums(scores), _rounding(scores))

    def flipped_sums(self, scores: Matrix) -> Matrix:
        """Sums over the flipped segments of every draw (last axis), per system or per pair; linear in the scores.

        Takes any number of matrices at once, on leading axes.
        """
        if self._per_system:
            rows = np.where(self._known, scores, 0.0)
        else:
            gaps = scores[..., self._first, :] - scores[..., self._second, :]
            rows = np.where(self._shared, gaps, 0.0)
        sums = np.zeros((*rows.shape[:-1], self._flipped.shape[1]))
        for start in range(0, rows.shape[-1], _SEGMENTS):
            some = slice(start, start + _SEGMENTS)
            flat = rows[..., some].reshape(-1, len(self._flipped[some]))
            sums += (flat @ self._flipped[some].astype(np.float64)).reshape(sums.shape)
        return sums

    def shares(self, sums: Matrix, rounding: float) -> Vector:
        """For every pair the share of draws whose flipped differences add up to 0 or less."""
        draws = sums.shape[1]
        if not self._per_system:
            return _count_rows(sums <= rounding) / draws
        not_above = np.empty((len(self._first), draws), dtype=np.bool_)
        start = 0
        for place, row in enumerate(sums[: -1 if len(self._first) else 0], start=1):
            stop = start + len(sums) - place
            np.less_equal(row - rounding, sums[place:], out=not_above[start:stop])
            start = stop
        return _count_rows(not_above) / draws


def _count_rows(mask: Mask) -> Index:
    """Number of True in each row.

    Eight bytes are added at a time where their sums stay below 256: five times as fast as counting.
    """
    width = mask.shape[1]
    if width % 8 or width > 8 * 255:
        return mask.sum(axis=1)
    sums = mask.view(np.uint64).sum(axis=1)
    return sums.view(np.uint8).reshape(-1, 8).sum(axis=1, dtype=np.int64)


def _accuracy(p_human: Vector, p_metric: Vector) -> float:
    return float(1.0 - np.abs(p_human - p_metric).mean()) if len(p_human) else float("nan")


def _rounding(scores: Matrix) -> float:
    """More than rounding can change in a difference of two systems' sums, less than scores differ by."""
    return float(_ROUNDING * np.nansum(np.abs(scores), axis=1).max(initial=0.0))
