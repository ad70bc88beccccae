import math

import numpy as np
import pytest

from prism_mt.stats.correlation import pearson
from prism_mt.stats.outliers import outliers


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        # Median 3, deviations 2 1 0 1 97, their median 1: 97 / 1.4826 > 2.5, 2 / 1.4826 is not.
        ([1, 2, 3, 4, 100], [False, False, False, False, True]),
        # Just inside the cutoff, 3.7065: median 0, deviations 1 1 0 1 3.706.
        ([1, -1, 0, -1, 3.706], [False] * 5),
        ([1, -1, 0, -1, 3.71], [False, False, False, False, True]),
        # No scale: more than half are equal.
        ([1, 1, 1, 5], [False] * 4),
        ([1, 2, 3, math.nan, 100, 4], [False, False, False, False, True, False]),
        ([], []),
        ([7], [False]),
    ],
)
def test_outliers(scores: list[float], expected: list[bool]) -> None:
    assert outliers(np.array(scores, dtype=np.float64)).tolist() == expected


# WMT19: direct assessment (z) and sacreBLEU of all systems, from the best to the worst.
GU_EN = (
    [0.21, 0.126, 0.1, 0.09, 0.066, 0.044, -0.189, -0.192, -0.277, -0.296, -0.598],
    [24.90, 21.45, 17.48, 17.45, 16.79, 17.22, 8.85, 9.38, 9.55, 6.76, 11.85],
)
ZH_EN = (
    [0.295, 0.266, 0.203, 0.195, 0.193, 0.186, 0.161, 0.103, 0.054, 0.049, 0.001, -0.065, -0.202, -0.483, -0.957],
    [37.97, 37.46, 39.33, 38.29, 34.19, 33.44, 42.21, 33.84, 27.65, 28.71, 30.99, 28.84, 25.24, 21.44, 16.94],
)


@pytest.mark.parametrize(
    ("scores", "everyone", "inliers"), [(GU_EN, 0.798, 0.967), (ZH_EN, 0.888, 0.823)], ids=["gu-en", "zh-en"]
)
def test_published_correlations_with_and_without_outliers(
    scores: tuple[list[float], list[float]], everyone: float, inliers: float
) -> None:
    human, bleu = map(np.array, scores)
    kept = ~outliers(human)
    assert kept[:9].all()
    assert not kept[-1]
    assert pearson(human, bleu) == pytest.approx(everyone, abs=0.002)
    assert pearson(human[kept], bleu[kept]) == pytest.approx(inliers, abs=0.002)
