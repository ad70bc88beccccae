"""Relative rankings from direct assessment (daRR): clear human preferences, and a metric's tau on them.

A preference is a triple of indices: the segment, the better system and the worse one.
"""

from typing import Literal

import numpy as np

from prism_mt.stats.arrays import Index, Matrix, Vector

TieRule = Literal["discordant", "neutral"]


def find_preferences(scores: Matrix, threshold: float = 25.0) -> tuple[Index, Index, Index]:
    """Find all output pairs of a segment whose raw scores differ by at least `threshold`: segment, better, worse."""
    first, second = np.triu_indices(len(scores), k=1)
    gap = scores[first] - scores[second]
    # A threshold of 0 must not turn a tie into a preference; NaN compares as False.
    clear = (np.abs(gap) >= threshold) & (gap != 0)
    pair, segment = np.nonzero(clear)
    first_better = gap[pair, segment] > 0
    better = np.where(first_better, first[pair], second[pair])
    worse = np.where(first_better, second[pair], first[pair])
    order = np.lexsort((worse, better, segment))
    return segment[order], better[order], worse[order]


def agreement(metric: Matrix, segment: Index, better: Index, worse: Index) -> Vector:
    """For each preference, 1 if the metric agrees, -1 if it disagrees, 0 for a tie, NaN without a score."""
    return np.sign(metric[better, segment] - metric[worse, segment])


def darr_tau(agreements: Vector, ties: TieRule = "discordant") -> float:
    """(concordant - discordant) / pairs, over all segments at once; NaN entries are left out.

    WMT18 and later count a metric's tie as discordant. WMT17 leaves it out of the numerator but keeps it in the
    denominator.
    """
    known = agreements[~np.isnan(agreements)]
    if not len(known):
        return float("nan")
    return float(credit(known, ties).mean())


def credit(agreements: Vector, ties: TieRule) -> Vector:
    """What each preference contributes to tau under a tie rule."""
    return np.where(agreements == 0, -1.0, agreements) if ties == "discordant" else agreements
