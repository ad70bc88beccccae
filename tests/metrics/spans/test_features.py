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


def plain(text: str) -> Side:
    """A text whose words are as probable and as similar as those of any other."""
    words = text.split()
    ends = [len(" ".join(words[: place + 1])) for place in range(len(words))]
    units = [
        Unit(end - len(word), end, (place,)) for place, (word, end) in enumerate(zip(words, ends, strict=True))
    ]
    return Side(text, units, np.zeros(len(words) + 1, np.float32), np.ones((len(words), 2), np.float32))


def test_what_differs() -> None:
    short, long = plain("He goes school in 2006"), plain("he will go to school in ২০০৬")
    table = features(short, long, crosslingual=False)
    assert column(table, "equal") == [1, 0, 1, 1, 0]
    assert column(table, "equal_before") == [0, 1, 0, 1, 1]
    assert column(table, "equal_after") == [0, 1, 1, 0, 0]
    assert column(table, "changed") == [0, 1, 0, 0, 1]
    assert column(table, "replaced") == [0, 3, 0, 0, 1]
    assert column(table, "likeness") == [0.5] * 5
    assert column(table, "unknown_number") == [0] * 5  # the same number in other digits
    table = features(plain("in 2007 or 2006"), long, crosslingual=True)
    assert column(table, "unknown_number") == [0, 1, 0, 0]


def test_a_number_that_stands_elsewhere_in_the_other_text_is_unknown_here() -> None:
    table = features(plain("July 8 and August 8"), plain("July 6 and August 8"), False)
    assert column(table, "unknown_number") == [0, 1, 0, 0, 0]
    table = features(plain("July 6 and August 8"), plain("August 8 and July 6"), False)
    assert column(table, "unknown_number") == [0] * 5  # only moved
    table = features(plain("July 8 and August 8"), plain("July 8 and August 6"), True)
    assert column(table, "unknown_number") == [0] * 5  # which one it is, other words cannot tell


def test_what_stands_around_the_place_of_a_missing_word() -> None:
    scores = np.array([-1, -7, -0.1], dtype=np.float32)
    output = Side("go school", [Unit(0, 2, (0,)), Unit(3, 9, (1,))], scores, np.eye(3, dtype=np.float32)[:2])
    units = [Unit(0, 2, (0,)), Unit(3, 5, (1,)), Unit(6, 12, (2,))]
    vectors = np.eye(3, dtype=np.float32)[[0, 2, 1]]
    table = features(Side("go to school", units, np.zeros(4, np.float32), vectors), output, crosslingual=False)
    assert column(table, "before_at_match")[1] == -1
    assert column(table, "after_at_match")[1] == -7


def test_empty_texts() -> None:
    empty = Side("", [], np.array([-1.0], dtype=np.float32), np.zeros((0, 2), dtype=np.float32))
    assert features(empty, REFERENCE, False).shape == (0, len(NAMES))
    assert column(features(HYPOTHESIS, empty, False), "similarity") == [0, 0, 0]
