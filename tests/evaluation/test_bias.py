import math
from pathlib import Path

import numpy as np
import pytest
from judging import judged, opened

from prism_mt._core.errors import PrismError
from prism_mt.evaluation.bias import (
    Paraphrase,
    outputs_as_paraphrases,
    read_paraphrases,
    score_by_bleu,
    score_paraphrases,
    summarize,
    with_beams,
    with_copies,
)
from prism_mt.evaluation.judgments import Texts
from prism_mt.metrics.sacrebleu import Chrf

REFERENCE = "the quick brown fox jumps over the dog"
ITEMS = [
    Paraphrase(REFERENCE, REFERENCE, "copy", -0.3),
    Paraphrase(REFERENCE, "a fast fox leaps above some hound", "human", -2.0),
    Paraphrase(REFERENCE, "the quick brown fox jumps over a dog", "beam", -0.2),
    Paraphrase(REFERENCE, "the quick brown fox jumps over the cat", "beam", -0.4),
]


def test_summaries_per_kind() -> None:
    summaries = {summary.kind: summary for summary in summarize(ITEMS)}
    assert summaries["copy"].bleu == pytest.approx(100)
    assert summaries["beam"].score == pytest.approx(-0.3)
    assert (summaries["beam"].count, summaries["human"].score) == (2, -2.0)


def test_bins_hold_every_text_once_and_a_copy_is_in_the_last() -> None:
    bins = score_by_bleu(ITEMS)
    assert (len(bins), bins[0].low, bins[-1].high) == (10, 0, 100)
    assert sum(found.count for found in bins) == len(ITEMS)
    assert (bins[-1].count, bins[-1].score) == (1, -0.3)
    empty = next(found for found in bins if not found.count)
    assert math.isnan(empty.score)
    assert [found.count for found in score_by_bleu([])] == [0] * 10


def test_tables_of_both_forms(tmp_path: Path) -> None:
    long = tmp_path / "long.tsv"
    long.write_text("reference\thypothesis\tkind\tscore\na b\tb a\thuman\t-1.5\n", encoding="utf-8")
    assert read_paraphrases(long) == [Paraphrase("a b", "b a", "human", -1.5)]
    wide = tmp_path / "wide.tsv"
    wide.write_text("ref\tdeen-1\tbeam1\na b\tb a\ta c\n", encoding="utf-8")
    assert read_paraphrases(wide) == [Paraphrase("a b", "b a", "human"), Paraphrase("a b", "a c", "beam")]
    wide.write_text("text\tother\nx\ty\n", encoding="utf-8")
    with pytest.raises(PrismError, match="no column reference"):
        read_paraphrases(wide)


def test_beams_are_added_unless_the_table_has_them() -> None:
    items = [Paraphrase("a", "b", "human"), Paraphrase("a", "c", "human"), Paraphrase("d", "e", "human")]
    added = with_beams(items, lambda references: [text.upper() for text in references])
    assert added == [Paraphrase("a", "A", "beam"), Paraphrase("d", "D", "beam"), *items]
    assert with_beams(added, lambda references: ["other"] * len(references)) == added


def test_copies_are_added_once() -> None:
    humans = [Paraphrase("a", "b", "human"), Paraphrase("a", "c", "human")]
    assert [item.kind for item in with_copies(humans)] == ["human", "human", "copy"]
    assert with_copies(with_copies(humans)) == with_copies(humans)


def test_scoring_with_a_metric_and_without_scores() -> None:
    scored = score_paraphrases([Paraphrase(REFERENCE, REFERENCE, "copy")], opened(Chrf()).scorer)
    assert scored[0].score == 100.0
    with pytest.raises(PrismError, match="'copy' has no score"):
        summarize([Paraphrase("a", "a", "copy")])


def test_outputs_of_judged_systems_are_paraphrases() -> None:
    texts = Texts(("s", "t"), {"refA": ("one", None)}, {"A": ("a", "b"), "B": (None, "c"), "C": ("d", "e")})
    judgments = judged("t", "en-de", "ABC", "12", np.zeros((3, 2)), texts=texts)
    assert outputs_as_paraphrases(judgments, "refA") == [
        Paraphrase("one", "a", "system"),
        Paraphrase("one", "d", "system"),
    ]


@pytest.mark.parametrize("text", ["", "reference\thypothesis\tkind\n"])
def test_a_table_without_rows(tmp_path: Path, text: str) -> None:
    (tmp_path / "x.tsv").write_text(text)
    with pytest.raises(PrismError, match="has no paraphrases"):
        read_paraphrases(tmp_path / "x.tsv")
