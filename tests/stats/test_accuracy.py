import math

import numpy as np
import pytest

from prism_mt.stats.accuracy import pairwise_accuracy, pairwise_agreement, segment_accuracy
from prism_mt.stats.arrays import Vector

NAN = math.nan
HUMAN = np.array([[1.0, 3.0, 5.0], [2.0, 3.0, 1.0], [3.0, 3.0, NAN]])
METRIC = np.array([[0.1, 0.2, 0.9], [0.2, 0.5, 0.1], [0.2, 0.1, 0.7]])


def array(*values: float) -> Vector:
    return np.array(values, dtype=np.float64)


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
def test_pairwise_agreement(human: Vector, metric: Vector, expected: tuple[int, int]) -> None:
    assert pairwise_agreement(human, metric) == expected


def test_pairwise_accuracy_of_one_system_is_undefined() -> None:
    assert math.isnan(pairwise_accuracy(array(1), array(2)))
