"""Readers of metric scores, and how scores are put in the order of judgments."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from prism_mt._core.errors import PrismError
from prism_mt.evaluation.judgments import Judgments, MetricScores, Texts, add_texts
from prism_mt.evaluation.readers.scores import read_all_scores, read_scores

NAN = math.nan


def write(path: Path, *rows: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(row + "\n" for row in rows), encoding="utf-8")
    return path


def test_own_table(tmp_path: Path) -> None:
    path = write(
        tmp_path / "scores.tsv",
        "metric\tlp\tsystem\tsegment\tscore",
        "chrF\ten-de\tA\t1\t50.5",
        "chrF\ten-de\tA\t\t40",
        "BLEU\ten-de\tA\t1\tNA",
    )
    chrf, bleu = read_scores(path)
    assert (chrf.metric, chrf.pair, chrf.scores.tolist()) == ("chrF", "en-de", [[50.5]])
    assert chrf.system_scores is not None
    assert chrf.system_scores.tolist() == [40.0]
    assert np.isnan(bleu.scores).all()


def test_scores_given_twice_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "m_en-de.tsv", "system\tsegment\tscore", "A\t1\t5", "A\t1\t6")
    with pytest.raises(PrismError, match="m_en-de .*two scores for segment 1 of A"):
        read_scores(path)


def test_files_of_mt_metrics_eval(tmp_path: Path) -> None:
    folder = tmp_path / "metric-scores" / "en-de"
    write(folder / "chrF-refA.seg.score", "A\t1", "A\t2", "B\t3", "B\tNone")
    write(folder / "chrF-refA.sys.score", "A\t1.6", "B\t3")
    (scores,) = read_scores(folder / "chrF-refA.seg.score")
    assert (scores.metric, scores.pair, scores.systems) == ("chrF-refA", "en-de", ("A", "B"))
    np.testing.assert_array_equal(scores.scores, [[1, 2], [3, NAN]])
    assert scores.system_scores is not None
    assert scores.system_scores.tolist() == [1.6, 3.0]
    assert [found.metric for found in read_scores(folder)] == ["chrF-refA"]
    with pytest.raises(PrismError, match="expected a system and a score"):
        read_scores(write(folder / "bad.seg.score", "A\t1", "A 1 2"))


def test_both_files_of_one_metric_are_one_metric(tmp_path: Path) -> None:
    folder = tmp_path / "metric-scores" / "en-de"
    files = [
        write(folder / "chrF-refA.seg.score", "A\t1", "A\t2"),
        write(folder / "chrF-refA.sys.score", "A\t1.6"),
        write(folder / "BLEU-refA.sys.score", "A\t3"),
    ]
    assert [found.metric for found in read_all_scores(files)] == ["chrF-refA", "BLEU-refA"]
    # Submissions and tables of that name hold one level each.
    rows = [
        write(tmp_path / "m.sys.score", "m\ten-de\tnews\tA\t3"),
        write(tmp_path / "m.seg.score", "m\ten-de\tnews\tA\t1\t3"),
    ]
    assert [found.metric for found in read_all_scores(rows)] == ["m", "m"]


def test_submissions_keep_references_apart(tmp_path: Path) -> None:
    path = write(
        tmp_path / "all.sys.score.tsv",
        "BLEU\tcs-en\tnewstest2020\tnewstest2020\tA.1\t29.2",
        "BLEU\tcs-en\tnewstest2020\tnewstestB2020\tA.1\t31.0",
    )
    found = read_scores(path)
    assert [scores.metric for scores in found] == ["BLEU", "BLEU newstest2020 newstestB2020"]
    (segments,) = read_scores(write(tmp_path / "m.seg.score", "chrF cs-en newstest2019 A.1 3 0.5"))
    assert (segments.segments, segments.scores.tolist()) == (("3",), [[0.5]])
    with pytest.raises(PrismError, match="line 1: expected METRIC LP TESTSET SYSTEM SCORE"):
        read_scores(write(tmp_path / "x.sys.score", "BLEU A 3 4"))


def test_json_predictions(tmp_path: Path) -> None:
    document = {"seg": {"m": {"A": [0.1, None, 0.3]}}, "sys": {"m": {"A": 0.25}}}
    path = write(tmp_path / "predictions_en-de.json", json.dumps(document))
    (scores,) = read_scores(path)
    assert scores.segments == ("1", "2", "3")
    np.testing.assert_array_equal(scores.scores, [[0.1, NAN, 0.3]])
    with pytest.raises(PrismError, match="no metric scores of fr-en"):
        read_scores(path, pairs=("fr-en",))
    with pytest.raises(PrismError, match="not a JSON object"):
        read_scores(write(tmp_path / "x_en-de.json", "[1]"))


JUDGMENTS = Judgments("t", "en-de", ("A", "B"), ("1", "2"), np.array([[1.0, 2.0], [3.0, NAN]]))


def test_align_puts_scores_in_the_order_of_the_judgments() -> None:
    scores = MetricScores("m", "en-de", ("B", "C", "A"), ("2", "9", "1"), np.arange(9.0).reshape(3, 3))
    np.testing.assert_array_equal(scores.align(JUDGMENTS), [[8, 6], [2, 0]])
    # Means over all segments that the metric has scored, judged or not.
    np.testing.assert_array_equal(scores.align_systems(JUDGMENTS), [7, 1])
    other = MetricScores("m", "en-de", ("C",), ("1",), np.ones((1, 1)))
    assert np.isnan(other.align(JUDGMENTS)).all()


def test_system_means_ignore_what_is_not_judged() -> None:
    assert JUDGMENTS.system_means().tolist() == [1.5, 3.0]
    empty = Judgments("t", "en-de", ("A",), ("1",), np.array([[NAN]]))
    assert math.isnan(empty.system_means()[0])


def test_add_texts_aligns_segments() -> None:
    texts = Texts(("s2", "s1"), {"ref": ("r2", "r1")}, {"A": ("a2", "a1"), "B": ("b2", "b1"), "C": ("c", "c")})
    source = Judgments("x", "en-de", (), ("2", "1"), np.empty((0, 2)), texts=texts)
    joined = add_texts(JUDGMENTS, source)
    assert joined.texts is not None
    assert joined.texts.outputs["A"] == ("a1", "a2")
    systems_only = Judgments("t", "en-de", ("A",), (), np.empty((1, 0)), np.array([0.5]))
    assert add_texts(systems_only, source).segments == ("2", "1")
    with pytest.raises(PrismError, match="no texts of D"):
        add_texts(Judgments("t", "en-de", ("D",), (), np.empty((1, 0))), source)
    with pytest.raises(PrismError, match="no texts of segment 7"):
        add_texts(Judgments("t", "en-de", ("A",), ("7",), np.ones((1, 1))), source)
    with pytest.raises(PrismError, match="has no texts"):
        add_texts(JUDGMENTS, JUDGMENTS)
