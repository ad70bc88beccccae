import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prism_mt.stats.arrays import Matrix
from prism_mt.stats.ties import acc_t23, calibrate_ties, pair_outcomes


def accuracy_with_ties(human: Matrix, metric: Matrix, epsilon: float = 0.0) -> float:
    right, weight = pair_outcomes(human, metric, epsilon)
    return float(weight @ right) if len(weight) else math.nan


def test_calibration_by_hand() -> None:
    # One segment; people tie the first two. Metric gaps: 12: 0.1, 13: 1.0, 23: 0.9.
    human = np.array([[1.0], [1.0], [3.0]])
    metric = np.array([[0.1], [0.2], [1.1]])
    assert accuracy_with_ties(human, metric) == pytest.approx(2 / 3)
    found = calibrate_ties(human, metric)
    assert found.accuracy == pytest.approx(1.0)
    assert found.epsilon == pytest.approx(0.1)
    # Calling all pairs ties is right for one of three.
    assert found.all_tied == pytest.approx(1 / 3)


def test_calibration_of_two_segments_by_the_definition() -> None:
    human = np.array([[0.0, 0.0], [0.0, -1.0], [-1.0, 0.0], [-5.0, -1.0]])
    # Sixteenths instead of tenths are exact, so that equal gaps are equal.
    metric = np.array([[9.0, 7.0], [8.0, 4.0], [5.0, 6.0], [6.0, 1.0]]) / 16
    # Gaps in sixteenths, and whether the metric's order is people's, of the pairs 12, 13, 14, 23, 24, 34:
    # segment 1: 1 (tie), 4 right, 3 right, 3 right, 2 right, 1 wrong;
    # segment 2: 3 right, 1 (tie), 6 right, 2 right, 3 (tie), 5 right.
    right = {0: (4, 4), 1: (5, 5), 2: (4, 4), 3: (2, 4), 4: (1, 4), 5: (1, 3), 6: (1, 2)}
    for epsilon, (first, second) in right.items():
        assert accuracy_with_ties(human, metric, epsilon / 16) == pytest.approx((first / 6 + second / 6) / 2)
    found = calibrate_ties(human, metric)
    assert found.accuracy == pytest.approx(10 / 12)
    assert found.epsilon == 1 / 16
    # With all pairs tied, people's three ties are right.
    assert found.all_tied == pytest.approx(3 / 12)


def test_segments_weigh_the_same_however_many_pairs_they_have() -> None:
    human = np.array([[1.0, 1.0], [2.0, 2.0], [3.0, math.nan]])
    metric = np.array([[1.0, 2.0], [2.0, 1.0], [3.0, 0.0]])
    assert accuracy_with_ties(human, metric) == pytest.approx((1 + 0) / 2)


def test_introducing_ties_is_not_forced() -> None:
    human = np.array([[1.0], [2.0], [3.0]])
    assert calibrate_ties(human, human).epsilon == 0.0


def test_without_pairs_it_is_undefined() -> None:
    assert math.isnan(acc_t23(np.array([[1.0, 2.0]]), np.array([[1.0, 2.0]])))
    assert math.isnan(accuracy_with_ties(np.full((2, 2), math.nan), np.ones((2, 2))))


def test_a_constant_metric_gets_credit_for_human_ties_only() -> None:
    found = calibrate_ties(np.array([[1.0], [1.0], [2.0]]), np.ones((3, 1)))
    assert found.accuracy == found.all_tied == pytest.approx(1 / 3)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_calibration_is_the_best_of_all_thresholds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    human = rng.integers(0, 3, (4, 5)).astype(np.float64)
    metric = rng.integers(0, 8, (4, 5)) / 8
    human[rng.random(human.shape) < 0.2] = math.nan
    gaps = {0.0, *np.abs(metric[:, None] - metric[None]).ravel().tolist()}
    expected = max(accuracy_with_ties(human, metric, gap) for gap in gaps)
    found = calibrate_ties(human, metric)
    assert found.accuracy == pytest.approx(expected, nan_ok=True) == acc_t23(human, metric)
    assert found.all_tied == pytest.approx(accuracy_with_ties(human, metric, 1.0), nan_ok=True)
    assert accuracy_with_ties(human, metric, found.epsilon) == pytest.approx(expected, nan_ok=True)
