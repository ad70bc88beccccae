"""`prism judgments pairs` end to end on small files."""

import json
from pathlib import Path

import pytest
from made import make_model

from prism_mt.cli.main import main
from prism_mt.evaluation.ranking_pairs import read_ranked
from prism_mt.models.directory import write_model


@pytest.fixture
def judgments(tmp_path: Path) -> Path:
    """Two raters who agree on the order of three systems in ten segments."""
    path = tmp_path / "mqm_en-de.jsonl"
    with path.open("w", encoding="utf-8") as handle:
        for segment in range(10):
            texts = {
                "ref-A": f"reference {segment}",
                "A": "good",
                "B": "bad",
                "C": "worse" * (1 + 20 * (segment == 0)),
            }
            errors = {"A": [], "B": [["Style", "Minor"]], "C": [["Style", "Major"]]}
            mqm = {
                system: {rater: {"errors": found} for rater in ("r1", "r2")} for system, found in errors.items()
            }
            handle.write(
                json.dumps({"seg_id": segment, "src": f"source {segment}", "sys": texts, "mqm": mqm}) + "\n"
            )
    return path


def test_pairs_are_written_and_counted(
    judgments: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["judgments", "pairs", str(judgments), "--folder", str(tmp_path / "pairs"), "--held-out", "10"]
    for more, expected in ((["--whole-segments"], (10, 30, 60, 48, 12)), ([], (10, 30, 60, 50, 10))):
        assert main([*words, "--format", "json", *more]) == 0
        [row] = json.loads(capsys.readouterr().out)[0]["rows"]
        assert tuple(row[name] for name in ("segments", "outputs", "pairs", "training", "validation")) == expected
    train, valid = (read_ranked(tmp_path / "pairs" / f"{part}.jsonl") for part in ("train", "valid"))
    assert [segment.segment for segment in valid] == ["8", "9"]
    assert train[0].ref == "reference 0"
    assert train[0].pairs == ((0, 1), (0, 2), (1, 2)) * 2


def test_human_translations_are_left_out(
    judgments: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    judgments.write_text(judgments.read_text(encoding="utf-8").replace('"A"', '"Human-B.0"'), encoding="utf-8")
    words = ["judgments", "pairs", str(judgments), "--folder", str(tmp_path / "pairs"), "--format", "json"]
    words += ["--held-out", "0", "--reference", "ref-A"]
    for more, outputs, pairs in (([], 30, 60), (["--no-humans"], 20, 20)):
        assert main([*words, *more]) == 0
        [row] = json.loads(capsys.readouterr().out)[0]["rows"]
        assert (row["outputs"], row["pairs"]) == (outputs, pairs)


def test_long_texts_are_left_out(judgments: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_model(make_model(), tmp_path / "model")
    words = ["judgments", "pairs", str(judgments), "--folder", str(tmp_path / "pairs"), "--held-out", "0"]
    assert main([*words, "--max-pieces", "60", "--model", str(tmp_path / "model"), "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["rows"][0]["pairs"] == 56


def test_a_test_set_among_the_pairs(judgments: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    words = ["judgments", "pairs", str(judgments), "--folder", str(tmp_path / "pairs"), "--held-out", "0"]
    assert main([*words, "--test", str(judgments)]) == 0
    assert "these pairs learns from 10 of the 10 segments of mqm_en-de" in caplog.text


def test_a_file_given_twice(judgments: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["judgments", "pairs", str(judgments), str(judgments), "--folder", str(tmp_path / "pairs")]) == 2
    assert "is given twice" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--minimum", "50"], "no pairs are left"),
        (["--held-out", "100"], "en-de has only 60 pairs"),
        (["--reference", "ref-B"], "no reference 'ref-B'; it has ref-A"),
        (["--held-out", "-1"], "must not be negative"),
    ],
)
def test_mistakes_end_in_one_sentence(
    judgments: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    assert main(["judgments", "pairs", str(judgments), "--folder", str(tmp_path / "pairs"), *words]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "pairs").exists()
