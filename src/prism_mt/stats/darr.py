"""Relative rankings made from direct assessment (daRR): people's clear preferences, and a metric's tau on them."""

from typing import Literal

import numpy as np

from prism_mt.evaluation.judgments import Matrix, Preferences, Vector

TieRule = Literal["discordant", "neutral"]


def build_preferences(scores: Matrix, threshold: float = 25.0) -> Preferences:
    """All pairs of outputs of a segment whose raw scores differ by at least `threshold` (systems × segments)."""
    first, second = np.triu_indices(len(scores), k=1)
    gap = scores[first] - scores[second]
    # A threshold of 0 must not make a preference of a tie; NaN compares as False.
    clear = (np.abs(gap) >= threshold) & (gap != 0)
    pair, segment = np.nonzero(clear)
    first_better = gap[pair, segment] > 0
    better = np.where(first_better, first[pair], second[pair])
    worse = np.where(first_better, second[pair], first[pair])
    order = np.lexsort((worse, better, segment))
    return Preferences(segment[order], better[order], worse[order])


def agreement(preferences: Preferences, metric: Matrix) -> Vector:
    """For each preference 1 where the metric agrees, -1 where it disagrees, 0 for a tie, NaN without a score."""
    better = metric[preferences.better, preferences.segment]
    worse = metric[preferences.worse, preferences.segment]
    return np.sign(better - worse)


def darr_tau(agreements: Vector, ties: TieRule = "discordant") -> float:
    """(concordant - discordant) / pairs, over all segments at once; NaN entries are left out.

    WMT18 and later count a metric's tie as discordant; WMT17 adds nothing for it above, but counts it below.
    """
    known = agreements[~np.isnan(agreements)]
    if not len(known):
        return float("nan")
    return float(credit(known, ties).mean())


def credit(agreements: Vector, ties: TieRule) -> Vector:
    """What each preference adds to tau under a rule for ties."""
    return np.where(agreements == 0, -1.0, agreements) if ties == "discordant" else agreements
