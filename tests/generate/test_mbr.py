"""Minimum Bayes risk on utilities that can be added up by hand."""

from collections.abc import Iterable, Iterator

import pytest

from prism_mt.generate.generator import Hypothesis
from prism_mt.generate.mbr import HypothesisPair, rerank
from prism_mt.generate.nbest import Record


class SharedLetters:
    """Utility: the share of the hypothesis's letters that the reference has, too. Remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[HypothesisPair] = []

    def __call__(self, comparisons: Iterable[HypothesisPair]) -> Iterator[float]:
        for comparison in comparisons:
            self.asked.append(comparison)
            other = comparison.source if comparison.reference is None else comparison.reference
            yield sum(letter in other for letter in comparison.hypothesis) / len(comparison.hypothesis)


def record(source: str, *texts: str) -> Record:
    return Record(source, [Hypothesis(text, 0.0) for text in texts])


def test_by_hand() -> None:
    # Distinct: "ab" three times, "ac", "xyz". Of 5 references: "ab" has 1 with itself (3×), ½ with "ac", 0: 3.5/5;
    # "ac" has ½ with "ab" (3×), 1 with itself: 2.5/5; "xyz" has only itself: 1/5.
    utility = SharedLetters()
    [ranked] = rerank([record("s", "ac", "ab", "xyz", "ab", "ab")], utility, by_source=False)
    assert [one.text for one in ranked.hypotheses] == ["ab", "ac", "xyz"]
    assert [one.score for one in ranked.hypotheses] == pytest.approx([0.7, 0.5, 0.2])
    assert len(utility.asked) == 9  # equal candidates are compared once
    # Neighbors share what is given, so that an engine encodes it once.
    assert [one.reference for one in utility.asked] == ["ac"] * 3 + ["ab"] * 3 + ["xyz"] * 3


def test_by_source() -> None:
    utility = SharedLetters()
    first, second = rerank([record("ab", "xa", "ab", "xa"), record("x", "x")], utility, by_source=True, first=5)
    assert first == record("ab")._replace(hypotheses=[Hypothesis("ab", 1.0), Hypothesis("xa", 0.5)])
    assert second.hypotheses == [Hypothesis("x", 1.0)]
    assert [(one.hypothesis, one.reference, one.number) for one in utility.asked] == [
        ("xa", None, 5),
        ("ab", None, 5),
        ("x", None, 6),
    ]


def test_equal_scores_keep_the_order_of_the_list() -> None:
    [ranked] = rerank([record("s", "ba", "ab")], SharedLetters(), by_source=False)
    assert [one.text for one in ranked.hypotheses] == ["ba", "ab"]


def test_pseudo_references_by_hand() -> None:
    # Two references, one of them twice: "ab" has 1 with "ab" and ½ with "ac" (2×): 2/3; "c" has 0 and 1 (2×): 2/3.
    utility = SharedLetters()
    records = [record("s", "ab", "c", "x"), record("t", "q")]
    first, second = rerank(records, utility, by_source=False, references=[["ab", "ac", "ac"], ["q"]])
    assert [(one.text, one.score) for one in first.hypotheses] == [
        ("ab", pytest.approx(2 / 3)),
        ("c", pytest.approx(2 / 3)),
        ("x", 0.0),
    ]
    assert second.hypotheses == [Hypothesis("q", 1.0)]
    assert len(utility.asked) == 7
