"""Pairs of outputs from the ratings of single raters."""

import json
from pathlib import Path

import numpy as np
import pytest

from prism_mt._core.errors import PrismError
from prism_mt.evaluation.judgments import Judgments, Texts
from prism_mt.evaluation.overlap import warn_of_overlap
from prism_mt.evaluation.ranking_pairs import (
    RankedSegment,
    count_pairs,
    rank_segments,
    read_ranked,
    segment_keys,
    split_off,
    within_length,
    write_ranked,
)
from prism_mt.evaluation.ratings import RatedSegment, Reading, read_ratings
from prism_mt.evaluation.readers import read_judgments
from prism_mt.models.resolve import open_model

PUBLISHED = {
    ("en-de", 5.0): (1411, 126_217),
    ("zh-en", 5.0): (1985, 164_137),
    ("en-de", 25.0): (1411, 126_306),
    ("zh-en", 25.0): (1985, 164_089),
}


@pytest.mark.parametrize(("lp", "non_translation"), list(PUBLISHED))
def test_published_counts(data: Path, lp: str, non_translation: float) -> None:
    rated = read_ratings(data / f"wmt20_mqm_{lp}.jsonl.xz", Reading(non_translation=non_translation))
    ranked = rank_segments(rated)
    assert (len(ranked), count_pairs(ranked)) == PUBLISHED[lp, non_translation]


def test_the_embedded_models_know_what_they_learnt_from(data: Path) -> None:
    learnt = open_model("mini-ft").judged
    for lp in ("en-de", "zh-en"):
        rated = read_ratings(data / f"wmt20_mqm_{lp}.jsonl.xz")
        keys = segment_keys(rank_segments(rated, humans=False))
        assert keys <= learnt
    assert not open_model("mini").judged


def rated(**ratings: dict[str, float]) -> RatedSegment:
    outputs = {system: f"output {system}" for scores in ratings.values() for system in scores}
    return RatedSegment("en-de", "1", "file, line 1", "source", {"ref": "reference"}, outputs, ratings)


def test_raters_are_not_compared_with_each_other() -> None:
    [ranked] = rank_segments([rated(anna={"A": 0.0, "B": -1.0}, otto={"B": 0.0, "C": -5.0, "A": -0.05})])
    assert ranked.outputs == ("output A", "output B", "output C")
    # Anna: A before B. Otto: B and A before C; B and A are too close for him.
    assert sorted(ranked.pairs) == [(0, 1), (0, 2), (1, 2)]
    assert ranked.scores == pytest.approx((-0.025, -0.5, -5.0))


def test_opposite_raters_make_opposite_pairs() -> None:
    [ranked] = rank_segments([rated(anna={"A": 0.0, "B": -1.0}, otto={"A": -1.0, "B": 0.0})])
    assert ranked.pairs == ((0, 1), (1, 0))


def test_human_translations_may_be_left_out() -> None:
    ratings = {"anna": {"A": 0.0, "Human-B.0": -1.0, "B": -5.0}, "otto": {"ref-C": 0.0, "A": -1.0}}
    assert [count_pairs(rank_segments([rated(**ratings)], humans=humans)) for humans in (True, False)] == [4, 1]
    [ranked] = rank_segments([rated(**ratings)], humans=False)
    assert (ranked.outputs, ranked.scores, ranked.pairs) == (("output A", "output B"), (-0.5, -5.0), ((0, 1),))
    with pytest.raises(PrismError, match="no pairs are left"):
        rank_segments([rated(otto=ratings["otto"])], humans=False)


@pytest.mark.parametrize(
    ("ratings", "reference", "message"),
    [
        ({"anna": {"A": 0.0, "B": -0.05}}, None, "no pairs are left"),
        ({"anna": {"A": 0.0, "B": -5.0}, "otto": {"A": 0.0}}, None, "line 1: rater otto rated a single output"),
        ({"anna": {"A": 0.0, "B": -5.0}}, "ref-B", "no reference ref-B, only ref: name one with --reference"),
    ],
)
def test_mistakes(ratings: dict[str, dict[str, float]], reference: str | None, message: str) -> None:
    with pytest.raises(PrismError, match=message):
        rank_segments([rated(**ratings)], reference=reference)


