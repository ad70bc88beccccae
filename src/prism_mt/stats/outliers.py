"""Systems that decide a correlation alone (Mathur et al. 2020)."""

import numpy as np

from prism_mt.stats.arrays import Mask, Vector

# Makes the median absolute deviation of a normal distribution its standard deviation.
_NORMAL = 1.4826


def outliers(scores: Vector, cutoff: float = 2.5) -> Mask:
    """Which human scores lie more than `cutoff` robust standard deviations from the median.

    Where at least half of the scores are equal there is no scale (the deviation is 0) and nothing is an outlier.
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
