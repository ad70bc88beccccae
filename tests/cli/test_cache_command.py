"""`prism cache`, and the cache as `prism score` uses it."""

from pathlib import Path
from typing import Any

import pytest
from made import SENTENCES, make_model

from prism_mt._core.cache import Store
from prism_mt.cli.main import main
from prism_mt.engines import factory
from prism_mt.models.directory import write_model


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(write_model(make_model(), tmp_path_factory.mktemp("cached") / "made").folder)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PRISM_CACHE", str(tmp_path / "home"))
    monkeypatch.delenv("PRISM_CACHE_LIMIT", raising=False)
    (tmp_path / "cand.txt").write_text("\n".join(SENTENCES) + "\n", encoding="utf-8")
    (tmp_path / "ref.txt").write_text("\n".join(SENTENCES[::-1]) + "\n", encoding="utf-8")
    return tmp_path / "home"


def score(model: str, *words: str) -> int:
    common = ["--cand", "cand.txt", "--ref", "ref.txt", "--lang", "en", "--no-language-check", "--segments"]
    return main(["score", "--model", model, *common, "--device", "cpu", "--threads", "1", *words])


def said(capsys: Any, *words: str) -> str:
    assert main(["cache", *words]) == 0
    return str(capsys.readouterr().out)


def test_a_second_score_runs_no_model(model: str, home: Path, capsys: Any, monkeypatch: Any) -> None:
    assert score(model) == 0
    first = capsys.readouterr().out
    monkeypatch.setattr(factory, "open_local", None)
    assert score(model) == 0
    assert capsys.readouterr().out == first


def test_without_the_cache(model: str, home: Path, capsys: Any) -> None:
    assert score(model, "--no-cache") == 0
    assert not (home / "scores.sqlite").exists()


def test_info_prune_and_clear(model: str, home: Path, capsys: Any) -> None:
    assert "none" in said(capsys, "info")
    assert "scores: nothing cached" in said(capsys, "clear")
    assert "scores: nothing cached" in said(capsys, "prune")
    score(model)
    capsys.readouterr()
    # Line i meets line 12 - i in both directions: 26 decodings, of which 13 are distinct.
    assert "13 scored pairs of texts" in said(capsys, "info")
    assert "of 4.3 GB" in said(capsys, "info")
    assert "ct2" in said(capsys, "info")
    assert "dropped 0 scored pairs" in said(capsys, "prune", "--limit", "1M")
    assert "dropped 13 scored pairs" in said(capsys, "prune", "--limit", "0")
    score(model)
    capsys.readouterr()
    assert "scores: dropped 13 scored pairs of texts, freed" in said(capsys, "clear")
    assert "0 scored pairs of texts" in said(capsys, "info")


def test_only_what_is_named_is_cleared(home: Path, capsys: Any) -> None:
    Store("encodings").put((letter.encode(), bytes(1000)) for letter in "abcdefgh")
    Store("nbest").put([(b"key", b"[]")])
    assert said(capsys, "clear", "scores") == "scores: nothing cached\n"
    assert "8 texts as vectors" in said(capsys, "info")
    assert "encodings: dropped 8 texts as vectors" in said(capsys, "clear", "encodings")
    assert "1 n-best lists" in said(capsys, "info")
    assert main(["cache", "clear", "everything"]) == 2
    assert "the cache has no 'everything'; known: scores, encodings, nbest" in capsys.readouterr().err


def test_a_damaged_cache_is_told_and_cleared(model: str, home: Path, capsys: Any, caplog: Any) -> None:
    assert score(model) == 0
    wanted = capsys.readouterr().out
    for file in home.glob("scores.sqlite*"):
        file.unlink()
    (home / "scores.sqlite").write_bytes(b"x" * 5000)
    assert score(model) == 0
    assert capsys.readouterr().out == wanted
    assert "`prism cache clear scores` creates a new one" in caplog.text
    assert main(["cache", "info"]) == 2
    assert "run `prism cache clear`" in capsys.readouterr().err
    assert "freed 5 kB" in said(capsys, "clear")
    caplog.clear()
    assert score(model) == 0
    assert caplog.text == ""


def test_a_folder_that_cannot_be_written(
    model: str, home: Path, capsys: Any, caplog: Any, monkeypatch: Any
) -> None:
    assert score(model) == 0
    wanted = capsys.readouterr().out
    caplog.clear()
    Path("file").write_text("")  # not even the superuser can make a folder in a file
    monkeypatch.setenv("PRISM_CACHE", str(Path("file") / "cache"))
    assert score(model) == 0
    assert capsys.readouterr().out == wanted
    assert [message.split(" file")[0] for message in caplog.messages] == [
        "cannot use the scores cache",
        "cannot write the converted model",
    ]


def test_a_full_disk_leaves_no_output(model: str, home: Path, capsys: Any, caplog: Any) -> None:
    resource = pytest.importorskip("resource")
    assert score(model, "--no-cache") == 0
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))  # fails as a full disk does
    try:
        code = score(model, "--output", "out.txt")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert code == 2
    assert "cannot write out.txt" in capsys.readouterr().err
    assert "continuing without it" in caplog.text
    assert list(Path().glob("out.txt*")) == []


def test_a_bad_limit(home: Path, capsys: Any) -> None:
    assert main(["cache", "prune", "--limit", "much"]) == 2
    assert "'much' is not a size" in capsys.readouterr().err


def test_a_file_without_a_table_is_an_empty_one(home: Path, capsys: Any) -> None:
    home.mkdir()
    (home / "scores.sqlite").touch()
    assert "0 scored pairs of texts" in said(capsys, "info")
    assert "dropped 0" in said(capsys, "prune")
    said(capsys, "clear")
    assert not (home / "scores.sqlite").exists()


def test_a_negative_limit_does_not_wipe_the_cache(model: str, home: Path, capsys: Any) -> None:
    assert main(["cache", "prune", "--limit=-1G"]) == 2
    assert "is not a size" in capsys.readouterr().err
