"""Correlations of a metric with human scores, as pure functions of two arrays of equal shape.

Cells where either side is NaN are left out. An undefined result (fewer than two cells, a constant side) is NaN,
never a made-up zero.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from prism_mt.stats.arrays import Index, Mask, Matrix, Vector, common, pair_signs

Kind = Literal["pearson", "spearman", "kendall-b", "kendall-c"]
Averaging = Literal["none", "segments", "systems"]


def pearson(human: Vector, metric: Vector) -> float:
    """Pearson's r."""
    human, metric = common(human, metric)
    if len(human) < 2 or _constant(human) or _constant(metric):
        return float("nan")
    x, y = human - human.mean(), metric - metric.mean()
    return float(np.clip(x @ y / np.sqrt((x @ x) * (y @ y)), -1.0, 1.0))


def spearman(human: Vector, metric: Vector) -> float:
    """Spearman's rho: Pearson's r of the ranks, with mean ranks for ties."""
    from scipy.stats import rankdata

    human, metric = common(human, metric)
    return pearson(rankdata(human), rankdata(metric))


def kendall_b(human: Vector, metric: Vector) -> float:
    """Kendall's tau-b: (concordant - discordant) / sqrt(pairs untied by humans * pairs untied by the metric)."""
    return _kendall(human, metric, "b")


def kendall_c(human: Vector, metric: Vector) -> float:
    """Kendall's tau-c, for scales with different numbers of steps."""
    return _kendall(human, metric, "c")


def _kendall(human: Vector, metric: Vector, variant: str) -> float:
    from scipy.stats import kendalltau

    human, metric = common(human, metric)
    if len(human) < 2 or _constant(human) or _constant(metric):
        return float("nan")
    return float(kendalltau(human, metric, variant=variant).statistic)


_KINDS = {"pearson": pearson, "spearman": spearman, "kendall-b": kendall_b, "kendall-c": kendall_c}


@dataclass(frozen=True)
class Correlation:
    """A correlation over all cells at once, or the mean of those within each segment or system.

    Pooled over all cells, it also rewards knowing which segments are hard; within segments it does not.
    Segments or systems whose own correlation is undefined are left out of the mean.
    """

    kind: Kind
    over: Averaging = "none"

    def __call__(self, human: Matrix, metric: Matrix) -> float:
        """Return the correlation of two score matrices."""
        if self.over == "none":
            return _KINDS[self.kind](human.ravel(), metric.ravel())
        if self.over == "segments":
            human, metric = human.T, metric.T
        if self.kind == "kendall-b" and human.shape[1] <= 50:
            return _mean(_kendall_b_rows(human, metric))
        rows = [_KINDS[self.kind](x, y) for x, y in zip(human, metric, strict=True)]
        return _mean(np.array(rows))


def _kendall_b_rows(human: Matrix, metric: Matrix) -> Vector:
    """Compute tau-b of every row at once, from all pairs within the rows (rows are short)."""
    sign_h, sign_m, _ = pair_signs(human.T, metric.T)
    untied = np.abs(sign_h).sum(axis=0) * np.abs(sign_m).sum(axis=0)
    net = (sign_h * sign_m).sum(axis=0)
    taus: Vector = np.divide(net, np.sqrt(untied), out=np.full(len(net), np.nan), where=untied > 0)
    return taus


def pairwise_difference_pearson(human: Matrix, metric: Matrix) -> float:
    """Pearson's r of the differences between outputs of one segment, pooled over all segments (PDP).

    DiIanni and Deutsch 2025. Every pair counts in both orders, so the result does not depend on the order
    of the systems. The differences then have mean 0, and the sum of their products over the pairs of a segment
    is 2n times the sum of products of the deviations of its n scores from their mean.
    """
    known = ~(np.isnan(human) | np.isnan(metric))
    count = known.sum(axis=0)
    x, y = (_deviations(scores, known, count) for scores in (human, metric))
    variances = (count * x * x).sum() * (count * y * y).sum()
    if not variances > 0:
        return float("nan")
    return float(np.clip((count * x * y).sum() / np.sqrt(variances), -1.0, 1.0))


def _deviations(scores: Matrix, known: Mask, count: Index) -> Matrix:
    """Scores minus their segment's mean; exactly 0 if a score is missing or all scores of a segment are equal."""
    values = np.where(known, scores, 0.0)
    means = values.sum(axis=0) / np.maximum(count, 1)
    low, high = (np.where(known, scores, fill) for fill in (np.inf, -np.inf))
    differ = low.min(axis=0, initial=np.inf) < high.max(axis=0, initial=-np.inf)
    return np.where(known & differ, values - means, 0.0)


def _constant(values: Vector) -> bool:
    return bool(values.max() == values.min())


def _mean(values: Vector) -> float:
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if len(defined) else float("nan")
