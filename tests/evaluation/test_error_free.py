import numpy as np
import pytest

from prism_mt.evaluation.error_free import RatedSegments, compare_predictions, shift_to_rate
from prism_mt.text.parallel import Languages, Segment

SEGMENTS = tuple(Segment(f"text {number}") for number in range(4))
RATED = RatedSegments("made", Languages("de"), SEGMENTS, np.array([1, 1, 0, 0.0]), np.array([0, 0, 1, 3.0]))


def test_brier_accuracy_and_triage_by_hand() -> None:
    found = compare_predictions(RATED, np.array([0.9, 0.6, 0.4, 0.2]), np.array([-1, -3, -2, -4.0]))
    assert found.base_rate == 0.5
    assert found.base_brier == pytest.approx(0.25)
    assert found.brier == pytest.approx((0.1**2 + 0.4**2 + 0.4**2 + 0.2**2) / 4)
    assert found.gain == pytest.approx(1 - found.brier / 0.25)
    assert found.accuracy == 1
    assert found.shifted_brier < found.base_brier
    assert found.score_accuracy == pytest.approx(0.75)
    assert found.caught == pytest.approx(3 / 4)  # the worst of four
    assert found.caught_by_score == pytest.approx(3 / 4)
    assert [(part.outputs, part.observed) for part in found.bins] == [(1, 0), (1, 0), (1, 1), (1, 1)]


def test_raters_who_disagree() -> None:
    rated = RatedSegments("made", Languages("de"), SEGMENTS[:1], np.array([0.5]), np.array([1.0]))
    found = compare_predictions(rated, np.array([0.5]), np.array([0.0]))
    assert found.brier == pytest.approx(0.25)
    assert rated.take([0]).segments == SEGMENTS[:1]


def test_predictions_of_other_raters_are_shifted() -> None:
    found = shift_to_rate(np.array([0.1, 0.2, 0.4]), 0.5)
    assert found.mean() == pytest.approx(0.5)
    odds = found / (1 - found)
    np.testing.assert_allclose(odds / odds[0], [1, (0.2 / 0.8) / (0.1 / 0.9), (0.4 / 0.6) / (0.1 / 0.9)])
