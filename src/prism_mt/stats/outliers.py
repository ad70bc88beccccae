"""Systems that decide a correlation alone: outliers (Mathur et al. 2020), and the contest among the best."""

import numpy as np
from numpy.typing import NDArray

from prism_mt.evaluation.judgments import Judgments, Vector

# Makes the median absolute deviation of a normal distribution its standard deviation.
_NORMAL = 1.4826


def outliers(scores: Vector, cutoff: float = 2.5) -> NDArray[np.bool_]:
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
    result: NDArray[np.bool_] = deviation / scale > cutoff
    return result


def without_outliers(judgments: Judgments) -> Judgments:
    """The judgments of the systems that are not outliers by people's system scores."""
    dropped = outliers(judgments.system_means())
    return judgments.select(name for name, drop in zip(judgments.systems, dropped, strict=True) if not drop)


def top_systems(judgments: Judgments, count: int) -> Judgments:
    """The judgments of the `count` systems that people like best; of equal ones the first."""
    scores = judgments.system_means()
    order = np.argsort(-scores, kind="stable")
    order = order[~np.isnan(scores[order])][:count]
    return judgments.select(judgments.systems[index] for index in order)
