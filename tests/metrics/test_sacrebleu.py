"""Our view of sacreBLEU's metrics equals its own."""

from typing import Any

import numpy as np
import pytest
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from prism_mt._core.errors import PrismError
from prism_mt.metrics.base import Languages, Scorer, Segment
from prism_mt.metrics.registry import make_metric
from prism_mt.metrics.runtime import Runtime

HYPOTHESES = [
    "The cat sat on the mat.",
    "There is a dog in the garden",
    "",
    "Short.",
    "He goes to school by bus .",
] * 80
FIRST = [
    "The cat is on the mat.",
    "A dog is in the garden",
    "Something",
    "Short!",
    "He takes the bus to school.",
] * 80
SECOND = ["A cat sat on a mat.", "There's a dog in the yard", "Thing", "Short.", "He goes to school by bus."] * 80

PEERS: dict[str, tuple[Any, Any]] = {
    "bleu": (BLEU(trg_lang="en"), BLEU(trg_lang="en", effective_order=True)),
    "chrf": (CHRF(), CHRF()),
    "chrf++": (CHRF(word_order=2), CHRF(word_order=2)),
    "ter": (TER(), TER()),
}


def opened(name: str, language: str) -> Scorer:
    return make_metric(name).open(Runtime(), Languages(language))


@pytest.mark.parametrize("name", PEERS)
@pytest.mark.parametrize("references", [[FIRST], [FIRST, SECOND]], ids=["one", "two"])
def test_equal_to_sacrebleu(name: str, references: list[list[str]]) -> None:
    metric, scorer = make_metric(name), opened(name, "en")
    texts = zip(*references, strict=True)
    results = list(scorer.score(Segment(h, r) for h, r in zip(HYPOTHESES, texts, strict=True)))
    corpus, sentence = PEERS[name]
    totals = np.sum([result.statistics for result in results], axis=0)
    assert metric.aggregate(totals.tolist()) == pytest.approx(corpus.corpus_score(HYPOTHESES, references).score)
    for index in range(5):
        wanted = sentence.sentence_score(HYPOTHESES[index], [side[index] for side in references]).score
        assert results[index].score == pytest.approx(wanted)
    assert scorer.signature(len(references)) == f"{name}|{corpus.get_signature().format()}"


def test_chinese_has_its_tokenizer() -> None:
    assert "tok:zh" in opened("bleu", "zh").signature()


def test_japanese_needs_a_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "MeCab", None)
    with pytest.raises(PrismError, match=r"pip install 'sacrebleu\[ja\]'"):
        opened("bleu", "ja")


def test_unknown_metric() -> None:
    with pytest.raises(PrismError, match="no metric 'blue', and no folder of a learned one; did you mean 'bleu'"):
        make_metric("blue")
