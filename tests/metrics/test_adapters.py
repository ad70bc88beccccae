"""Our metrics behind the interfaces of other libraries, against sacreBLEU's own numbers."""

import importlib

import numpy
import pytest
import sacrebleu

from prism_mt._core.errors import PrismError
from prism_mt.metrics.adapters import EvaluateMetric, MbrMetric

HYPOTHESES = ["the cat sat on the mat", "a dog barks"]
REFERENCES = [["the cat sat on a mat", "a cat sat on the mat"], ["the dog barks", "dogs bark"]]


def test_evaluate_with_several_references() -> None:
    wanted = sacrebleu.corpus_bleu(HYPOTHESES, [list(texts) for texts in zip(*REFERENCES, strict=True)])
    found = EvaluateMetric("bleu").compute(predictions=HYPOTHESES, references=REFERENCES)
    assert found["score"] == pytest.approx(wanted.score)
    assert len(found["scores"]) == 2
    assert found["signature"].startswith("bleu|nrefs:2|")
    assert found["lower_is_better"] is False


def test_evaluate_collects_batches_and_forgets_them() -> None:
    metric = EvaluateMetric("ter")
    metric.add(prediction=HYPOTHESES[0], reference=REFERENCES[0][0])
    metric.add_batch(predictions=HYPOTHESES[1:], references=["the dog barks"])
    wanted = sacrebleu.corpus_ter(HYPOTHESES, [["the cat sat on a mat", "the dog barks"]]).score
    found = metric.compute()
    assert found["score"] == pytest.approx(wanted)
    assert found["lower_is_better"] is True
    assert metric.compute(predictions=["x"], references=["x"])["scores"] == [0.0]


def test_evaluate_by_source_and_mistakes() -> None:
    found = EvaluateMetric("sentinel-src-length").compute(predictions=["x"], sources=["abcd"])
    assert found["scores"] == [4.0]
    with pytest.raises(PrismError, match="the same number of references"):
        EvaluateMetric("bleu").compute(predictions=["x", "y"], references=[["x"], ["x", "y"]])
    with pytest.raises(PrismError, match="no argument 'labels'; known: predictions"):
        EvaluateMetric("bleu").compute(predictions=["x"], labels=["x"])


def test_evaluate_inside_its_own_package() -> None:
    evaluate = pytest.importorskip("evaluate", reason="needs the package evaluate", exc_type=ImportError)
    both = evaluate.combine([EvaluateMetric("chrf"), EvaluateMetric("ter"), EvaluateMetric("sentinel-src-length")])
    references, sources = [texts[0] for texts in REFERENCES], ["abcd", "ab"]
    wanted = {
        "chrf_score": sacrebleu.corpus_chrf(HYPOTHESES, [references]).score,
        "ter_score": sacrebleu.corpus_ter(HYPOTHESES, [references]).score,
        "sentinel-src-length_scores": [4.0, 2.0],
    }
    found = [both.compute(predictions=HYPOTHESES, references=references, sources=sources)]
    both.add_batch(predictions=HYPOTHESES, references=references, sources=sources)
    found.append(both.compute())
    for text, reference, source in zip(HYPOTHESES, references, sources, strict=True):
        both.add(prediction=text, reference=reference, sources=source)
    found.append(both.compute())
    assert [{key: result[key] for key in wanted} for result in found] == [wanted] * 3


def test_evaluate_names_the_columns_of_combined_metrics() -> None:
    assert EvaluateMetric("ter")._feature_names() == ["predictions", "references"]
    metric = EvaluateMetric("sentinel-src-length")
    assert metric._feature_names() == ["predictions", "sources"]
    metric.add(predictions="x", sources="abc")
    assert metric.compute(predictions=numpy.array(["y"]), sources=numpy.array(["ab"]))["scores"] == [3.0, 2.0]


TEXTS = ["the cat sat", "a cat sat", "dogs"]


