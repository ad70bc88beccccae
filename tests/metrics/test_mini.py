"""The embedded models as metrics, on sentences written by hand."""

from pathlib import Path

import pytest

from prism_mt import load_model, score
from prism_mt.models.resolve import EMBEDDED, embedded

TRIPLES = [
    line.split("\t")
    for line in (Path(__file__).parent / "mini_triples.tsv").read_text(encoding="utf-8").splitlines()
]
LANGUAGES = sorted({language for language, *_ in TRIPLES})


@pytest.mark.parametrize("model", EMBEDDED)
@pytest.mark.parametrize("language", LANGUAGES)
def test_copy_above_paraphrase_above_wrong_translation(language: str, model: str) -> None:
    references, paraphrases, wrong = zip(*(triple[1:] for triple in TRIPLES if triple[0] == language), strict=True)
    assert len(references) == 10
    systems = {"copy": references, "paraphrase": paraphrases, "wrong": wrong}
    found = score(systems, ref=references, lang=language, model=model)
    [own] = found.values()
    copy, near, far = own.segments
    assert (copy > near).all()
    assert (near > far).all()


@pytest.mark.parametrize("model", EMBEDDED)
def test_size_and_languages(model: str) -> None:
    assert sum(path.stat().st_size for path in embedded(model).iterdir()) <= 30e6
    assert load_model(model).languages == LANGUAGES
