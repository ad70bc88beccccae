"""Our view of sacreBLEU's metrics equals its own."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from prism_mt._core.errors import PrismError
from prism_mt.engines.factory import EngineConfig
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


OPTIONS: dict[str, Any] = {
    "bleu[lowercase=true,tokenize=intl]": BLEU(lowercase=True, tokenize="intl"),
    "bleu[smooth_method=add-k,smooth_value=2,max_ngram_order=3]": BLEU(
        smooth_method="add-k", smooth_value=2, max_ngram_order=3
    ),
    "chrf[whitespace=true,lowercase=true,char_order=4]": CHRF(whitespace=True, lowercase=True, char_order=4),
    "chrf[word_order=1,beta=3,eps_smoothing=true]": CHRF(word_order=1, beta=3, eps_smoothing=True),
    "ter[case_sensitive=true,no_punct=true,normalized=true]": TER(
        case_sensitive=True, no_punct=True, normalized=True
    ),
    "ter[asian_support=true,normalized=true]": TER(asian_support=True, normalized=True),
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


@pytest.mark.parametrize("name", OPTIONS)
def test_options_are_sacrebleus(name: str) -> None:
    metric, scorer = make_metric(name), opened(name, "en")
    results = scorer.score(Segment(h, (r,)) for h, r in zip(HYPOTHESES, FIRST, strict=True))
    totals = np.sum([result.statistics for result in results], axis=0)
    wanted = OPTIONS[name].corpus_score(HYPOTHESES, [FIRST])
    assert metric.aggregate(totals.tolist()) == pytest.approx(wanted.score)
    assert scorer.signature().endswith(OPTIONS[name].get_signature().format())


def test_parts_of_bleu_and_ter() -> None:
    segments = [Segment(h, (r,)) for h, r in zip(HYPOTHESES, FIRST, strict=True)]
    totals = np.sum([one.statistics for one in opened("bleu", "en").score(segments)], axis=0)
    parts, wanted = make_metric("bleu").parts(totals.tolist()), BLEU().corpus_score(HYPOTHESES, [FIRST])
    assert [parts[f"precision_{order}"] for order in range(1, 5)] == pytest.approx(wanted.precisions)
    assert (parts["brevity_penalty"], parts["output_words"], parts["reference_words"]) == pytest.approx(
        (wanted.bp, wanted.sys_len, wanted.ref_len)
    )
    totals = np.sum([one.statistics for one in opened("ter", "en").score(segments)], axis=0)
    edits = TER().corpus_score(HYPOTHESES, [FIRST])
    assert make_metric("ter").parts(totals.tolist()) == {
        "edits": edits.num_edits,
        "reference_words": edits.ref_length,
    }


def test_a_tokenizer_is_not_fetched_offline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("sacrebleu.utils.SACREBLEU_DIR", str(tmp_path))
    with pytest.raises(PrismError, match="`offline=`: not fetching sacreBLEU's tokenizer flores200"):
        make_metric("bleu[tokenize=flores200]").open(Runtime(EngineConfig(offline=True)), Languages("en"))


def test_chinese_has_its_tokenizer() -> None:
    assert "tok:zh" in opened("bleu", "zh").signature()


def test_japanese_needs_a_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "MeCab", None)
    with pytest.raises(PrismError, match=r"pip install 'sacrebleu\[ja\]'"):
        opened("bleu", "ja")


def test_unknown_metric() -> None:
    with pytest.raises(
        PrismError, match="no metric and no folder of a learned metric is named 'blue'; did you mean 'bleu'"
    ):
        make_metric("blue")
