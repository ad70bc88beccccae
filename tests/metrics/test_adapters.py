"""Our metrics behind the interfaces of other libraries, against sacreBLEU's own numbers."""

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
    with pytest.raises(PrismError, match="there is no 'labels'"):
        EvaluateMetric("bleu").compute(predictions=["x"], labels=["x"])


def test_mbr_metric_chooses_as_mbrs_does() -> None:
    pytest.importorskip("torch", reason="needs the extra train")
    metric = MbrMetric("chrf")
    texts = ["the cat sat", "a cat sat", "dogs"]
    table = metric.pairwise_scores(texts, texts[:2])
    wanted = [[sacrebleu.sentence_chrf(one, [other]).score for other in texts[:2]] for one in texts]
    assert table.tolist() == [pytest.approx(row, abs=1e-4) for row in wanted]
    assert metric.expected_scores(texts, texts[:2]).tolist() == pytest.approx(
        [sum(row) / 2 for row in wanted], abs=1e-4
    )
    assert metric.score("dogs", "dogs") == pytest.approx(100.0)
    assert metric.scores(texts, texts).tolist() == pytest.approx([100.0] * 3)
    best = max(range(3), key=lambda place: sum(wanted[place]))
    assert metric.argbest(metric.expected_scores(texts, texts[:2])) == best
    errors = MbrMetric("ter")
    assert errors.HIGHER_IS_BETTER is False
    assert errors.topk(errors.pairwise_scores(texts, ["dogs"])[:, 0], k=1) == ([0.0], [2])
