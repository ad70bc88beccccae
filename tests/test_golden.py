"""The original tool's numbers on its own checkpoint layout."""

import json
from pathlib import Path
from typing import Any, Literal

import pytest

from prism_mt import Prism
from prism_mt.cli.main import main

_FOLDER = Path(__file__).parent / "fixtures" / "fairseq-postnorm"

Engine = Literal["ct2", "torch"]
_CASES = [(language, temperature) for language in ("en", "de", "zh") for temperature in (1.0, 0.7)]


@pytest.fixture(scope="module")
def expected() -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((_FOLDER / "expected.json").read_text(encoding="utf-8"))
    return loaded


def test_cases_are_those_of_the_file(expected: dict[str, Any]) -> None:
    assert {f"{language}|{temperature}" for language, temperature in _CASES} == set(expected["scores"])


@pytest.mark.parametrize("engine", ["torch", "ct2"])
@pytest.mark.parametrize(("language", "temperature"), _CASES)
def test_drop_in_class(expected: dict[str, Any], engine: Engine, language: str, temperature: float) -> None:
    prism = Prism(model_dir=str(_FOLDER), lang=language, temperature=temperature, engine=engine)
    wanted = expected["scores"][f"{language}|{temperature}"]
    texts = expected["cands"]
    assert prism.score(texts, ref=expected["refs"], segment_scores=True) == pytest.approx(wanted["ref"], abs=1e-4)
    assert prism.score(texts, src=expected["srcs"], segment_scores=True) == pytest.approx(wanted["src"], abs=1e-4)
    assert prism.score(texts, ref=expected["refs"]) == pytest.approx(wanted["sys"], abs=1e-4)
    ours, theirs = prism.identifier(), wanted["ident"]
    assert {**theirs, "log_base": "e"} == ours


@pytest.mark.parametrize("engine", ["torch", "ct2"])
@pytest.mark.parametrize(("language", "temperature"), _CASES)
def test_command(expected: dict[str, Any], tmp_path: Path, engine: str, language: str, temperature: float) -> None:
    for name in ("cands", "refs", "srcs"):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in expected[name]), encoding="utf-8")
    words = ["score", "--cand", str(tmp_path / "cands"), "--model-dir", str(_FOLDER), "--lang", language]
    words += ["--ref", str(tmp_path / "refs"), "--src", str(tmp_path / "srcs"), "--segments", "--format", "json"]
    words += ["--temperature", str(temperature), "--engine", engine, "--output", str(tmp_path / "out.json")]
    assert main(words) == 0
    results = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))["results"]
    wanted = expected["scores"][f"{language}|{temperature}"]
    assert [result["metric"].partition("[")[0] for result in results] == ["prism-ref", "prism-src"]
    assert results[0]["segments"] == pytest.approx(wanted["ref"], abs=1e-4)
    assert results[1]["segments"] == pytest.approx(wanted["src"], abs=1e-4)
    assert results[0]["score"] == pytest.approx(wanted["sys"], abs=1e-4)
