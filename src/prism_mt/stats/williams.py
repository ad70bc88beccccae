"""Williams' test: is one metric's Pearson correlation with human scores higher than another's?"""

import math
from dataclasses import dataclass

from prism_mt.stats.arrays import Vector
from prism_mt.stats.correlation import pearson


@dataclass(frozen=True)
class WilliamsResult:
    """The statistic, and the one-sided p-value that the first metric is better only by chance."""

    t: float
    p: float


def williams(r12: float, r13: float, r23: float, n: int) -> WilliamsResult:
    """Test r12 > r13, correlations of human scores (1) with two metrics (2, 3) whose own correlation is r23.

    Undefined (NaN) for n <= 3 and for undefined correlations. Two metrics with the same numbers
    (r23 = 1, equal correlations) have t = 0 and p = 0.5.
    """
    from scipy.stats import t as student

    if n <= 3 or any(map(math.isnan, (r12, r13, r23))):
        return WilliamsResult(math.nan, math.nan)
    # The determinant of the correlation matrix; rounding may push it below zero.
    k = max(0.0, 1 - r12**2 - r13**2 - r23**2 + 2 * r12 * r13 * r23)
    mean = (r12 + r13) / 2
    numerator = (r12 - r13) * math.sqrt((n - 1) * max(0.0, 1 + r23))
    denominator = math.sqrt(2 * k * (n - 1) / (n - 3) + mean**2 * max(0.0, 1 - r23) ** 3)
    t = numerator / denominator if denominator else math.copysign(math.inf, numerator) if numerator else 0.0
    return WilliamsResult(t, float(student.sf(t, n - 3)))


def williams_test(human: Vector, a: Vector, b: Vector) -> WilliamsResult:
    """Test that metric `a` correlates better than `b`, over the cells that have all three scores."""
    known = (human == human) & (a == a) & (b == b)
    human, a, b = human[known], a[known], b[known]
    return williams(pearson(human, a), pearson(human, b), pearson(a, b), len(human))
