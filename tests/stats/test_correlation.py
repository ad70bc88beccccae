import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prism_mt.stats.correlation import (
    Averaging,
    Correlation,
    Kind,
    kendall_b,
    kendall_c,
    pairwise_accuracy,
    pairwise_agreement,
    pearson,
    segment_accuracy,
    soft_pairwise_accuracy,
    spearman,
)

NAN = math.nan


def array(*values: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
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
def test_vectorised_tau_in_segments_equals_the_mean_of_single_taus(seed: int) -> None:
    rng = np.random.default_rng(seed)
    human, metric = rng.integers(0, 4, (2, 5, 7)).astype(np.float64)
    human[rng.random(human.shape) < 0.2] = NAN
    single = [kendall_b(human[:, column], metric[:, column]) for column in range(7)]
    defined = [value for value in single if not math.isnan(value)]
    expected = sum(defined) / len(defined) if defined else NAN
    assert Correlation("kendall-b", "segments")(human, metric) == pytest.approx(expected, nan_ok=True)


def test_segment_accuracy_counts_a_metric_tie_as_wrong_and_leaves_out_human_ties() -> None:
    # Segment 1: pairs 12 right, 13 right, 23 tied by the metric; segment 2: people tie; segment 3: right.
    assert segment_accuracy(HUMAN, METRIC) == pytest.approx(3 / 4)
    assert math.isnan(segment_accuracy(np.ones((3, 2)), METRIC[:, :2]))


@pytest.mark.parametrize(
    ("human", "metric", "expected"),
    [
        (array(1, 2, 3), array(1, 3, 2), (2, 3)),
        (array(1, 2, 2), array(1, 2, 2), (3, 3)),
        (array(1, 2, 2), array(1, 2, 3), (2, 3)),
        (array(1, 2, NAN), array(1, 1, 2), (0, 1)),
        (array(1), array(1), (0, 0)),
    ],
)
def test_pairwise_agreement(human, metric, expected) -> None:  # type: ignore[no-untyped-def]
    assert pairwise_agreement(human, metric) == expected


def test_pairwise_accuracy_of_one_system_is_undefined() -> None:
    assert math.isnan(pairwise_accuracy(array(1), array(2)))


def test_soft_pairwise_accuracy() -> None:
    rng = np.random.default_rng(5)
    human = rng.normal(size=(4, 60)) + np.arange(4)[:, None] / 4
    same = soft_pairwise_accuracy(human, human * 3 + 1, np.random.default_rng(0))
    opposite = soft_pairwise_accuracy(human, -human, np.random.default_rng(0))
    assert same == 1.0
    assert opposite < 0.2
    assert math.isnan(soft_pairwise_accuracy(human[:1], human[:1], rng))


def test_soft_pairwise_accuracy_by_hand() -> None:
    # People: differences 1 and 1, whose signed sums are 2, 0, 0, -2: the observed 2 is reached by 1/4.
    # Metric: differences 1 and -1, whose signed sums are 0, 2, -2, 0: the observed 0 is reached by 3/4.
    human = np.array([[1.0, 1.0], [0.0, 0.0]])
    metric = np.array([[1.0, 0.0], [0.0, 1.0]])
    accuracy = soft_pairwise_accuracy(human, metric, np.random.default_rng(0), draws=40_000)
    assert accuracy == pytest.approx(1 - (3 / 4 - 1 / 4), abs=0.02)
