import json
from pathlib import Path

import pytest

from prism_mt import PrismError
from prism_mt.evaluation.readers.span_annotations import read_annotations
from prism_mt.evaluation.spans import Marked, MarkedText, SpanResult, SpanScores, score_spans
from prism_mt.report.spans import kinds_table

TEXT = "one two three four"  # one 0–3, two 4–7, three 8–13, four 14–18


def test_f_scores_by_hand() -> None:
    gold, found = (Marked(4, 7, "major"),), (Marked(4, 13, "minor"),)
    scores = score_spans([MarkedText(TEXT, "en", gold, found)])
    # 3 characters overlap, with half credit for the severity; 9 are marked and 3 are wrong.
    assert scores.partial == pytest.approx(2 * 1.5 / (9 + 3))
    assert scores.characters == pytest.approx(2 * 3 / (9 + 3))
    assert scores.exact == 0
    same = score_spans([MarkedText(TEXT, "en", gold, gold), MarkedText(TEXT, "en", (), ())])
    assert (same.partial, same.characters, same.exact) == (1, 1, 1)


def test_a_random_marker_marks_as_many_words() -> None:
    comparisons = [MarkedText(TEXT, "en", (Marked(4, 7, "major"),), (Marked(4, 7, "major"),))] * 400
    assert 0.15 < score_spans(comparisons).random < 0.3  # a quarter of the words are marked, a quarter are wrong


def test_shares_by_kind() -> None:
    scores = SpanScores(0.5, 0.5, 0.5, 0.1)
    german = SpanResult("de", 4, scores, {"number": [True, False], "omission": [False], "name": [True]})
    assert german.critical == pytest.approx(2 / 3)
    english = SpanResult("en", 2, scores, {"number": [True, True]})
    table = kinds_table([german, english], "prism-ref")
    assert table.rows == (
        ("omission", 1, 0.0, "de 0.00"),
        ("number", 4, 0.75, "de 0.50, en 1.00"),
        ("name", 1, 1.0, "de 1.00"),
    )


def write_folder(path: Path, rating: str) -> Path:
    files = {
        "sources/en-de.txt": "a\nb\n",
        "references/en-de.refA.txt": "A\nB\n",
        "system-outputs/en-de/X.txt": "eins zwei\ndrei\n",
        "human-scores/en-de.mqm.seg.rating": rating,
    }
    for name, text in files.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_text(text, encoding="utf-8")
    return path


def test_rating_files(tmp_path: Path) -> None:
    error = {"start": 5, "end": 9, "category": "Accuracy", "severity": "major", "is_source_error": False}
    rating = json.dumps({"errors": [error, {**error, "is_source_error": True}]})
    [found] = read_annotations([write_folder(tmp_path, f"X\t{rating}\trater1\nX\tNone\n")], ["en-de"])
    assert found.pair == "en-de"
    [errors] = found.ratings.errors
    assert errors is not None
    assert [(one.span, one.in_source) for one in errors] == [((5, 9), False), ((5, 9), True)]
    assert found.texts is not None
    assert found.texts.outputs["X"][0] == "eins zwei"


@pytest.mark.parametrize(
    ("rating", "message"),
    [
        ("X\n", "line 1: 1 columns instead of"),
        ("X\t{}\n", "line 1: expected a rating"),
        ("X\t[1]\n", "line 1: expected"),
    ],
)
def test_rating_files_of_another_shape(tmp_path: Path, rating: str, message: str) -> None:
    with pytest.raises(PrismError, match=message):
        read_annotations([write_folder(tmp_path, rating)])


def test_a_folder_without_ratings(tmp_path: Path) -> None:
    with pytest.raises(PrismError, match="no human-scores/LP.NAME.seg.rating"):
        read_annotations([tmp_path])
