"""Tables of words."""

import pytest

from prism_mt.evaluation.words import analyze_words
from prism_mt.report.words import span, word_section
from prism_mt.text.parallel import parallel_text


@pytest.mark.parametrize(
    ("low", "high", "wanted"),
    [(1, 1, "1"), (-1, -1, "−1"), (None, -10, "−10 or less"), (1000, None, "1,000 or more"), (-9, -5, "−9 to −5")],
)
def test_ranges(low: int | None, high: int | None, wanted: str) -> None:
    assert span(low, high) == wanted


def test_tables() -> None:
    words = analyze_words(parallel_text({"A": ["a b b", "c d"]}, ref=["a b b", "c"]), "en")
    assert words is not None
    section = word_section(words)
    assert section.frequencies.rows == (("1", 2, 1.0), ("2", 2, 1.0))
    assert section.frequency_plot is not None
    [row] = section.lengths.rows
    counts = dict(zip([column.title for column in section.lengths.columns], row, strict=True))
    assert (counts["ratio"], counts["0"], counts["1"]) == (1.25, 1, 1)
