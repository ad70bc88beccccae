"""Words by frequency, n-grams and lengths, counted by hand."""

import pytest

from prism_mt.evaluation.words import DIFFERENCES, NgramMatches, analyze_words
from prism_mt.text.parallel import parallel_text

REF = ["the cat sat on the mat", "the dog sat"]
TEXT = parallel_text(
    {"A": ["the cat sat on a mat", "the dog sat down here"], "B": ["a cat", "the dog sat"]}, ref=REF
)


def test_lengths() -> None:
    found = analyze_words(TEXT, "en")
    assert found is not None
    assert found.ratios == pytest.approx((11 / 9, 5 / 9))
    labels = {DIFFERENCES[place]: count for place, count in enumerate(found.differences[0].tolist()) if count}
    assert labels == {(0, 0): 1, (2, 4): 1}
    assert dict(zip(DIFFERENCES, found.differences[1].tolist(), strict=True))[(-4, -2)] == 1


def test_frequencies() -> None:
    found = analyze_words(TEXT, "en")
    assert found is not None
    once, twice, often = found.frequencies  # cat on mat dog; sat; the (three times)
    assert [(one.low, one.high, one.words) for one in found.frequencies] == [(1, 1, 4), (2, 2, 2), (3, 4, 3)]
    assert once.f1 == pytest.approx((1.0, 2 * 2 / (2 + 4)))
    assert twice.f1 == pytest.approx((1.0, 2 * 1 / (1 + 2)))
    assert often.f1 == pytest.approx((2 * 2 / (2 + 3), 2 * 1 / (1 + 3)))


def test_ngrams_are_clipped_and_only_those_that_differ() -> None:
    found = analyze_words(TEXT, "en")
    assert found is not None
    by_words = {one.words: one for one in found.ngrams}
    assert by_words[("the",)] == NgramMatches(("the",), 3, (2, 1))
    assert by_words[("cat", "sat", "on")].matches == (1, 0)
    assert ("dog", "sat") not in by_words  # both have it
    assert found.ngrams[0].matches == (1, 0)
    assert len(found.ngrams[0].words) == 4  # of equal differences the longest first


def test_chinese_words_are_characters_and_no_reference_is_no_analysis() -> None:
    found = analyze_words(parallel_text({"A": ["他来了"]}, ref=["他来过"]), "zh")
    assert found is not None
    assert found.ratios == (1.0,)
    assert found.frequencies[0].f1 == pytest.approx((2 * 2 / (2 + 3),))
    assert analyze_words(parallel_text({"A": ["x"]}, src=["y"])) is None
