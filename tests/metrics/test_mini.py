"""The embedded model and its metrics, on sentences written by hand."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from prism_mt import EngineConfig, load_model, score
from prism_mt.models import zoo
from prism_mt.models.resolve import embedded


def paper_languages() -> list[str]:
    found = zoo.find("m39v1")
    assert found is not None
    return found.languages.split()


def read_triples(name: str) -> list[list[str]]:
    lines = (Path(__file__).parent / name).read_text(encoding="utf-8").splitlines()
    return [line.split("\t") for line in lines]


def in_order(triples: Sequence[Sequence[str]], metric: str) -> np.ndarray:
    """Whether a copy of the reference is above its paraphrase, and that above a wrong sentence (2 × triples)."""
    rows = []
    for language in sorted({language for language, *_ in triples}):
        references, near, wrong = zip(*(triple[1:] for triple in triples if triple[0] == language), strict=True)
        systems = {"copy": references, "paraphrase": near, "wrong": wrong}
        found = score(systems, ref=references, lang=language, metrics=metric)
        [scores] = found.values()
        copy, paraphrase, far = scores.segments
        rows.append(np.stack([copy > paraphrase, paraphrase > far]))
    return np.concatenate(rows, axis=1)


# What a learned metric was trained on is news, by the judgments of which copies are hardly ever seen.
@pytest.mark.parametrize(("metric", "share"), [("prism-ref", 0.97), ("prism-mix", 0.99), ("esim", 0.85)])
def test_copy_above_paraphrase_above_unrelated_sentence(metric: str, share: float) -> None:
    triples = read_triples("mini_triples.tsv")
    found = in_order(triples, metric)
    assert found.shape == (2, 100)
    assert found.mean() >= share


@pytest.mark.parametrize(("metric", "share"), [("prism-ref", 0.9), ("prism-mix", 0.9), ("esim", 0.8)])
def test_paraphrase_above_wrong_sentence_that_shares_words_in_every_language(metric: str, share: float) -> None:
    triples = read_triples("shared_word_triples.tsv")
    assert sorted({language for language, *_ in triples}) == paper_languages()
    assert in_order(triples, metric).mean() >= share


def test_size_and_languages() -> None:
    assert sum(path.stat().st_size for path in embedded().iterdir()) <= 60e6
    assert load_model("mini").languages == paper_languages()


def test_in_8_bits_a_score_depends_on_its_batch_by_less_than_a_tenth() -> None:
    references, near, wrong = zip(*(t[1:] for t in read_triples("mini_triples.tsv")[:10]), strict=True)
    outputs = {"near": near, "wrong": wrong}
    config = EngineConfig(precision="int8", device="cpu", cache=False)
    found, alone = (
        score(outputs, ref=references, lang="en", metrics="prism-ref", config=one)["prism-ref"]
        for one in (config, replace(config, batch_tokens=1))
    )
    assert {"engine:ct2-int8", "batch:varies"} <= set(found.signature.split("|"))
    assert 0 < np.abs(found.segments - alone.segments).max() < 0.1
