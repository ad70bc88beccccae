"""`prism_mt.score` takes what Python users have, and says what is wrong with what it cannot take."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made import make_model

from prism_mt import Bleu, PrismError, PrismRef, PrismSrc, Runtime, load_model, score
from prism_mt.models.directory import write_model

CAND, REF, SRC = ["Hello world!", ""], ["Hello, world.", "A test."], ["Hallo Welt!", "Ein Test."]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(write_model(make_model(), tmp_path_factory.mktemp("score") / "made").folder)


@pytest.mark.parametrize("kind", [list, tuple, np.array, iter], ids=["list", "tuple", "array", "iterator"])
def test_any_iterable_of_strings(kind: Callable[[list[str]], Iterable[str]]) -> None:
    expected = score(CAND, ref=REF, metrics="chrf").item().segments
    found = score(kind(CAND), ref=kind(REF), metrics="chrf").item().segments
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(score(kind(CAND), ref=[kind(REF)], metrics="chrf").item().segments, expected)


def test_series() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"hyp": CAND, "ref": REF})
    expected = score(CAND, ref=REF, metrics="chrf").item().score
    assert score(frame["hyp"], ref=frame["ref"], metrics="chrf").item().score == expected


def test_several_metrics_of_one_kind(folder: str) -> None:
    found = score(
        {"A": CAND, "B": REF},
        ref=REF,
        src=SRC,
        lang="en",
        metrics=[
            PrismRef(model=folder),
            PrismRef(model=folder, direction="forward"),
            "chrf",
            Bleu(lowercase=True),
        ],
    )
    labels = list(found)
    assert len(labels) == 4
    assert any("direction=forward" in label for label in labels)
    assert "bleu[lowercase=True]" in labels


def test_languages_by_segment(folder: str) -> None:
    runtime = Runtime()
    both = score(
        {"A": [*CAND, *SRC], "B": [*REF, *SRC]},
        ref=[*REF, *SRC],
        lang=["en", "en", "de", "de"],
        metrics=[PrismRef(model=folder)],
        runtime=runtime,
    )
    [label] = both
    english = score({"A": CAND, "B": REF}, ref=REF, lang="en", metrics=[PrismRef(model=folder)], runtime=runtime)
    german = score({"A": SRC, "B": SRC}, ref=SRC, lang="de", metrics=[PrismRef(model=folder)], runtime=runtime)
    expected = np.concatenate([english[label].segments, german[label].segments], axis=1)
    np.testing.assert_allclose(both[label].segments, expected, atol=1e-6)
    assert "lang:en" in both[label].signature
    assert "lang:de" in both[label].signature


def test_tokens(folder: str) -> None:
    model = load_model(folder)
    found = model.score(CAND, ref=REF, lang="en", tokens=True).item()
    assert found.tokens is not None
    forward, backward = found.tokens[0]
    assert forward.direction == "hypothesis|reference"
    means = [np.mean(trace.scores) for trace in (forward, backward)]
    assert found.segments[0] == pytest.approx(np.mean(means))
    assert model.score(CAND, ref=REF, lang="en").item().tokens is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ref": REF[:1]}, "system has 2 .* but ref has 1|hypotheses has 2 lines but ref has 1"),
        ({"ref": "Hello"}, "ref must be a list of strings, not str"),
        ({"ref": [1, 2]}, "ref, segment 1: expected a string, not int"),
        ({"ref": []}, "ref is empty"),
        ({}, "nothing to compare outputs with: set `ref=`, `src=`, or both"),
        ({"ref": REF, "metrics": ["prism-ref"]}, "prism-ref needs the language of the outputs: set `lang=`"),
        ({"ref": REF, "metrics": ["prism-src"], "lang": "en"}, "prism-src needs sources: set `src=`"),
        ({"ref": REF, "metrics": ["chfr"]}, "did you mean 'chrf'"),
        ({"ref": REF, "lang": ["en"], "metrics": ["chrf"]}, "lang has length 1, but there are 2 segments"),
    ],
)
def test_mistakes_name_the_argument(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        score(CAND, **options)


def test_two_references_of_different_length() -> None:
    with pytest.raises(PrismError, match=r"has 2 lines but ref 2 has 1"):
        score(CAND, ref=[REF, REF[:1]], metrics="chrf")


def test_a_score_that_is_not_finite_is_an_error(tmp_path: Path) -> None:
    model = make_model()
    for name, weight in model.weights.items():
        if "output" in name or "embedding" in name:
            weight *= 1e30
    folder = write_model(model, tmp_path / "broken").folder
    with pytest.raises(PrismError, match="segment 1, is not a finite number"):
        score(CAND, src=SRC, lang="en", metrics=[PrismSrc(model=str(folder))])
