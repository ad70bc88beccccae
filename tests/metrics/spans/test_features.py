import numpy as np

from prism_mt.metrics.spans.features import FLOOR, NAMES, Side, features
from prism_mt.metrics.spans.units import Unit


def column(table: np.ndarray, name: str) -> list[float]:
    return [float(value) for value in table[:, NAMES.index(name)]]


HYPOTHESIS = Side(
    "Anna 12 sings",
    [Unit(0, 4, (0,)), Unit(5, 7, (1, 2)), Unit(8, 13, (3,))],
    np.array([-1, -2, -30, -0.5, -0.1], dtype=np.float32),
    np.array([[1, 0], [0, 1], [0, 1], [1, 1]], dtype=np.float32),
)
REFERENCE = Side(
    "sings Anna",
    [Unit(0, 5, (0,)), Unit(6, 10, (1,))],
    np.array([-0.2, -3, -0.1], dtype=np.float32),
    np.array([[1, 1], [1, 0]], dtype=np.float32),
)


def test_features_of_words() -> None:
    table = features(HYPOTHESIS, REFERENCE, crosslingual=False)
    assert table.shape == (3, len(NAMES))
    assert column(table, "sum") == [-1, -2 + FLOOR, -0.5]
    assert column(table, "lowest") == [-1, FLOOR, -0.5]
    assert column(table, "pieces") == [1, 2, 1]
    assert column(table, "digits") == [0, 1, 0]
    assert column(table, "capital") == [0, 0, 0]  # the first word of a sentence has one anyway
    assert column(table, "same") == [1, 0, 1]
    np.testing.assert_allclose(column(table, "similarity"), [1, np.sqrt(0.5), 1], atol=1e-6)
    np.testing.assert_allclose(column(table, "other_mean"), [-3, -0.2, -0.2], atol=1e-6)
    assert column(table, "mutual") == [1, 0, 1]
    np.testing.assert_allclose(column(table, "before"), [0, -1, (-2 + FLOOR) / 2])
    assert column(features(HYPOTHESIS, REFERENCE, crosslingual=True), "crosslingual") == [1, 1, 1]


def test_empty_texts() -> None:
    empty = Side("", [], np.array([-1.0], dtype=np.float32), np.zeros((0, 2), dtype=np.float32))
    assert features(empty, REFERENCE, False).shape == (0, len(NAMES))
    assert column(features(HYPOTHESIS, empty, False), "similarity") == [0, 0, 0]
