"""The original tool's numbers on its own checkpoint layout."""

import json
import os
from pathlib import Path
from typing import Any, Literal

import pytest

from prism_mt import Prism
from prism_mt.cli.main import main
from prism_mt.models.resolve import downloaded, open_model

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


# The published model: `prism models get m39v1`, or the folder or tar that PRISM_M39V1 names. It is looked up when the
# module is read, before fixtures give tests a cache of their own.
_M39V1 = Path(os.environ.get("PRISM_M39V1") or downloaded("m39v1"))
_LANGUAGES = (
    "ar bg bn ca cs da de el en eo es et fi fr he hr hu id it ja kk "
    "lt lv mk nl no pl pt ro ru sk sl sq sr sv tr uk vi zh"
)


@pytest.mark.skipif(not _M39V1.exists(), reason="needs m39v1: `prism models get m39v1`, or PRISM_M39V1 names it")
def test_the_published_model_gives_the_published_example() -> None:
    model = open_model(str(_M39V1))
    assert sorted(model.spec.languages) == _LANGUAGES.split()
    assert model.spec.origin_digest == "8412b2044da4b9b2c0a8ce87b305d0d1"
    prism = Prism(model_dir=str(_M39V1), lang="en")
    outputs = ["Hi world.", "This is a Test."]
    references, sources = ["Hello world.", "This is a test."], ["Bonjour le monde.", "C'est un test."]
    found = prism.score(outputs, ref=references, segment_scores=True)
    assert found == pytest.approx([-1.4878583, -0.5490748], abs=1e-4)
    assert prism.score(outputs, ref=references) == pytest.approx(-1.0184666, abs=1e-4)
    found = prism.score(outputs, src=sources, segment_scores=True)
    assert found == pytest.approx([-2.462842, -1.1985264], abs=1e-4)
    assert prism.score(outputs, src=sources) == pytest.approx(-1.8306842, abs=1e-4)
