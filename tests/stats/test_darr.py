import math

import numpy as np
import pytest

from prism_mt.stats.darr import agreement, darr_tau, find_preferences

SCORES = np.array([[90.0, 50.0, math.nan], [65.0, 50.0, 10.0], [64.9, 100.0, 90.0]])


def test_pairs_differ_by_at_least_the_threshold() -> None:
    segment, better, worse = find_preferences(SCORES)
    found = set(zip(segment.tolist(), better.tolist(), worse.tolist(), strict=True))
    assert found == {(0, 0, 1), (0, 0, 2), (1, 2, 0), (1, 2, 1), (2, 2, 1)}


def test_a_threshold_of_zero_makes_no_preference_of_a_tie() -> None:
    assert all(len(indices) == 0 for indices in find_preferences(np.array([[1.0], [1.0]]), threshold=0))


def test_agreement_and_both_rules_for_ties() -> None:
    metric = np.array([[3.0, 1.0, 0.0], [2.0, 5.0, math.nan], [3.0, 4.0, 1.0]])
    found = agreement(metric, *find_preferences(SCORES))
    # Preferences in order: 0>1 right, 0>2 tie, 2>0 right, 2>1 wrong, 2>1 without a score.
    np.testing.assert_array_equal(found, [1, 0, 1, -1, math.nan])
    assert darr_tau(found) == pytest.approx((2 - 2) / 4)
    assert darr_tau(found, "neutral") == pytest.approx((2 - 1) / 4)


@pytest.mark.parametrize(("values", "expected"), [([], math.nan), ([math.nan], math.nan), ([0.0, 0.0], -1.0)])
def test_degenerate_taus(values: list[float], expected: float) -> None:
    assert darr_tau(np.array(values)) == pytest.approx(expected, nan_ok=True)
