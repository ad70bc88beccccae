"""Array types and helpers shared by all statistics.

A score matrix has a row per system and a column per segment. NaN means "not judged" or "not scored", and higher is
always better.
"""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]
Index = NDArray[np.int64]
Mask = NDArray[np.bool_]
Signs = NDArray[np.int8]


class Statistic(Protocol):
    """Agreement of a metric with human scores, from two score matrices."""

    def __call__(self, human: Matrix, metric: Matrix) -> float:
        """Return the agreement, or NaN if it is undefined."""
        ...


def row_means(scores: Matrix) -> Vector:
    """Mean of the known values of each row; NaN for a row without any."""
    known = ~np.isnan(scores)
    count = known.sum(axis=1)
    total = np.where(known, scores, 0.0).sum(axis=1)
    means: Vector = np.divide(total, count, out=np.full(len(scores), np.nan), where=count > 0)
    return means


def common(human: Vector, metric: Vector) -> tuple[Vector, Vector]:
    """Both vectors, restricted to positions where neither is NaN."""
    known = ~(np.isnan(human) | np.isnan(metric))
    return human[known], metric[known]


def pair_signs(human: Matrix, metric: Matrix) -> tuple[Signs, Signs, Mask]:
    """For all pairs of rows: which is higher (1, 0, -1) for humans and for the metric, and where both are known.

    All three have the shape pairs × columns; signs are 0 where a score is missing.
    """
    first, second = np.triu_indices(len(human), k=1)
    missing = np.isnan(human) | np.isnan(metric)
    known = ~(missing[first] | missing[second])

    def signs(scores: Matrix) -> Signs:
        one, other = scores[first], scores[second]
        higher, lower = (one > other) & known, (one < other) & known
        return higher.view(np.int8) - lower.view(np.int8)

    return signs(human), signs(metric), known
