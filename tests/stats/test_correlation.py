import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prism_mt.stats.arrays import Matrix, Vector
from prism_mt.stats.correlation import (
    Averaging,
    Correlation,
    Kind,
    kendall_b,
    kendall_c,
    pairwise_difference_pearson,
    pearson,
    spearman,
)

NAN = math.nan


def array(*values: float) -> Vector:
    return np.array(values, dtype=np.float64)


@pytest.mark.parametrize(
    ("statistic", "human", "metric", "expected"),
    [
        # x = -1, 0, 1 and y = -1, 1, 0: 1 / 2
        (pearson, array(1, 2, 3), array(1, 3, 2), 0.5),
        (pearson, array(1, 2, NAN, 3), array(1, 3, 9, 2), 0.5),
        (pearson, array(1, 2), array(5, 3), -1.0),
        # ranks 1, 2.5, 2.5, 4 against 1, 2, 3, 4: covariance 4.5, variances 4.5 and 5
        (spearman, array(1, 2, 2, 9), array(1, 2, 3, 4), 4.5 / math.sqrt(4.5 * 5)),
        # 6 pairs: one tied by people; 4 concordant, 1 discordant: 3 / sqrt(5 * 6)
        (kendall_b, array(1, 2, 2, 3), array(1, 2, 4, 3), 3 / math.sqrt(5 * 6)),
        # 2 * 3 / (16 * (3 - 1) / 3)
        (kendall_c, array(1, 2, 2, 3), array(1, 2, 4, 3), 6 / (16 * 2 / 3)),
    ],
)
def test_hand_computed(statistic, human, metric, expected) -> None:  # type: ignore[no-untyped-def]
    assert statistic(human, metric) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("statistic", [pearson, spearman, kendall_b, kendall_c])
@pytest.mark.parametrize(
    ("human", "metric"),
    [
        (array(1, 2, 3), array(5, 5, 5)),
        (array(5, 5, 5), array(1, 2, 3)),
        (array(1), array(1)),
        (array(), array()),
        (array(NAN, 1, 2), array(1, NAN, NAN)),
    ],
    ids=["constant metric", "constant people", "one item", "nothing", "no common item"],
)
def test_undefined_is_nan(statistic, human, metric) -> None:  # type: ignore[no-untyped-def]
    assert math.isnan(statistic(human, metric))


HUMAN = np.array([[1.0, 3.0, 5.0], [2.0, 3.0, 1.0], [3.0, 3.0, NAN]])
METRIC = np.array([[0.1, 0.2, 0.9], [0.2, 0.5, 0.1], [0.2, 0.1, 0.7]])


@pytest.mark.parametrize(
    ("kind", "over", "expected"),
    [
        # Segment 1: (1,2,3) against (.1,.2,.2): 2 / sqrt(3 * 2); segment 2: people tie; segment 3: 1.
        ("kendall-b", "segments", (2 / math.sqrt(6) + 1) / 2),
        # System 1: 1; system 2: (2,3,1) against (.2,.5,.1): 1; system 3: people tie.
        ("kendall-b", "systems", 1.0),
        ("pearson", "segments", (math.sqrt(3) / 2 + 1) / 2),
    ],
)
def test_averages_leave_out_what_is_undefined(kind: Kind, over: Averaging, expected: float) -> None:
    assert Correlation(kind, over)(HUMAN, METRIC) == pytest.approx(expected)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_vectorized_tau_in_segments_equals_the_mean_of_single_taus(seed: int) -> None:
    rng = np.random.default_rng(seed)
    human, metric = rng.integers(0, 4, (2, 5, 7)).astype(np.float64)
    human[rng.random(human.shape) < 0.2] = NAN
    single = [kendall_b(human[:, column], metric[:, column]) for column in range(7)]
    defined = [value for value in single if not math.isnan(value)]
    expected = sum(defined) / len(defined) if defined else NAN
    assert Correlation("kendall-b", "segments")(human, metric) == pytest.approx(expected, nan_ok=True)


def differences(scores: Matrix, known: Matrix) -> Vector:
    """All differences between two outputs of one segment that have both scores, in both orders."""
    return array(
        *(
            scores[one, segment] - scores[other, segment]
            for segment in range(scores.shape[1])
            for one in range(len(scores))
            for other in range(len(scores))
            if one != other and not np.isnan(known[[one, other], segment]).any()
        )
    )


def test_pairwise_difference_pearson_by_hand() -> None:
    # Segment 1, people: 1-2 = -1, 1-4 = -3, 2-4 = -2; metric: 0-2 = -2, 0-2 = -2, 2-2 = 0.
    # Segment 2 (the third output is not judged): people 5-3 = 2, metric 1-2 = -1.
    human = np.array([[1.0, 5.0], [2.0, 3.0], [4.0, NAN]])
    metric = np.array([[0.0, 1.0], [2.0, 2.0], [2.0, 9.0]])
    # In both orders the means are 0, and all sums are twice those of one order.
    products = 1 * 2 + 3 * 2 + 2 * 0 - 2 * 1
    squares = (1 + 9 + 4 + 4) * (4 + 4 + 0 + 1)
    assert pairwise_difference_pearson(human, metric) == pytest.approx(products / math.sqrt(squares), abs=1e-12)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_pairwise_difference_pearson_is_pearson_of_all_differences(seed: int) -> None:
    rng = np.random.default_rng(seed)
    human, metric = rng.integers(0, 4, (2, 4, 5)).astype(np.float64)
    human[rng.random(human.shape) < 0.3] = NAN
    metric[rng.random(metric.shape) < 0.1] = NAN
    known = human + metric
    expected = pearson(differences(human, known), differences(metric, known))
    found = pairwise_difference_pearson(human, metric)
    assert found == pytest.approx(expected, nan_ok=True, abs=1e-9)
    assert pairwise_difference_pearson(human[::-1], 3 * metric[::-1]) == pytest.approx(found, nan_ok=True)


def test_pairwise_difference_pearson_does_not_reward_knowing_hard_segments() -> None:
    rng = np.random.default_rng(0)
    hardness = 10 * rng.normal(size=300)
    human, metric = hardness + rng.normal(size=(2, 5, 300))
    assert pearson(human.ravel(), metric.ravel()) > 0.95
    assert abs(pairwise_difference_pearson(human, metric)) < 0.1


@pytest.mark.parametrize(
    ("human", "metric"),
    [
        (np.full((3, 2), 0.1), METRIC[:, :2]),
        (HUMAN, np.full((3, 3), 0.1)),
        (HUMAN[:1], METRIC[:1]),
        (np.empty((3, 0)), np.empty((3, 0))),
    ],
    ids=["people tie", "constant metric", "one system", "no segments"],
)
def test_pairwise_difference_pearson_without_a_difference_is_undefined(human: Matrix, metric: Matrix) -> None:
    assert math.isnan(pairwise_difference_pearson(human, metric))