def test_mbr_metric_has_what_decoders_of_mbrs_call() -> None:
    torch = pytest.importorskip("torch", reason="needs the extra train")
    metric = MbrMetric("chrf")
    table = metric.pairwise_scores(TEXTS, TEXTS[:2])
    wanted = [[sacrebleu.sentence_chrf(one, [other]).score for other in TEXTS[:2]] for one in TEXTS]
    assert table.tolist() == [pytest.approx(row, abs=1e-4) for row in wanted]
    assert metric.expected_scores(TEXTS, TEXTS[:2]).tolist() == pytest.approx(
        [sum(row) / 2 for row in wanted], abs=1e-4
    )
    weighted = metric.expected_scores(TEXTS, TEXTS[:2], reference_lprobs=torch.tensor([0.75, 0.25]).log())
    assert weighted.tolist() == pytest.approx([0.75 * row[0] + 0.25 * row[1] for row in wanted], abs=1e-4)
    assert metric.score("dogs", "dogs") == pytest.approx(100.0)
    assert metric.scores(TEXTS, TEXTS).tolist() == pytest.approx([100.0] * 3)
    assert metric.corpus_score(TEXTS, [TEXTS[::-1]]) == pytest.approx(
        sacrebleu.corpus_chrf(TEXTS, [TEXTS[::-1]]).score
    )
    assert metric.device == torch.device("cpu")
    assert metric.HIGHER_IS_BETTER is True
    assert MbrMetric("ter").HIGHER_IS_BETTER is False


@pytest.mark.parametrize(("name", "lower_is_better"), [("chrf", False), ("ter", True)])
def test_mbr_metric_decides_as_decoders_of_mbrs_ask(name: str, lower_is_better: bool) -> None:
    """The same in mbrs itself is below; continuous integration has no COMET, which it needs."""
    torch = pytest.importorskip("torch", reason="needs the extra train")
    decoders = importlib.import_module("mbrs_decoders")
    sentence = sacrebleu.sentence_ter if name == "ter" else sacrebleu.sentence_chrf
    table = [[sentence(one, [other]).score for other in TEXTS] for one in TEXTS]

    def best(*weights: float) -> tuple[list[int], object]:
        means = [sum(w * x for w, x in zip(weights, row, strict=True)) / sum(weights) for row in table]
        order = sorted(range(len(TEXTS)), key=means.__getitem__, reverse=not lower_is_better)[:2]
        return order, pytest.approx([means[place] for place in order], abs=1e-3)

    metric = MbrMetric(name)
    assert decoders.mbr(metric, TEXTS, TEXTS, nbest=2) == best(1, 1, 1)
    assert decoders.mbr(metric, TEXTS, TEXTS, torch.tensor([0.1, 0.1, 0.8]).log(), 2) == best(1, 1, 8)
    assert decoders.rounds(metric, TEXTS, TEXTS, [1, 3], nbest=2) == best(1, 1, 1)


def test_mbr_metric_reranks_as_a_decoder_of_mbrs_asks() -> None:
    pytest.importorskip("torch", reason="needs the extra train")
    decoders = importlib.import_module("mbrs_decoders")
    assert decoders.rerank(MbrMetric("sentinel-hyp-length"), TEXTS, "abc") == ([2], [4.0])  # lower is better


def test_mbr_metric_by_source_and_mistakes() -> None:
    pytest.importorskip("torch", reason="needs the extra train")
    metric = MbrMetric("sentinel-src-length")
    assert metric.scores(["x", "y"], sources=["abc", "a"]).tolist() == [3.0, 1.0]
    with pytest.raises(PrismError, match="sentinel-src-length needs sources"):
        metric.scores(["x"], ["a reference"])
    with pytest.raises(PrismError, match="chrf needs references"):
        MbrMetric("chrf").scores(["x"], sources=["a source"])
    with pytest.raises(PrismError, match="prism-ref needs the language of the outputs: set `lang=`"):
        MbrMetric("prism-ref")


@pytest.mark.parametrize("name", ["chrf", "ter", "bleu"])
def test_mbr_metric_decides_as_the_same_metric_of_mbrs(name: str) -> None:
    decoders = pytest.importorskip("mbrs.decoders", reason="needs the package mbrs")
    theirs = importlib.import_module("mbrs.metrics").get_metric(name)
    for decoder in (decoders.DecoderMBR, decoders.DecoderPruningMBR, decoders.DecoderProbabilisticMBR):
        ours, wanted = (
            decoder(decoder.Config(), metric).decode(TEXTS, TEXTS, nbest=2)
            for metric in (MbrMetric(name), theirs(theirs.Config()))
        )
        assert (ours.idx, ours.score) == (wanted.idx, pytest.approx(wanted.score, abs=1e-3))


def test_mbr_metric_reranks_by_source_in_mbrs() -> None:
    decoders = pytest.importorskip("mbrs.decoders", reason="needs the package mbrs")
    decoder = decoders.DecoderRerank(decoders.DecoderRerank.Config(), MbrMetric("sentinel-src-length"))
    assert decoder.decode(["x", "y"], "abc").score == [3.0]
