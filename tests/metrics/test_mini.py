"""The embedded model as a metric, on sentences written by hand."""

from pathlib import Path

import pytest

from prism_mt.api import score
from prism_mt.errors import PrismError
from prism_mt.models.resolve import DEFAULT_MODEL, open_model

TRIPLES = [
    line.split("\t")
    for line in (Path(__file__).parent / "mini_triples.tsv").read_text(encoding="utf-8").splitlines()
]
LANGUAGES = sorted({language for language, *_ in TRIPLES})


@pytest.fixture(scope="module", autouse=True)
def _has_embedded_model() -> None:
    try:
        open_model(DEFAULT_MODEL)
    except PrismError:
        pytest.skip("the default model is not installed")


@pytest.mark.parametrize("language", LANGUAGES)
def test_copy_above_paraphrase_above_wrong_translation(language: str) -> None:
    references, paraphrases, wrong = zip(*(triple[1:] for triple in TRIPLES if triple[0] == language), strict=True)
    assert len(references) == 10
    systems = {"copy": references, "paraphrase": paraphrases, "wrong": wrong}
    found = score(systems, references, lang=language)
    copy, near, far = (found[name].segments for name in systems)
    assert (copy > near).all()
    assert (near > far).all()
