"""The command itself: mistakes in words, and `--debug`."""

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from prism_mt.cli.main import COMMANDS, main


@pytest.fixture
def quiet_again() -> Iterator[None]:
    """Put the level of logging back."""
    yield
    logging.getLogger("prism_mt").setLevel(logging.NOTSET)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["scroe"], "there is no command 'scroe'; did you mean 'score'? (see `prism --help`)"),
        (["models", "shw"], "prism models has no command 'shw'; did you mean 'show'? (see `prism models --help`)"),
        (
            ["score", "--metrc"],
            "prism score has no option --metrc; did you mean '--metric'? (see `prism score --help`)",
        ),
        (
            ["score", "--format", "jsn"],
            "--format: invalid choice 'jsn'; did you mean 'json'? (see `prism score --help`)",
        ),
        (
            ["explain", "a", "--reference", "b", "--lang", "en"],
            "prism explain has no option --reference; did you mean '--ref'? (see `prism explain --help`)",
        ),
        (
            ["score", "--ref", "r", "--hyp", "h"],
            "prism score has no option --hyp; did you mean '--cand'? (see `prism score --help`)",
        ),
        (
            ["score", "-t", "h"],
            "prism score has no option -t; did you mean '--cand'? (see `prism score --help`)",
        ),
        (
            ["compare", "--references=r"],
            "--references: invalid choice 'r'; choose one of mean, max (see `prism compare --help`)",
        ),
        (
            ["compare", "--reference", "r"],
            "prism compare has no option --reference; did you mean '--ref'? (see `prism compare --help`)",
        ),
        (
            ["compare", "--paired-bs"],
            "prism compare has no option --paired-bs; did you mean '--test'? (see `prism compare --help`)",
        ),
        (
            ["compare", "--batch_size", "8"],
            "prism compare has no option --batch_size; did you mean '--batch-tokens'? (see `prism compare --help`)",
        ),
        (
            ["compare", "--zzz"],
            "prism compare has no option --zzz (see `prism compare --help`)",
        ),
        (
            ["score", "ref.de"],
            "prism score has no argument ref.de; options name the files, such as --cand (see `prism score --help`)",
        ),
        (
            ["score", "--cand", __file__, "--ref", __file__, "--lang", "en-de"],
            "'en-de' is a language pair, but --lang is one language: for translations from en into de, "
            "set --src-lang to en and --lang to de (a region is written en-DE)",
        ),
        (["--vresion"], "prism has no option --vresion; did you mean '--version'? (see `prism --help`)"),
    ],
)
def test_mistakes_in_words(capsys: pytest.CaptureFixture[str], words: list[str], message: str) -> None:
    assert main(words) == 2
    assert capsys.readouterr() == ("", f"prism: error: {message}\n")


@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in ("configs", "completion")])
def test_help_shows_values_as_they_are_typed(capsys: pytest.CaptureFixture[str], name: str) -> None:
    with pytest.raises(SystemExit):
        main([name, "--help"])
    text = capsys.readouterr().out
    for inner in ("METRIC.", "(default: )", "(default: ["):
        assert inner not in text


def test_a_group_alone_shows_its_commands(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models"]) == 0
    assert "convert " in capsys.readouterr().out


def test_debug_says_what_is_done(
    capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture, tmp_path: Path, quiet_again: None
) -> None:
    path = tmp_path / "text"
    path.write_text("Das ist ein Haus.\n", encoding="utf-8")
    words = ["score", "--cand", str(path), "--ref", str(path), "--lang", "de", "--no-cache", "--debug"]
    assert main(words) == 0
    for line in (
        "command: prism score --cand",
        "model mini: ",
        "loaded ",
        "2 items, 1 distinct, 0 of them known",
        "finished in ",
    ):
        assert line in caplog.text
    # An error shows where it comes from.
    assert main(["score", "--cand", str(tmp_path / "nothere"), "--ref", str(path), "--debug"]) == 2
    assert "Traceback" in capsys.readouterr().err
