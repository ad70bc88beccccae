"""Readers of metric scores, and how scores are put in the order of judgments."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from judging import judged, scored, write_rows

from prism_mt._core.errors import PrismError
from prism_mt.evaluation.judgments import Texts, add_texts
from prism_mt.evaluation.readers.scores import read_all_scores, read_scores
from prism_mt.evaluation.readers.wmt_outputs import write_submission

NAN = math.nan


def test_own_table(tmp_path: Path) -> None:
    path = write_rows(
        tmp_path / "scores.tsv",
        "metric\tlp\tsystem\tsegment\tscore",
        "chrF\ten-de\tA\t1\t50.5",
        "chrF\ten-de\tA\t\t40",
        "BLEU\ten-de\tA\t1\tNA",
    )
    chrf, bleu = read_scores(path)
    assert (chrf.metric, chrf.pair, chrf.segments.tolist()) == ("chrF", "en-de", [[50.5]])
    assert chrf.system_scores.tolist() == [40.0]
    assert np.isnan(bleu.segments).all()


def test_scores_given_twice_are_refused(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "m_en-de.tsv", "system\tsegment\tscore", "A\t1\t5", "A\t1\t6")
    with pytest.raises(PrismError, match="m_en-de .*two scores for segment 1 of A"):
        read_scores(path)


def test_files_of_mt_metrics_eval(tmp_path: Path) -> None:
    folder = tmp_path / "metric-scores" / "en-de"
    write_rows(folder / "chrF-refA.seg.score", "A\t1", "A\t2", "B\t3", "B\tNone")
    write_rows(folder / "chrF-refA.sys.score", "A\t1.6", "B\t3")
    (scores,) = read_scores(folder / "chrF-refA.seg.score")
    assert (scores.metric, scores.pair, scores.systems) == ("chrF", "en-de", ("A", "B"))
    assert "reference:refA" in scores.signature
    np.testing.assert_array_equal(scores.segments, [[1, 2], [3, NAN]])
    assert scores.system_scores.tolist() == [1.6, 3.0]
    assert [found.metric for found in read_scores(folder)] == ["chrF"]
    with pytest.raises(PrismError, match="expected a system and a score"):
        read_scores(write_rows(folder / "bad.seg.score", "A\t1", "A 1 2"))


def test_references_are_variants_of_a_metric(tmp_path: Path) -> None:
    folder = tmp_path / "metric-scores" / "en-de"
    for name in ("prismRef-refA", "prismRef-refB", "prismSrc-src", "COMET-QE-src", "COMET-refA", "COMET-src"):
        write_rows(folder / f"{name}.seg.score", f"A\t{len(name)}", "A\t2")
    write_rows(tmp_path / "references" / "en-de.refA.txt", "x", "y")
    with pytest.raises(PrismError, match=r"several references \(refA, refB\): choose one with `reference=`"):
        read_scores(tmp_path)
    found = {one.metric: one for one in read_scores(tmp_path, reference="refA")}
    assert list(found) == ["COMET-QE", "COMET", "COMET-src", "prismRef", "prismSrc"]
    assert "reference:refA" in found["prismRef"].signature
    assert "reference:src" in found["prismSrc"].signature
    assert [one.metric for one in read_scores(folder, reference="refB")] == [
        "COMET-QE",
        "COMET",
        "prismRef",
        "prismSrc",
    ]
    with pytest.raises(PrismError, match="no scores under refC, only under refA, refB"):
        read_scores(folder, reference="refC")


def test_all_references_of_one_is_that_one(tmp_path: Path) -> None:
    folder = tmp_path / "metric-scores" / "en-de"
    write_rows(folder / "chrF-all.seg.score", "A\t1", "A\t2")
    write_rows(tmp_path / "references" / "en-de.refA.txt", "x", "y")
    (found,) = read_scores(tmp_path, reference="refA")
    assert (found.metric, "reference:refA" in found.signature) == ("chrF", True)


def test_submissions_in_wmts_words_in_and_out(tmp_path: Path) -> None:
    judgments = judged(
        "t", "en-de", ("A", "B"), ("d::1", "d::2"), np.ones((2, 2)), documents=("d", "d"), domains=("news", "news")
    )
    metric = scored("mine", ("A", "B"), ("d::1", "d::2"), np.array([[0.5, -1.0], [NAN, 2.0]]))
    for ending in ("jsonl", "tsv"):
        write_submission(tmp_path / f"mine.{ending}", [(metric, judgments)])
    record = json.loads((tmp_path / "mine.jsonl").read_text(encoding="utf-8").splitlines()[0])
    assert record == {
        "doc_id": "d",
        "segment_id": "1",
        "source_lang": "en",
        "target_lang": "de",
        "set_id": "official",
        "system_id": "A",
        "domain_name": "news",
        "overall": 0.5,
    }
    for ending in ("jsonl", "tsv"):
        (back,) = read_scores(tmp_path / f"mine.{ending}")
        assert (back.metric, back.pair) == ("mine", "en-de")
        np.testing.assert_array_equal(back.align(judgments.systems, judgments.segments), metric.segments)


def test_both_files_of_one_metric_are_one_metric(tmp_path: Path) -> None:
    folder = tmp_path / "metric-scores" / "en-de"
    files = [
        write_rows(folder / "chrF-refA.seg.score", "A\t1", "A\t2"),
        write_rows(folder / "chrF-refA.sys.score", "A\t1.6"),
        write_rows(folder / "BLEU-refA.sys.score", "A\t3"),
    ]
    assert [found.metric for found in read_all_scores(files)] == ["chrF", "BLEU"]
    # Submissions and tables of that name hold one level each.
    rows = [
        write_rows(tmp_path / "m.sys.score", "m\ten-de\tnews\tA\t3"),
        write_rows(tmp_path / "m.seg.score", "m\ten-de\tnews\tA\t1\t3"),
    ]
    assert [found.metric for found in read_all_scores(rows)] == ["m", "m"]


def test_submissions_keep_references_apart(tmp_path: Path) -> None:
    path = write_rows(
        tmp_path / "all.sys.score.tsv",
        "BLEU\tcs-en\tnewstest2020\tnewstest2020\tA.1\t29.2",
        "BLEU\tcs-en\tnewstest2020\tnewstestB2020\tA.1\t31.0",
    )
    found = read_scores(path)
    assert [scores.metric for scores in found] == ["BLEU", "BLEU newstest2020 newstestB2020"]
    lines = [f"chrF\ten-de\tnewstest2020\t{name}\tA.1\t1" for name in ("newstestB2020", "newstest2020")]
    assert [one.metric for one in read_scores(write_rows(tmp_path / "b.sys.score.tsv", *lines))] == [
        "chrF newstest2020 newstestB2020",
        "chrF",
    ]
    (segments,) = read_scores(write_rows(tmp_path / "m.seg.score", "chrF cs-en newstest2019 A.1 3 0.5"))
    assert (segments.segment_ids, segments.segments.tolist()) == (("3",), [[0.5]])
    with pytest.raises(PrismError, match="line 1: expected METRIC LP TESTSET SYSTEM SCORE"):
        read_scores(write_rows(tmp_path / "x.sys.score", "BLEU A 3 4"))


def test_json_predictions(tmp_path: Path) -> None:
    document = {"seg": {"m": {"A": [0.1, None, 0.3]}}, "sys": {"m": {"A": 0.25}}}
    path = write_rows(tmp_path / "predictions_en-de.json", json.dumps(document))
    (scores,) = read_scores(path)
    assert scores.segment_ids == ("1", "2", "3")
    np.testing.assert_array_equal(scores.segments, [[0.1, NAN, 0.3]])
    with pytest.raises(PrismError, match="no metric scores of fr-en"):
        read_scores(path, pairs=("fr-en",))
    with pytest.raises(PrismError, match="not a JSON object"):
        read_scores(write_rows(tmp_path / "x_en-de.json", "[1]"))


JUDGMENTS = judged("t", "en-de", ("A", "B"), ("1", "2"), np.array([[1.0, 2.0], [3.0, NAN]]))


def test_system_means_ignore_what_is_not_judged() -> None:
    assert JUDGMENTS.system_means().tolist() == [1.5, 3.0]
    empty = judged("t", "en-de", ("A",), ("1",), np.array([[NAN]]))
    assert math.isnan(empty.system_means()[0])


def test_add_texts_aligns_segments() -> None:
    texts = Texts(("s2", "s1"), {"ref": ("r2", "r1")}, {"A": ("a2", "a1"), "B": ("b2", "b1"), "C": ("c", "c")})
    source = judged("x", "en-de", (), ("2", "1"), np.empty((0, 2)), texts=texts)
    joined = add_texts(JUDGMENTS, source)
    assert joined.texts is not None
    assert joined.texts.outputs["A"] == ("a1", "a2")
    systems_only = judged("t", "en-de", ("A",), (), np.empty((1, 0)), system_scores=np.array([0.5]))
    assert add_texts(systems_only, source).segments == ("2", "1")
    with pytest.raises(PrismError, match="no texts of D"):
        add_texts(judged("t", "en-de", ("D",), (), np.empty((1, 0))), source)
    with pytest.raises(PrismError, match="no texts of segment 7"):
        add_texts(judged("t", "en-de", ("A",), ("7",), np.ones((1, 1))), source)
    with pytest.raises(PrismError, match="has no texts"):
        add_texts(JUDGMENTS, JUDGMENTS)
