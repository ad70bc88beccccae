import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prism_mt.stats.ties import acc_t23, accuracy_with_ties, calibrate_ties


def test_calibration_by_hand() -> None:
    # One segment; people tie the first two. Metric gaps: 12: 0.1, 13: 1.0, 23: 0.9.
    human = np.array([[1.0], [1.0], [3.0]])
    metric = np.array([[0.1], [0.2], [1.1]])
    assert accuracy_with_ties(human, metric) == pytest.approx(2 / 3)
    found = calibrate_ties(human, metric)
    assert found.accuracy == pytest.approx(1.0)
    assert found.epsilon == pytest.approx(0.1)


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
    assert acc_t23(np.array([[1.0], [1.0], [2.0]]), np.ones((3, 1))) == pytest.approx(1 / 3)


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
    assert found.accuracy == pytest.approx(expected, nan_ok=True)
    assert accuracy_with_ties(human, metric, found.epsilon) == pytest.approx(expected, nan_ok=True)