def ranked(lp: str, number: int, outputs: tuple[str, ...] = ("good", "bad", "worse")) -> RankedSegment:
    scores = tuple(float(-place) for place in range(len(outputs)))
    return RankedSegment(lp, str(number), "source", "reference", outputs, scores, ((0, 1), (0, 2), (1, 2)))


def test_whole_segments_are_held_out_from_the_end_of_each_language_pair() -> None:
    segments = [ranked(lp, number) for number in range(4) for lp in ("en-de", "zh-en")]
    train, valid = split_off(segments, 4)
    assert [(segment.lp, segment.segment) for segment in valid] == [
        *(("en-de", "2"), ("zh-en", "2"), ("en-de", "3"), ("zh-en", "3")),
    ]
    assert len(train) == 4
    with pytest.raises(PrismError, match="en-de has only 12 pairs, and 100 are to be held out"):
        split_off(segments, 100)


def test_empty_and_long_outputs_take_their_pairs_with_them(caplog: pytest.LogCaptureFixture) -> None:
    segments = [ranked("en-de", 1, ("good", "", "worse")), ranked("en-de", 2, ("x" * 30, "x" * 30, "worse"))]
    [kept] = within_length(segments, len, 20)
    assert (kept.outputs, kept.scores, kept.pairs) == (("good", "worse"), (0.0, -2.0), ((0, 1),))
    assert "5 of 6 pairs" in caplog.text
    with pytest.raises(PrismError, match="no pairs are left"):
        within_length(segments, len, 3)


def test_files(tmp_path: Path) -> None:
    segments = [ranked("en-de", 1), ranked("zh-en", 2)]
    write_ranked(tmp_path / "pairs.jsonl", segments)
    assert read_ranked(tmp_path / "pairs.jsonl") == segments
    record = json.loads((tmp_path / "pairs.jsonl").read_text(encoding="utf-8").splitlines()[0])
    (tmp_path / "bad.jsonl").write_text(json.dumps({**record, "pairs": [[0, 3]]}) + "\n", encoding="utf-8")
    with pytest.raises(PrismError, match="line 1: its scores or pairs do not fit its 3 outputs"):
        read_ranked(tmp_path / "bad.jsonl")

    (tmp_path / "bad.jsonl").write_text(json.dumps({**record, "pairs": []}) + "\n", encoding="utf-8")
    with pytest.raises(PrismError, match="line 1: no pairs"):
        read_ranked(tmp_path / "bad.jsonl")


def test_warns_of_a_test_set_among_the_pairs(caplog: pytest.LogCaptureFixture) -> None:
    texts = Texts(("another", ranked("en-de", 1).src), {}, {})
    judgments = Judgments("wmt", "en-de", ("A",), ("1", "2"), np.zeros((1, 2)), texts=texts)
    warn_of_overlap(segment_keys([ranked("zh-en", 1)]), judgments, "a model")
    assert not caplog.text
    warn_of_overlap(segment_keys([ranked("en-de", 1)]), judgments, "a model")
    assert "a model learns from 1 of the 2 segments of wmt en-de" in caplog.text


def test_google_ratings_add_up_and_lose_their_marks(tmp_path: Path) -> None:
    path = tmp_path / "mqm_en-de.tsv"
    columns = "system doc seg_id rater source target category severity".replace(" ", "\t")
    rows = [
        *("A d 7 anna The+<v>cat</v> Die+Katze Accuracy/Mistranslation Major",),
        *("A d 7 anna The+cat Die+<v>Katze</v> Fluency/Punctuation Minor",),
        *("B d 7 anna The+cat Der+Kater No-error no-error",),
        *("Human-A.0 d 7 anna The+cat Eine+Katze Non-translation! Major",),
    ]
    path.write_text("\n".join([columns, *(row.replace(" ", "\t").replace("+", " ") for row in rows)]) + "\n")
    [segment] = read_ratings(path)
    assert segment.ratings == {"anna": {"A": pytest.approx(-5.1), "B": 0.0, "Human-A.0": -25.0}}
    assert segment.outputs["A"] == "Die Katze"
    assert segment.references == {"Human-A.0": "Eine Katze"}
    assert read_ratings(path, Reading(non_translation=5.0))[0].ratings["anna"]["Human-A.0"] == -5.0


