"""Exact differences of Kendall's tau-b after random swaps between two metrics, without recomputing tau.

Let S be concordant minus discordant pairs, and let the sign e_i say whether item i keeps its own scores (1) or has
those of the two metrics swapped (-1). Every pair (i, j) contributes to S(a) - S(b) a term that changes its sign when
both e_i and e_j do; such a function of two signs is linear in them. So S(a) - S(b) = sum of e_i c_i, where the c_i are
computed once: a thousand draws are one matrix-vector product.
The denominators of tau-b differ only by the pairs that one metric ties, which are counted per draw; the sum
S(a) + S(b), which is not linear, then matters only in the few draws so close to the observed difference that its sign
decides. Those are computed in full.
"""

import numpy as np

from prism_mt.stats.arrays import Index, Mask, Matrix, Vector
from prism_mt.stats.correlation import kendall_b


class KendallSwaps:
    """Counts large differences after swaps between two metrics, over the cells that they and humans have scored."""

    def __init__(self, human: Matrix, a: Matrix, b: Matrix) -> None:
        self._known = ~(np.isnan(human) | np.isnan(a) | np.isnan(b))
        human, a, b = (scores[self._known] for scores in (human, a, b))
        self._human, self._a, self._b = human, a, b
        values, ranks = np.unique(np.concatenate([a, b]), return_inverse=True)
        self._ranks_a, self._ranks_b = np.split(ranks.astype(np.int64), 2)
        self._has_ties = len(values) < 2 * len(a)
        parts = {
            (x, y): net_concordance(human, self._ranks(x), self._ranks(y)) for x in ("a", "b") for y in ("a", "b")
        }
        self._linear = (parts["a", "a"] - parts["b", "b"] + parts["a", "b"] - parts["b", "a"]) / 2
        n = len(human)
        self._pairs = n * (n - 1) // 2
        self._untied_human = self._pairs - _tied_pairs(np.unique(human, return_inverse=True)[1])

    def count_large(self, keep: Mask, threshold: float) -> int:
        """Count the draws (`keep`: draws × systems × segments) where the first metric leads by `threshold` or more."""
        keep = keep[:, self._known]
        signs = np.where(keep, 1.0, -1.0)
        half = signs @ self._linear / 2
        scale_a, scale_b = self._scales(keep)
        # An infinite scale means an undefined tau, which counts as large here as everywhere.
        defined = np.isfinite(scale_a) & np.isfinite(scale_b)
        with np.errstate(invalid="ignore"):
            center = half * (scale_a + scale_b)
            # |S(a) + S(b)| / 2 is at most the number of pairs that humans do not tie.
            slack = self._untied_human * np.abs(scale_a - scale_b)
        certain = ~defined | (center - slack >= threshold)
        open_draws = np.flatnonzero(~certain & (center + slack >= threshold))
        return int(certain.sum()) + sum(self._difference(keep[draw]) >= threshold for draw in open_draws)

    def _scales(self, keep: Mask) -> tuple[Vector, Vector]:
        """1 / sqrt(untied by humans * untied by the metric) of both metrics for each draw."""
        untied = np.full((2, len(keep)), float(self._pairs))
        if self._has_ties:
            for draw, mask in enumerate(keep):
                untied[0, draw] -= _tied_pairs(np.where(mask, self._ranks_a, self._ranks_b))
                untied[1, draw] -= _tied_pairs(np.where(mask, self._ranks_b, self._ranks_a))
        with np.errstate(divide="ignore"):
            scales = 1 / np.sqrt(untied * self._untied_human)
        return scales[0], scales[1]

    def _difference(self, keep: Mask) -> float:
        a, b = np.where(keep, self._a, self._b), np.where(keep, self._b, self._a)
        return kendall_b(self._human, a) - kendall_b(self._human, b)

    def _ranks(self, metric: str) -> Index:
        return self._ranks_a if metric == "a" else self._ranks_b


def net_concordance(human: Vector, own: Index, other: Index) -> Vector:
    """For each item i, the sum over j of sign(human_i - human_j) * sign(own_i - other_j), in O(n log² n)."""
    order = np.argsort(human, kind="stable")
    ordered = human[order]
    below = np.searchsorted(ordered, human, side="left")
    not_above = np.searchsorted(ordered, human, side="right")
    others = other[order]
    everything = np.full(len(human), len(human))
    lower = _prefix_signs(others, below, own)
    higher = _prefix_signs(others, everything, own) - _prefix_signs(others, not_above, own)
    return (lower - higher).astype(np.float64)


def _prefix_signs(values: Index, length: Index, query: Index) -> Index:
    """For each query q and length l, the sum of sign(q - v) over the first l values.

    A prefix is a union of blocks whose sizes are the powers of two in its length. For every size, all blocks are
    sorted, and one binary search over all of them, separated by an offset, answers all queries.
    """
    result = np.zeros(len(query), dtype=np.int64)
    offset = int(max(values.max(), query.max())) + 1
    level = 0
    while (size := 1 << level) <= len(values):
        blocks = np.sort(values[: len(values) // size * size].reshape(-1, size), axis=1)
        flat = (blocks + offset * np.arange(len(blocks))[:, None]).ravel()
        asked = np.flatnonzero(length >> level & 1)
        start = length[asked] >> (level + 1) << (level + 1)
        wanted = query[asked] + offset * (start >> level)
        smaller = np.searchsorted(flat, wanted, side="left") - start
        not_larger = np.searchsorted(flat, wanted, side="right") - start
        result[asked] += smaller + not_larger - size
        level += 1
    return result


def _tied_pairs(ranks: Index) -> int:
    counts = np.bincount(ranks)
    return int((counts * (counts - 1) // 2).sum())
