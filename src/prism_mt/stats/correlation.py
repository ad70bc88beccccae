"""Agreement of a metric with people, as pure functions of two equally shaped arrays.

Cells in which either side is NaN are left out. A result that is not defined (fewer than two cells, a side that
is constant, no pair that people tell apart) is NaN, never a made-up zero.
"""

from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from prism_mt.evaluation.judgments import Matrix, Vector

Kind = Literal["pearson", "spearman", "kendall-b", "kendall-c"]
Averaging = Literal["none", "segments", "systems"]


class Statistic(Protocol):
    """Any agreement of systems × segments matrices of human and metric scores."""

    def __call__(self, human: Matrix, metric: Matrix) -> float:
        """The agreement, or NaN where it is not defined."""
        ...


def pearson(human: Vector, metric: Vector) -> float:
    """Pearson's r."""
    human, metric = _known(human, metric)
    if len(human) < 2 or _constant(human) or _constant(metric):
        return float("nan")
    x, y = human - human.mean(), metric - metric.mean()
    return float(np.clip(x @ y / np.sqrt((x @ x) * (y @ y)), -1.0, 1.0))


def spearman(human: Vector, metric: Vector) -> float:
    """Spearman's rho: Pearson's r of ranks, ties get mean ranks."""
    from scipy.stats import rankdata

    human, metric = _known(human, metric)
    return pearson(rankdata(human), rankdata(metric))


def kendall_b(human: Vector, metric: Vector) -> float:
    """Kendall's tau-b: (concordant - discordant) / sqrt(pairs untied by people * pairs untied by the metric)."""
    return _kendall(human, metric, "b")


def kendall_c(human: Vector, metric: Vector) -> float:
    """Kendall's tau-c, for scales with different numbers of steps."""
    return _kendall(human, metric, "c")


def _kendall(human: Vector, metric: Vector, variant: str) -> float:
    from scipy.stats import kendalltau

    human, metric = _known(human, metric)
    if len(human) < 2 or _constant(human) or _constant(metric):
        return float("nan")
    return float(kendalltau(human, metric, variant=variant).statistic)


_KINDS = {"pearson": pearson, "spearman": spearman, "kendall-b": kendall_b, "kendall-c": kendall_c}


@dataclass(frozen=True)
class Correlation:
    """A correlation over all cells at once, or the mean of those within each segment or each system.

    Pooled over all cells it also rewards knowing which segments are hard; within segments it does not.
    Segments or systems whose own correlation is not defined are left out of the mean.
    """

    kind: Kind
    over: Averaging = "none"

    def __call__(self, human: Matrix, metric: Matrix) -> float:
        """The correlation of two systems × segments matrices."""
        if self.over == "none":
            return _KINDS[self.kind](human.ravel(), metric.ravel())
        if self.over == "segments":
            human, metric = human.T, metric.T
        if self.kind == "kendall-b" and human.shape[1] <= 50:
            return _mean(_kendall_b_rows(human, metric))
        rows = [_KINDS[self.kind](x, y) for x, y in zip(human, metric, strict=True)]
        return _mean(np.array(rows))


def _kendall_b_rows(human: Matrix, metric: Matrix) -> Vector:
    """Tau-b of every row at once, from all pairs within the rows (rows are short)."""
    sign_h, sign_m, _ = pair_signs(human.T, metric.T)
    untied = np.abs(sign_h).sum(axis=0) * np.abs(sign_m).sum(axis=0)
    net = (sign_h * sign_m).sum(axis=0)
    taus: Vector = np.divide(net, np.sqrt(untied), out=np.full(len(net), np.nan), where=untied > 0)
    return taus


def pair_signs(human: Matrix, metric: Matrix) -> tuple[NDArray[np.int8], NDArray[np.int8], NDArray[np.bool_]]:
    """For all pairs of rows: which is higher (1, 0, -1) for people and metric, and where both are known.

    All three have the shape pairs × columns; signs are 0 where a score is missing.
    """
    first, second = np.triu_indices(len(human), k=1)
    missing = np.isnan(human) | np.isnan(metric)
    known = ~(missing[first] | missing[second])

    def signs(scores: Matrix) -> NDArray[np.int8]:
        one, other = scores[first], scores[second]
        higher, lower = (one > other) & known, (one < other) & known
        return higher.view(np.int8) - lower.view(np.int8)

    return signs(human), signs(metric), known


def segment_accuracy(human: Matrix, metric: Matrix) -> float:
    """Share of pairs of outputs of one segment, told apart by people, that the metric orders alike; a tie is wrong."""
    sign_h, sign_m, _ = pair_signs(human, metric)
    judged = np.count_nonzero(sign_h)
    return float(np.count_nonzero(sign_h * sign_m > 0) / judged) if judged else float("nan")


def pairwise_agreement(human: Vector, metric: Vector) -> tuple[int, int]:
    """Pairs of systems that metric and people order alike, and all pairs; a tie is right only when both tie.

    Counts rather than a share, because the shared tasks pool the pairs of all language pairs.
    """
    sign_h, sign_m, known = pair_signs(human[:, None], metric[:, None])
    return int(np.count_nonzero((sign_h == sign_m) & known)), int(known.sum())


def pairwise_accuracy(human: Vector, metric: Vector) -> float:
    """The share that `pairwise_agreement` counts; NaN for fewer than two systems."""
    agreed, pairs = pairwise_agreement(human, metric)
    return agreed / pairs if pairs else float("nan")


def soft_pairwise_accuracy(human: Matrix, metric: Matrix, rng: np.random.Generator, draws: int = 1000) -> float:
    """1 - mean difference of people's and the metric's p-values that one system is better than another.

    The p-values are from a paired permutation test over the segments that have both scores of both systems.
    """
    first, second = np.triu_indices(len(human), k=1)
    differences = [scores[first] - scores[second] for scores in (human, metric)]
    known = ~(np.isnan(differences[0]) | np.isnan(differences[1]))
    compared = known.any(axis=1)
    if not compared.any():
        return float("nan")
    swaps = rng.choice(np.array([-1.0, 1.0]), size=(human.shape[1], draws))
    p_values = []
    for difference in differences:
        gaps = np.where(known, difference, 0.0)[compared]
        observed = gaps.sum(axis=1, keepdims=True)
        # Sums in another order differ in the last bits, which must not turn "equal" into "smaller".
        slack = 1e-12 * np.abs(gaps).sum(axis=1, keepdims=True)
        p_values.append((gaps @ swaps >= observed - slack).mean(axis=1))
    return float(1.0 - np.abs(p_values[0] - p_values[1]).mean())


def _known(human: Vector, metric: Vector) -> tuple[Vector, Vector]:
    known = ~(np.isnan(human) | np.isnan(metric))
    return human[known], metric[known]


def _constant(values: Vector) -> bool:
    return bool(values.max() == values.min())


def _mean(values: Vector) -> float:
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if len(defined) else float("nan")
