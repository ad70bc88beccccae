import math

import numpy as np
import pytest

from prism_mt.evaluation.judgments import Judgments
from prism_mt.stats.outliers import outliers, top_systems, without_outliers


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


def judgments(scores: list[float]) -> Judgments:
    names = tuple("abcdefgh"[: len(scores)])
    return Judgments("t", "xx-yy", names, (), np.empty((len(names), 0)), np.array(scores))


def test_without_outliers_keeps_the_others() -> None:
    assert without_outliers(judgments([1, 2, 3, 4, 100])).systems == ("a", "b", "c", "d")


def test_top_systems_leaves_out_systems_without_a_judgment() -> None:
    assert top_systems(judgments([1, math.nan, 3, 2]), 2).systems == ("c", "d")
    assert top_systems(judgments([1, math.nan]), 4).systems == ("a",)
