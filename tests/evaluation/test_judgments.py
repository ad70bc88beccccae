import math

import numpy as np
from judging import judged

from prism_mt.evaluation.judgments import Judgments


def judgments(scores: list[float]) -> Judgments:
    names = tuple("abcdefgh"[: len(scores)])
    return judged("t", "xx-yy", names, (), np.empty((len(names), 0)), system_scores=np.array(scores))


def test_without_outliers_keeps_the_others() -> None:
    assert judgments([1, 2, 3, 4, 100]).without_outliers().systems == ("a", "b", "c", "d")


def test_top_systems_leaves_out_systems_without_a_judgment() -> None:
    assert judgments([1, math.nan, 3, 2]).top_systems(2).systems == ("c", "d")
    assert judgments([1, math.nan]).top_systems(4).systems == ("a",)
