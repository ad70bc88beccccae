"""Metrics with paraphrases among the references."""

import json
from pathlib import Path
from typing import Any

import pytest
from made import make_model
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from prism_mt._core.errors import PrismError
from prism_mt.engines.factory import EngineConfig
from prism_mt.generate.generator import Generator
from prism_mt.metrics.base import Languages, Segment
from prism_mt.metrics.paraphrased import ParBleu, ParChrf
from prism_mt.metrics.registry import make_metric
from prism_mt.metrics.runtime import Runtime
from prism_mt.metrics.score import score
from prism_mt.models.directory import write_model

HYPOTHESES = ["The cat sat on the mat.", "He went home by bus, she said."]
REFERENCES = ["A cat was sitting on the mat.", "She said that he took the bus home."]
PARAPHRASES = [
    ["The cat sat on a mat.", "The cat was on the mat."],
    ["He went home by bus.", "By bus he went home."],
]


def write(path: Path, sources: list[str], paraphrases: list[list[str]]) -> Path:
    rows = [
        {"source": source, "paraphrases": [{"text": text, "score": -1} for text in texts]}
        for source, texts in zip(sources, paraphrases, strict=True)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return write(tmp_path / "par.jsonl", REFERENCES, PARAPHRASES)


def segments() -> list[Segment]:
    texts = zip(HYPOTHESES, REFERENCES, strict=True)
    return [
        Segment(hypothesis, (reference,), None, number) for number, (hypothesis, reference) in enumerate(texts, 1)
    ]


def system_score(name: str, **options: Any) -> float:
    metric = make_metric(name, options)
    scorer = metric.open(Runtime(), Languages("en"))
    totals = [sum(column) for column in zip(*(r.statistics for r in scorer.score(segments())), strict=True)]
    return metric.aggregate(totals)


PEERS: dict[str, Any] = {"parbleu": BLEU(), "parchrf++": CHRF(word_order=1, beta=3, eps_smoothing=True)}


@pytest.mark.parametrize("name", PEERS)
@pytest.mark.parametrize(("count", "replace"), [(0, False), (1, False), (2, False), (1, True), (None, True)])
def test_equal_to_sacrebleu_with_more_references(name: str, count: int | None, replace: bool, file: Path) -> None:
    number = 1 if count is None else count
    original = [] if replace else [REFERENCES]
    wanted = PEERS[name].corpus_score(
        HYPOTHESES, original + [[row[i] for row in PARAPHRASES] for i in range(number)]
    )
    found = system_score(name, paraphrases=count, replace_reference=replace, paraphrase_file=file)
    assert found == pytest.approx(wanted.score)


def test_segments_are_smoothed_as_chrf_plus_plus_does(tmp_path: Path) -> None:
    # Neither output has a 6-gram: without smoothing that order is left out.
    texts = [Segment("cat", ("cats sat",), None, 1), Segment("a bus", ("by bus",), None, 2)]
    file = write(tmp_path / "par.jsonl", [text.references[0] for text in texts], [[], []])
    scorer = ParChrf(paraphrases=0, paraphrase_file=file).open(Runtime(), Languages("en"))
    for segment, found in zip(texts, scorer.score(texts), strict=True):
        smooth, plain = (
            CHRF(word_order=1, beta=3, eps_smoothing=smoothing)
            .sentence_score(segment.hypothesis, list(segment.references))
            .score
            for smoothing in (True, False)
        )
        assert found.score == pytest.approx(smooth)
        assert found.score != pytest.approx(plain, abs=0.1)


def test_signature(file: Path) -> None:
    scorer = ParChrf(paraphrases=2, paraphrase_file=file).open(Runtime(), Languages("en"))
    assert scorer.signature().startswith("parchrf++|par:2-added|by:par.jsonl|nrefs:3|case:mixed|eff:no|nc:6|nw:1|")


@pytest.mark.parametrize(
    ("sources", "paraphrases", "count", "message"),
    [
        (REFERENCES[:1], PARAPHRASES[:1], 1, "par.jsonl has paraphrases of 1 references, but there are more"),
        (
            [*REFERENCES, "x"],
            [*PARAPHRASES, ["x"]],
            1,
            "par.jsonl has paraphrases of 3 references, but there are 2",
        ),
        (REFERENCES[::-1], PARAPHRASES, 1, "par.jsonl, line 1 has paraphrases of a text other than the reference"),
        (REFERENCES, PARAPHRASES, 3, "par.jsonl, line 1 has 2 paraphrases, but 3 are needed"),
    ],
)
def test_a_file_that_does_not_fit(
    sources: list[str], paraphrases: list[list[str]], count: int, message: str, tmp_path: Path
) -> None:
    path = write(tmp_path / "par.jsonl", sources, paraphrases)
    with pytest.raises(PrismError, match=message):
        system_score("parbleu", paraphrases=count, paraphrase_file=path)


@pytest.mark.parametrize(
    ("count", "replace", "message"),
    [(-1, False, "paraphrases must be at least 0"), (0, True, "leaves no reference")],
)
def test_bad_options(count: int, replace: bool, message: str) -> None:
    with pytest.raises(PrismError, match=message):
        ParBleu(paraphrases=count, replace_reference=replace)


def test_paraphrases_by_the_model_are_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRISM_CACHE", str(tmp_path / "cache"))
    folder = write_model(make_model(max_positions=32), tmp_path / "made").folder
    asked: list[str] = []
    search = Generator.search

    def watched(self: Generator, texts: Any, *rest: Any) -> Any:
        asked.extend(texts)
        return search(self, texts, *rest)

    monkeypatch.setattr(Generator, "search", watched)
    runtime = Runtime(EngineConfig(device="cpu", threads=1))
    texts = [Segment("a b", ("Hello world",), None, 1), Segment("c", ("Hello world",), None, 1)]
    totals = {}
    for count in (1, 3, 30):
        scorer = ParChrf(model=str(folder), paraphrases=count).open(runtime, Languages("en"))
        totals[count] = [result.statistics for result in scorer.score(texts)]
        assert f"|par:{count}-added|by:made@" in scorer.signature()
        assert "-diverse-b30-g10-s1-lp1|" in scorer.signature()
        assert f"nrefs:{count + 1}|" in scorer.signature()
    assert len(asked) == 1  # one reference, searched once for all systems and counts
    with pytest.raises(PrismError, match="needs the language of the outputs"):
        score(["a"], ref=["b"], metrics=ParBleu(model=str(folder)))


def test_cut_paraphrases_are_told_once_for_a_whole_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("PRISM_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("prism_mt.metrics.paraphrased._CHUNK", 1)
    folder = write_model(make_model(max_positions=32), tmp_path / "made").folder
    texts = [Segment("a", (reference,), None, number) for number, reference in enumerate(("Hello", "world"), 1)]
    list(ParBleu(model=str(folder), paraphrases=1).open(Runtime(), Languages("en")).score(texts))
    # A model that has learned nothing never ends a sentence.
    [told] = [record.getMessage() for record in caplog.records if "cut off" in record.getMessage()]
    assert told.startswith("60 hypotheses were cut off")


def test_a_cache_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: Any) -> None:
    pytest.importorskip("torch")
    model = write_model(make_model(), tmp_path / "model").folder
    (tmp_path / "file").write_text("")  # not even the superuser can make a folder in a file
    options = {"model": str(model), "paraphrases": 1, "paraphrase_beam": 10}
    monkeypatch.setenv("PRISM_CACHE", str(tmp_path / "cache"))
    usual = system_score("parbleu", **options)
    monkeypatch.setenv("PRISM_CACHE", str(tmp_path / "file" / "cache"))
    assert system_score("parbleu", **options) == usual
    assert "continuing without it" in caplog.text
