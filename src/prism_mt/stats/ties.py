"""Accuracy with credit for ties (acc-t23, Deutsch et al. 2023), and tie calibration."""

from dataclasses import dataclass

import numpy as np

from prism_mt.stats.arrays import Matrix, Vector, pair_signs


@dataclass(frozen=True)
class TieCalibration:
    """The best accuracy, and its epsilon: outputs whose scores differ by more are not tied.

    `all_tied` is the accuracy of calling every pair a tie. A metric that is no better than that shows nothing.
    """

    accuracy: float
    epsilon: float
    all_tied: float


def calibrate_ties(human: Matrix, metric: Matrix) -> TieCalibration:
    """Try every score difference within a segment as epsilon and keep the first best."""
    pairs = _pairs(human, metric)
    if pairs is None:
        return TieCalibration(float("nan"), float("nan"), float("nan"))
    order = np.argsort(pairs.gap)
    gap = pairs.gap[order]
    # Raising epsilon turns pairs into ties in the order of their gaps; equal gaps turn together. Pairs with a gap
    # of zero are ties already, whose two ways of being right are the same.
    change = (pairs.weight * (pairs.right_if_tied - pairs.right_if_ordered))[order]
    untouched = float(pairs.weight @ pairs.right_if_ordered)
    accuracy = untouched + np.cumsum(change)
    last = np.append(gap[1:] != gap[:-1], True)
    best = int(np.argmax(np.where(last, accuracy, -1.0)))
    all_tied = float(pairs.weight @ pairs.right_if_tied)
    if accuracy[best] <= untouched:
        return TieCalibration(untouched, 0.0, all_tied)
    return TieCalibration(float(accuracy[best]), float(gap[best]), all_tied)


def pair_outcomes(human: Matrix, metric: Matrix, epsilon: float) -> tuple[Vector, Vector]:
    """Whether a metric is right (1 or 0) about every pair of outputs of one segment, and each pair's weight.

    Two outputs tie for the metric if their scores differ by at most `epsilon`. The weights add up to 1, so that their
    product with the outcomes is the mean over segments of the share of pairs that humans and metric order, or tie,
    alike. The order of the pairs depends only on which cells are known.
    """
    pairs = _pairs(human, metric)
    if pairs is None:
        return np.empty(0), np.empty(0)
    return np.where(pairs.gap <= epsilon, pairs.right_if_tied, pairs.right_if_ordered), pairs.weight


def acc_t23(human: Matrix, metric: Matrix) -> float:
    """The accuracy after tie calibration on the same judgments, as reported by the shared tasks since 2023."""
    return calibrate_ties(human, metric).accuracy


@dataclass(frozen=True)
class _Pairs:
    gap: Vector
    weight: Vector
    right_if_ordered: Vector
    right_if_tied: Vector


def _pairs(human: Matrix, metric: Matrix) -> _Pairs | None:
    """All output pairs of a segment, weighted so that every segment that has a pair counts the same."""
    sign_h, sign_m, known = pair_signs(human, metric)
    per_segment = known.sum(axis=0)
    segments = np.count_nonzero(per_segment)
    if not segments:
        return None
    first, second = np.triu_indices(len(human), k=1)
    weight = np.broadcast_to(1.0 / (np.maximum(per_segment, 1) * segments), known.shape)
    return _Pairs(
        gap=np.abs(metric[first] - metric[second])[known],
        weight=weight[known],
        right_if_ordered=(sign_h == sign_m)[known].astype(np.float64),
        right_if_tied=(sign_h == 0)[known].astype(np.float64),
    )
