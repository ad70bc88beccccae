"""Soft pairwise accuracy (Thompson et al. 2024): does a metric separate systems as confidently as humans do?

A one-sided paired permutation test gives for every pair of systems the probability that the first is better only by
chance, once from human scores and once from the metric's. Soft pairwise accuracy is
1 - mean over pairs of |p(human) - p(metric)|.

A draw of the test flips the sign of some segments' differences. It reaches the observed difference exactly if the
differences that it flips add up to no more than 0. So only sums over flipped segments are needed, and they are taken
per system, not per pair, since all pairs share the flips: all draws are one matrix product.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from prism_mt.stats.arrays import Mask, Matrix, Vector

Tensor = NDArray[np.floating]

MT_METRICS_EVAL_SEED = 4

# Sums taken in another order differ in the last bits, which must not turn "equal" into "larger".
_ROUNDING = 1e-12
# The same for the sums of swapped scores, which are in single precision: twice as fast, and half the memory.
_SINGLE_ROUNDING = 2e-7
# Memory bounds: segments whose flips are held as floats at a time, and numbers in the result of a matrix product.
_SEGMENTS = 1024
_PRODUCT = 1 << 20
# OpenBLAS computes products of up to this many multiplications in one thread.
_ONE_THREAD = 1 << 18
_NARROW = 32
# Numbers compared at a time, so that they stay in the processor's cache.
_COMPARED = 1 << 16


class SoftPairwiseAccuracy:
    """A statistic of matrices with `segments` columns; all calls share the flips drawn here.

    The flips are drawn as mt-metrics-eval draws them: on the judged segments alone and with a generator of its seed
    (`MT_METRICS_EVAL_SEED`), the values are the same up to its rounding to single precision.
    """

    def __init__(self, segments: int, rng: np.random.Generator, draws: int = 1000) -> None:
        self._flipped: Mask = np.ascontiguousarray(rng.random((draws, segments), dtype=np.float32).T <= 0.5)

    def __call__(self, human: Matrix, metric: Matrix) -> float:
        """Return the accuracy over cells that have both scores; NaN if no two systems share a segment."""
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
            accuracies.append(float(_accuracy(p_human, tests.p_values(metric)[:, None])[0]))
        return accuracies

    def swaps(self, human: Matrix, a: Matrix, b: Matrix) -> "SoftAccuracySwaps":
        """Prepare a permutation test of two metrics; the three matrices lack the same cells."""
        return SoftAccuracySwaps(_PairwiseTests(~np.isnan(human), self._flipped), human, a, b)


class SoftAccuracySwaps:
    """Differences of soft pairwise accuracy after random swaps between two metrics.

    A swap preserves the mean of the two scores and changes the sign of half their difference. So both metrics of a
    draw need one product, many draws share a large one, and the human p-values are never recomputed.
    """

    def __init__(self, tests: "_PairwiseTests", human: Matrix, a: Matrix, b: Matrix) -> None:
        self._tests = tests
        self._p_human = tests.p_values(human)
        mean, half = (a + b) / 2, (a - b) / 2
        self._half = half.astype(np.float32)
        self._sums_of_mean = tests.flipped_sums(mean[:, None])[:, 0].astype(np.float32)
        self._rounding = _rounding(mean, _SINGLE_ROUNDING) + _rounding(half, _SINGLE_ROUNDING)

    def count_large(self, keep: Mask, threshold: float) -> int:
        """Count the draws (`keep`: draws × systems × segments) where the first metric leads by `threshold` or more."""
        large = 0
        size = self._sums_of_mean.size
        for some in _blocks(len(keep), _PRODUCT // size):
            half = self._half[:, None]
            sums = self._tests.flipped_sums(np.where(keep[some].swapaxes(0, 1), half, -half))
            for few in _blocks(sums.shape[1], _COMPARED // size):
                large += int((~(self._differences(sums[:, few]) < threshold)).sum())
        return large

    def _differences(self, sums_of_half: Tensor) -> Vector:
        mean = self._sums_of_mean[:, None]
        p_a = self._tests.shares(mean + sums_of_half, self._rounding)
        p_b = self._tests.shares(mean - sums_of_half, self._rounding)
        return _accuracy(self._p_human, p_a) - _accuracy(self._p_human, p_b)


class _PairwiseTests:
    """Paired permutation tests of all system pairs, on fixed cells and with fixed flips.

    If all systems have the same segments, sums are taken per system. Otherwise every pair has its own segments and
    sums are taken per pair: larger products, the same p-values.
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
        """One-sided p-values of the system pairs that share a segment."""
        sums = self.flipped_sums(scores[:, None])
        return self.shares(sums, _rounding(scores))[:, 0]

    def flipped_sums(self, scores: Tensor) -> Tensor:
        """Sums of scores (systems × matrices × segments) over the segments that each draw flips (last axis).

        The first axis of the result is systems or system pairs. The sums are linear in the scores.
        """
        if self._per_system:
            rows, known = scores, self._known
        else:
            rows, known = scores[self._first] - scores[self._second], self._shared
        rows = np.where(known[:, None], rows, rows.dtype.type(0))
        sums = _product(rows[..., :_SEGMENTS], self._flipped[:_SEGMENTS].astype(rows.dtype))
        for start in range(_SEGMENTS, rows.shape[2], _SEGMENTS):
            some = slice(start, start + _SEGMENTS)
            sums += _product(rows[..., some], self._flipped[some].astype(rows.dtype))
        return sums

    def shares(self, sums: Tensor, rounding: float) -> Matrix:
        """For every pair (and matrix), the share of draws whose flipped differences add up to 0 or less."""
        if not self._per_system:
            return _share_true(sums <= rounding)
        not_above = np.empty((len(self._first), *sums.shape[1:]), dtype=np.bool_)
        stop = 0
        for system in range(len(sums) if len(self._first) else 0):
            others = sums[system + 1 :]
            start, stop = stop, stop + len(others)
            np.less_equal(sums[system] - sums.dtype.type(rounding), others, out=not_above[start:stop])
        return _share_true(not_above)


