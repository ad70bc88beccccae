"""Outlier systems, which can decide a correlation on their own (Mathur et al. 2020)."""

import numpy as np

from prism_mt.stats.arrays import Mask, Vector

# Scales the median absolute deviation of a normal distribution to its standard deviation.
_NORMAL = 1.4826


def outliers(scores: Vector, cutoff: float = 2.5) -> Mask:
    """Mark the human scores that lie more than `cutoff` robust standard deviations from the median.

    If at least half of the scores are equal, the deviation is 0 and nothing is an outlier.
    """
    known = scores[~np.isnan(scores)]
    if not len(known):
        return np.zeros(len(scores), dtype=np.bool_)
    deviation = np.abs(scores - np.median(known))
    scale = _NORMAL * np.median(deviation[~np.isnan(deviation)])
    if scale == 0:
        return np.zeros(len(scores), dtype=np.bool_)
    result: Mask = deviation / scale > cutoff
    return result