def test_direct_assessment_with_raters(tmp_path: Path) -> None:
    path = tmp_path / "da.tsv"
    head = "lp\tsegment\tsystem\trater\tscore\tsrc\tref\thyp\n"
    lines = [
        f"en-de\t1\t{system}\tanna\t{score}\tcat\tKatze\t{system}\n" for system, score in (("A", 80), ("B", 40))
    ]
    path.write_text(head + "".join(lines), encoding="utf-8")
    [segment] = rank_segments(read_ratings(path), minimum=25)
    assert (segment.ref, segment.outputs, segment.pairs) == ("Katze", ("A", "B"), ((0, 1),))
    path.write_text(head + lines[0] * 2, encoding="utf-8")
    with pytest.raises(PrismError, match="line 3: rater anna has rated this output of A before"):
        read_ratings(path)


def test_unknown_severities_point_to_the_given_scores(tmp_path: Path) -> None:
    path = tmp_path / "mqm_en-ru.jsonl"
    rating = {"anna": {"score": -10.0, "errors": [["Accuracy", "critical"]]}}
    path.write_text(json.dumps({"seg_id": 1, "src": "s", "sys": {"A": "a"}, "mqm": {"A": rating}}) + "\n")
    with pytest.raises(PrismError, match="A, anna: unknown severity 'critical'.*--given-scores"):
        read_ratings(path)
    assert read_ratings(path, Reading(given_scores=True))[0].ratings == {"anna": {"A": -10.0}}


@pytest.mark.parametrize(
    ("mqm", "message"),
    [
        ({"A": -1.0}, "'A' must be an object"),
        ({"A": {"anna": -1.0}}, "A, anna: a rating must be an object with a score or a list of errors"),
        ({"A": {"anna": {"errors": None}}}, "A, anna: errors must be a list"),
        ({"A": {"anna": {"errors": [["Style", "Minor", "x"]]}}}, r"an error is \[category, severity\]"),
        ({"A": {"anna": {"errors": [{"severity": "Minor"}]}}}, r"an error is \[category, severity\]"),
    ],
)
def test_ratings_of_another_shape(tmp_path: Path, mqm: object, message: str) -> None:
    path = tmp_path / "mqm_en-de.jsonl"
    path.write_text(json.dumps({"seg_id": 1, "src": "s", "sys": {"A": "a"}, "mqm": mqm}) + "\n")
    with pytest.raises(PrismError, match=f"line 1: {message}|line 1: A, anna: {message}"):
        read_ratings(path)


def test_errors_may_be_objects(tmp_path: Path) -> None:
    path = tmp_path / "mqm_en-de.jsonl"
    errors = [{"category": "Style", "severity": "Minor", "start": 3}]
    path.write_text(
        json.dumps({"seg_id": 1, "src": "s", "sys": {"A": "a"}, "mqm": {"A": {"r": {"errors": errors}}}})
    )
    assert read_ratings(path)[0].ratings == {"r": {"A": -1.0}}
    [judgments] = read_judgments(path)
    assert judgments.scores.tolist() == [[-1.0]]


def test_a_single_rating_is_named_by_its_own_line(tmp_path: Path) -> None:
    path = tmp_path / "da.tsv"
    raters = (("A", "anna"), ("B", "anna"), ("A", "otto"))
    lines = [f"en-de\t1\t{system}\t{rater}\t5\tcat\tKatze\t{system}" for system, rater in raters]
    path.write_text("\n".join(["lp\tsegment\tsystem\trater\tscore\tsrc\tref\thyp", *lines]), encoding="utf-8")
    with pytest.raises(PrismError, match="line 4: rater otto rated a single output"):
        rank_segments(read_ratings(path))