def _product(rows: Tensor, flipped: Tensor) -> Tensor:
    """Multiply all rows by the flips, in many single-threaded products or in one that is worth several threads.

    Products in between are slow on a busy machine, because threads keep waiting for each other.
    """
    width = _ONE_THREAD // max(1, rows.shape[1] * rows.shape[2])
    result = np.empty((*rows.shape[:2], flipped.shape[1]), rows.dtype)
    if width < _NARROW:
        np.matmul(rows.reshape(-1, rows.shape[2]), flipped, out=result.reshape(-1, flipped.shape[1]))
        return result
    for some in _blocks(flipped.shape[1], width):
        np.matmul(rows, flipped[:, some], out=result[..., some])
    return result


def _accuracy(p_human: Vector, p_metric: Matrix) -> Vector:
    """The accuracies of all columns of `p_metric`."""
    if not len(p_human):
        return np.full(p_metric.shape[1], np.nan)
    accuracies: Vector = 1.0 - np.abs(p_human[:, None] - p_metric).mean(axis=0)
    return accuracies


def _share_true(mask: Mask) -> Matrix:
    """Share of True along the last axis.

    Where their sums stay below 256, eight bytes are added at a time: five times as fast as counting.
    """
    width = mask.shape[-1]
    if width % 8 or width > 8 * 255:
        counts = np.count_nonzero(mask, axis=-1)
    else:
        sums = mask.view(np.uint64).sum(axis=-1)
        counts = sums[..., None].view(np.uint8).sum(axis=-1, dtype=np.int64)
    return np.asarray(counts / width, dtype=np.float64)


def _rounding(scores: Matrix, relative: float = _ROUNDING) -> float:
    """A bound that exceeds rounding in a difference of two systems' sums but not actual score differences."""
    return float(relative * np.nansum(np.abs(scores), axis=1).max(initial=0.0))


def _blocks(length: int, size: int) -> Iterator[slice]:
    size = max(1, size)
    return (slice(start, start + size) for start in range(0, length, size))
