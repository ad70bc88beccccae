import math

import numpy as np

from prism_mt.stats.arrays import common, pair_signs, row_means

NAN = math.nan


def test_row_means_leave_out_what_is_missing() -> None:
    scores = np.array([[1.0, 3.0, NAN], [NAN, NAN, NAN], [2.0, 4.0, 6.0]])
    np.testing.assert_array_equal(row_means(scores), [2.0, NAN, 4.0])
    np.testing.assert_array_equal(row_means(np.empty((2, 0))), [NAN, NAN])


def test_common_keeps_the_places_that_both_have() -> None:
    human, metric = common(np.array([1.0, NAN, 3.0, 4.0]), np.array([5.0, 6.0, NAN, 8.0]))
    assert (human.tolist(), metric.tolist()) == ([1.0, 4.0], [5.0, 8.0])


def test_pair_signs_of_all_pairs_of_rows() -> None:
    human = np.array([[1.0, 2.0], [1.0, NAN], [0.0, 3.0]])
    metric = np.array([[0.1, 0.2], [0.3, 0.1], [0.3, 0.1]])
    sign_h, sign_m, known = pair_signs(human, metric)
    # Rows 0 and 1, 0 and 2, 1 and 2; the second column of row 1 is not judged.
    assert sign_h.tolist() == [[0, 0], [1, -1], [1, 0]]
    assert sign_m.tolist() == [[-1, 0], [-1, 1], [0, 0]]
    assert known.tolist() == [[True, False], [True, True], [True, False]]
