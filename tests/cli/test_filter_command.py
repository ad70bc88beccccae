"""`prism filter` end to end."""

import math
from pathlib import Path
from typing import Any

import pytest
from made import SENTENCES, make_model

from prism_mt.cli.main import main
from prism_mt.models.directory import write_model

GERMAN, ENGLISH = [SENTENCES[1], SENTENCES[6], "Hallo"], [SENTENCES[0], SENTENCES[5], "Hello\tyou"]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(write_model(make_model(max_positions=64), tmp_path_factory.mktemp("filter") / "made").folder)


@pytest.fixture(autouse=True)
def texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, lines in (("de", GERMAN), ("en", ENGLISH)):
        Path(name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    Path("both.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in zip(GERMAN[:2], ENGLISH[:2], strict=True)))


def run(capsys: Any, model: str, *words: str) -> tuple[int, str, str]:
    code = main(["filter", *words, "--from", "de", "--to", "en", "--model", model, "--threads", "1"])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_a_score_per_line(capsys: Any, model: str) -> None:
    _, out, _ = run(capsys, model, "de", "en")
    scores = [float(line) for line in out.splitlines()]
    assert len(scores) == 3
    assert all(0 < score < 1 for score in scores)
    _, rows, _ = run(capsys, model, "both.tsv")
    assert [float(line) for line in rows.splitlines()] == pytest.approx(scores[:2])
    words = ["--cand", "en", "--src", "de", "--lang", "en", "--src-lang", "de", "--metric", "prism-dual"]
    main(["score", "--model", model, *words, "--segments"])
    logarithms = [float(line) for line in capsys.readouterr().out.splitlines()]
    assert [math.exp(score) for score in logarithms] == pytest.approx(scores)


def test_only_good_pairs(capsys: Any, model: str, caplog: Any) -> None:
    _, out, _ = run(capsys, model, "de", "en")
    scores = [float(line) for line in out.splitlines()]
    threshold = sorted(scores)[1]
    code, _, _ = run(capsys, model, "de", "en", "--threshold", repr(threshold), "--output", "kept.tsv")
    assert code == 0
    rows = [line.split("\t") for line in Path("kept.tsv").read_text(encoding="utf-8").splitlines()]
    assert [float(row[0]) for row in rows] == [score for score in scores if score >= threshold]
    wanted = [
        [a, b.replace("\t", " ")]
        for a, b, score in zip(GERMAN, ENGLISH, scores, strict=True)
        if score >= threshold
    ]
    assert [row[1:] for row in rows] == wanted
    assert "kept 2 of 3 pairs" in caplog.text


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["de", "en", "both.tsv"], "a bitext has two sides, not 3"),
        (["de"], "de, line 1: 1 column, expected 2 for src tgt"),
        (["de", "en", "--threshold", "2"], "between 0 and 1, not 2"),
        (["de", "both.tsv"], "both.tsv has 2 lines but de has 3"),
        (["de", "en", "--to", "sw"], "it supports de, en, fr, ru, zh"),
    ],
)
def test_mistakes(capsys: Any, model: str, words: list[str], message: str) -> None:
    code = main(["filter", "--from", "de", "--to", "en", "--model", model, *words])
    assert code == 2
    assert message in capsys.readouterr().err
