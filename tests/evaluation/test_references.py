"""The standard reference is what the data says, never what a file is called."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from judging import judged

from prism_mt._core.errors import PrismError
from prism_mt.evaluation.judgments import Judgments, Texts
from prism_mt.evaluation.protocols import get_protocol
from prism_mt.evaluation.readers import read_judgments
from prism_mt.evaluation.references import choose_reference

WMT21 = get_protocol("wmt21-mqm")


def with_references(*names: str, name: str = "wmt21.news", pair: str = "en-de") -> Judgments:
    texts = Texts(("s",), dict.fromkeys(names, ("r",)), {"A": ("a",)})
    return judged(name, pair, ("A",), ("1",), np.zeros((1, 1)), texts=texts)


def test_several_references_must_be_chosen_from_whatever_the_file_is_called() -> None:
    judgments = with_references("ref-A", "ref-C")
    message = r"has several references \(ref-A, ref-C\).*choose one with `reference=`"
    for protocol in (None, WMT21):
        with pytest.raises(PrismError, match=message):
            choose_reference(judgments, None, protocol)
    assert choose_reference(judgments, "ref-A", WMT21) == "ref-A"
    with pytest.raises(PrismError, match="no reference 'ref-B'; it has ref-A, ref-C"):
        choose_reference(judgments, "ref-B")


@pytest.mark.parametrize(
    ("testset", "pair", "expected"),
    [
        ("wmt21.news", "en-de", "ref-C"),
        ("wmt21.news", "zh-en", "ref-B"),
        ("wmt21.news", "en-ru", "ref-A"),
        ("wmt21.tedtalks", "en-de", "ref-A"),
        ("wmt21.tedtalks", "zh-en", "ref-B"),
    ],
)
def test_a_protocol_knows_its_own_test_sets_by_the_name_in_the_data(
    testset: str, pair: str, expected: str
) -> None:
    judgments = with_references("ref-A", "ref-B", "ref-C", name="other", pair=pair)
    assert choose_reference(replace(judgments, testset=testset), None, WMT21) == expected


def test_what_the_data_says_comes_before_the_protocol() -> None:
    judgments = replace(with_references("refA", "refC"), testset="wmt21.news", standard_reference="refA")
    assert choose_reference(judgments, None, WMT21) == "refA"


def test_a_single_reference_needs_no_choice() -> None:
    assert choose_reference(with_references("anything")) == "anything"
    with pytest.raises(PrismError, match="has no references"):
        choose_reference(with_references())
    with pytest.raises(PrismError, match="has no texts"):
        choose_reference(judged("t", "en-de", ("A",), ("1",), np.zeros((1, 1))))


def test_the_same_judgments_under_another_file_name_give_the_same_reference(tmp_path: Path) -> None:
    record = {
        "sid": 1,
        "lp": "en-de",
        "src": "s",
        "sys": {"A": "a", "ref-A": "x", "ref-C": "y"},
        "scores": {"A": 0},
    }
    for name in ("wmt21_mqm_news_en-de.jsonl", "renamed.jsonl"):
        path = tmp_path / name
        path.write_text(json.dumps(record) + "\n", encoding="utf-8")
        with pytest.raises(PrismError, match="several references"):
            choose_reference(read_judgments(path), None, WMT21)


@pytest.mark.parametrize(
    ("testset", "pair", "expected"),
    [
        ("wmt22", "en-cs", "refB"),
        ("wmt23", "he-en", "refB"),
        ("wmt24", "en-de", "refB"),
        ("wmt24", "en-es", "refA"),
        ("wmt25", "en-sr_Cyrl_RS", "refA"),
    ],
)
def test_standard_references_of_later_years(testset: str, pair: str, expected: str) -> None:
    judgments = replace(with_references("refA", "refB", pair=pair), testset=testset)
    for level in ("mqm", "sys"):
        assert choose_reference(judgments, None, get_protocol(f"{testset}-{level}")) == expected
