"""Scores of judged texts, and which reference they are scored against."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np
import pytest
from judging import judged, opened

from prism_mt._core.errors import PrismError
from prism_mt.evaluation.judgments import Texts
from prism_mt.evaluation.scoring import TextScorer, score_texts
from prism_mt.metrics.base import Scorer, Segment, SegmentScore
from prism_mt.metrics.prism import PrismRef
from prism_mt.metrics.sacrebleu import Bleu, Chrf, Ter

TEXTS = Texts(
    ("one", "two"),
    {"ref": ("the cat sat here", "a dog ran far away")},
    {"A": ("the cat sat here", "a dog ran far away"), "B": ("the cat", None)},
)
WITH_TEXTS = judged("set", "xx-en", ("A", "B"), ("1", "2"), np.array([[1.0, math.nan], [0.0, 1.0]]), texts=TEXTS)


def test_texts_are_scored_where_there_is_everything() -> None:
    scores = score_texts(opened(Chrf()), WITH_TEXTS)
    assert scores.segments[0].tolist() == [100.0, 100.0]
    assert 0 < scores.segments[1, 0] < 100
    assert math.isnan(scores.segments[1, 1])
    found = score_texts(opened(Chrf()), WITH_TEXTS, only_judged=True)
    np.testing.assert_array_equal(np.isnan(found.segments), [[False, True], [False, True]])


def test_error_rates_say_so_and_bleu_of_systems_is_not_a_mean() -> None:
    ter = score_texts(opened(Ter()), WITH_TEXTS)
    assert ter.segments[:, 0].tolist() == [0.0, 50.0]
    assert ter.higher.segments[1, 0] == -50.0
    bleu = score_texts(opened(Bleu()), WITH_TEXTS)
    assert bleu.system_scores[0] == pytest.approx(100.0)


def test_references_must_be_clear() -> None:
    two = Texts(TEXTS.sources, {"refA": TEXTS.references["ref"], "refB": ("x", "y")}, TEXTS.outputs)
    judgments = judged("set", "xx-en", ("A",), ("1", "2"), np.ones((1, 2)), texts=two)
    chrf = opened(Chrf())
    with pytest.raises(PrismError, match=r"several references \(refA, refB\).*`reference=`"):
        score_texts(chrf, judgments)
    with pytest.raises(PrismError, match="no reference 'refC'; it has refA, refB"):
        score_texts(chrf, judgments, "refC")
    assert score_texts(chrf, judgments, "refA").segments[0, 0] == 100.0
    without = judged("set", "xx-en", ("A",), ("1",), np.ones((1, 1)))
    with pytest.raises(PrismError, match="has no texts to score"):
        score_texts(chrf, without)


class _CountsContext(Scorer):
    def score(self, segments: Iterable[Segment], tokens: bool = False) -> Iterator[SegmentScore]:
        for segment in segments:
            yield SegmentScore(len(segment.context))

    def signature(self, references: int = 1) -> str:
        return "counts"


def test_segments_without_a_document_have_no_context() -> None:
    lines = ("a", "b", "c", "d", "e")
    texts = Texts(lines, {"ref": lines}, {"A": lines})
    judgments = judged("set", "xx-en", ("A",), lines, np.ones((1, 5)), texts=texts)
    named = replace(judgments, documents=("", "", "x", "x", "y"))
    counts = score_texts(TextScorer(PrismRef(context=2), _CountsContext()), named)
    assert counts.segments[0].tolist() == [0, 0, 0, 1, 0]
    with pytest.raises(PrismError, match="reads earlier segments of a document, and set xx-en names none"):
        score_texts(TextScorer(PrismRef(context=2), _CountsContext()), judgments)
