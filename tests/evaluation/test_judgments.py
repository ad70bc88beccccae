import math

import numpy as np

from prism_mt.evaluation.judgments import Judgments
from prism_mt.evaluation.ratings import Ratings


def judgments(scores: list[float]) -> Judgments:
    names = tuple("abcdefgh"[: len(scores)])
    return Judgments("t", "xx-yy", names, (), Ratings.from_matrix(np.empty((len(names), 0))), np.array(scores))


def test_without_outliers_keeps_the_others() -> None:
    assert judgments([1, 2, 3, 4, 100]).without_outliers().systems == ("a", "b", "c", "d")


def test_top_systems_leaves_out_systems_without_a_judgment() -> None:
    assert judgments([1, math.nan, 3, 2]).top_systems(2).systems == ("c", "d")
    assert judgments([1, math.nan]).top_systems(4).systems == ("a",)
