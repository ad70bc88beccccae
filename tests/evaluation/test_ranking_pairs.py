"""Pairs of outputs from the ratings of single raters."""

import json
from pathlib import Path

import numpy as np
import pytest
from judging import judged
from metaeval_data import Read

from prism_mt._core.errors import PrismError
from prism_mt.evaluation.judgments import Judgments, Texts
from prism_mt.evaluation.mqm import score_from_errors
from prism_mt.evaluation.overlap import segment_key, warn_of_overlap
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
from prism_mt.evaluation.ratings import Error, Ratings
from prism_mt.evaluation.readers import read_judgments
from prism_mt.models.resolve import open_model

EXAMPLE = Path(__file__).parents[2] / "examples" / "wmt21-en-de" / "judgments.jsonl"
PUBLISHED = {
    ("en-de", 5.0): (1411, 126_217),
    ("zh-en", 5.0): (1985, 164_137),
    ("en-de", 25.0): (1411, 126_306),
    ("zh-en", 25.0): (1985, 164_089),
}


@pytest.mark.parametrize(("lp", "non_translation"), list(PUBLISHED))
def test_published_counts(read: Read, lp: str, non_translation: float) -> None:
    judgments = score_from_errors(read(f"wmt20_mqm_{lp}.jsonl.xz")[lp], non_translation)
    ranked = rank_segments(judgments, reference="Human-A.0")
    assert (len(ranked), count_pairs(ranked)) == PUBLISHED[lp, non_translation]


def test_the_embedded_model_names_the_judged_segments_that_it_has_seen() -> None:
    """They are of WMT20; those of WMT21, as in the bundled example, must stay good for tests."""
    seen = open_model("mini").judged
    assert len(seen) == 3020
    example = read_judgments(EXAMPLE, pair="en-de").texts
    assert example is not None
    assert not {segment_key("en-de", source) for source in example.sources if source} & seen


def rated(**given: dict[str, float]) -> Judgments:
    systems = list(dict.fromkeys(system for scores in given.values() for system in scores))
    rows = [
        (rater, systems.index(system), score)
        for rater, scores in enumerate(given.values())
        for system, score in scores.items()
    ]
    ratings = Ratings(
        tuple(given),
        np.array([row[0] for row in rows]),
        np.array([row[1] for row in rows]),
        np.zeros(len(rows), dtype=np.int64),
        np.array([row[2] for row in rows]),
    )
    texts = Texts(("source",), {"ref": ("reference",)}, {system: (f"output {system}",) for system in systems})
    return Judgments("file", "en-de", tuple(systems), ("1",), ratings, texts=texts)


def test_raters_are_not_compared_with_each_other() -> None:
    [ranked] = rank_segments(rated(anna={"A": 0.0, "B": -1.0}, otto={"B": 0.0, "C": -5.0, "A": -0.05}))
    assert ranked.outputs == ("output A", "output B", "output C")
    # Anna: A before B. Otto: B and A before C; B and A are too close for him.
    assert sorted(ranked.pairs) == [(0, 1), (0, 2), (1, 2)]
    assert ranked.scores == pytest.approx((-0.025, -0.5, -5.0))


def test_opposite_raters_make_opposite_pairs() -> None:
    [ranked] = rank_segments(rated(anna={"A": 0.0, "B": -1.0}, otto={"A": -1.0, "B": 0.0}))
    assert ranked.pairs == ((0, 1), (1, 0))


def test_human_translations_may_be_left_out() -> None:
    ratings = {"anna": {"A": 0.0, "Human-B.0": -1.0, "B": -5.0}, "otto": {"ref-C": 0.0, "A": -1.0}}
    assert [count_pairs(rank_segments(rated(**ratings), humans=humans)) for humans in (True, False)] == [4, 1]
    [ranked] = rank_segments(rated(**ratings), humans=False)
    assert (ranked.outputs, ranked.scores, ranked.pairs) == (("output A", "output B"), (-0.5, -5.0), ((0, 1),))
    with pytest.raises(PrismError, match="no pairs are left"):
        rank_segments(rated(otto=ratings["otto"]), humans=False)


@pytest.mark.parametrize(
    ("ratings", "reference", "message"),
    [
        ({"anna": {"A": 0.0, "B": -0.05}}, None, "no pairs are left"),
        (
            {"anna": {"A": 0.0, "B": -5.0}, "otto": {"A": 0.0}},
            None,
            "rater otto rated a single output, segment 1 of A",
        ),
        ({"anna": {"A": 0.0, "B": -5.0}}, "ref-B", "no reference 'ref-B'; it has ref"),
    ],
)
def test_mistakes(ratings: dict[str, dict[str, float]], reference: str | None, message: str) -> None:
    with pytest.raises(PrismError, match=message):
        rank_segments(rated(**ratings), reference=reference)


def ranked(lp: str, number: int, outputs: tuple[str, ...] = ("good", "bad", "worse")) -> RankedSegment:
    scores = tuple(float(-place) for place in range(len(outputs)))
    return RankedSegment(lp, str(number), "source", "reference", outputs, scores, ((0, 1), (0, 2), (1, 2)))


def test_whole_segments_are_held_out_from_the_end_of_each_language_pair() -> None:
    segments = [ranked(lp, number) for number in range(4) for lp in ("en-de", "zh-en")]
    train, valid = split_off(segments, 4, whole_segments=True)
    assert [(segment.lp, segment.segment) for segment in valid] == [
        *(("en-de", "2"), ("zh-en", "2"), ("en-de", "3"), ("zh-en", "3")),
    ]
    assert len(train) == 4
    with pytest.raises(PrismError, match="en-de has only 12 pairs, but 100 are to be held out"):
        split_off(segments, 100)


def test_exactly_so_many_pairs_are_held_out() -> None:
    segments = [ranked(lp, number) for number in range(4) for lp in ("en-de", "zh-en")]
    train, valid = split_off(segments, 4)
    assert [(segment.lp, segment.segment, len(segment.pairs)) for segment in valid] == [
        *(("en-de", "2", 1), ("zh-en", "2", 1), ("en-de", "3", 3), ("zh-en", "3", 3)),
    ]
    # The last pair of segment 2, of its second and third output.
    assert (valid[0].outputs, valid[0].pairs) == (("bad", "worse"), ((0, 1),))
    assert [len(segment.pairs) for segment in train] == [3, 3, 3, 3, 2, 2]
    assert count_pairs(train) + count_pairs(valid) == count_pairs(segments)
    assert split_off(segments, 0) == (segments, [])


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
    with pytest.raises(PrismError, match="line 1: its scores or pairs do not match its 3 outputs"):
        read_ranked(tmp_path / "bad.jsonl")

    (tmp_path / "bad.jsonl").write_text(json.dumps({**record, "pairs": []}) + "\n", encoding="utf-8")
    with pytest.raises(PrismError, match="line 1: no pairs"):
        read_ranked(tmp_path / "bad.jsonl")


def test_warns_of_a_test_set_among_the_pairs(caplog: pytest.LogCaptureFixture) -> None:
    texts = Texts(("another", ranked("en-de", 1).src), {}, {})
    judgments = judged("wmt", "en-de", ("A",), ("1", "2"), np.zeros((1, 2)), texts=texts)
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
    [segment] = rank_segments(read_judgments(path))
    assert segment.outputs == ("Die Katze", "Der Kater", "Eine Katze")
    assert segment.scores == pytest.approx((-5.1, 0.0, -25.0))
    assert segment.ref == "Eine Katze"
    [segment] = rank_segments(score_from_errors(read_judgments(path), 5.0))
    assert segment.scores == pytest.approx((-5.1, 0.0, -5.0))


def test_direct_assessment_with_raters(tmp_path: Path) -> None:
    path = tmp_path / "da.tsv"
    head = "lp\tsegment\tsystem\trater\tscore\tsrc\tref\thyp\n"
    lines = [
        f"en-de\t1\t{system}\tanna\t{score}\tcat\tKatze\t{system}\n" for system, score in (("A", 80), ("B", 40))
    ]
    path.write_text(head + "".join(lines), encoding="utf-8")
    [segment] = rank_segments(read_judgments(path), minimum=25)
    assert (segment.ref, segment.outputs, segment.pairs) == ("Katze", ("A", "B"), ((0, 1),))
    path.write_text(head + "".join([*lines, lines[0]]), encoding="utf-8")
    with pytest.raises(PrismError, match="rater anna has rated segment 1 of A twice"):
        rank_segments(read_judgments(path))


def mqm_file(path: Path, mqm: object) -> Path:
    record = {"seg_id": 1, "src": "s", "ref": "r", "sys": {"A": "a", "B": "b"}, "mqm": mqm}
    path.write_text(json.dumps(record) + "\n", encoding="utf-8")
    return path


def test_unknown_severities_point_to_the_given_scores(tmp_path: Path) -> None:
    mqm = {
        "A": {"anna": {"score": -10.0, "errors": [["Accuracy", "critical"]]}},
        "B": {"anna": {"score": 0.0, "errors": []}},
    }
    judgments = read_judgments(mqm_file(tmp_path / "mqm_en-ru.jsonl", mqm))
    with pytest.raises(PrismError, match="segment 1 of A: unknown severity 'critical'.*given_scores="):
        score_from_errors(judgments)
    [segment] = rank_segments(judgments)
    assert (segment.scores, segment.pairs) == ((-10.0, 0.0), ((1, 0),))
    del mqm["A"]["anna"]["score"]
    with pytest.raises(PrismError, match="line 1: A, anna: unknown severity 'critical'"):
        read_judgments(mqm_file(tmp_path / "mqm_en-ru.jsonl", mqm))


@pytest.mark.parametrize(
    ("mqm", "message"),
    [
        ({"A": -1.0}, "'A' must be an object"),
        ({"A": {"anna": -1.0}}, "A, anna: a rating must be an object with a score or a list of errors"),
        ({"A": {"anna": {"errors": None}}}, "A, anna: errors must be a list"),
        ({"A": {"anna": {"errors": [["Style", "Minor", "x"]]}}}, r"A, anna: an error is \[category, severity\]"),
        ({"A": {"anna": {"errors": [{"severity": "Minor"}]}}}, r"A, anna: an error is \[category, severity\]"),
    ],
)
def test_ratings_of_another_shape(tmp_path: Path, mqm: object, message: str) -> None:
    with pytest.raises(PrismError, match=f"line 1: {message}"):
        read_judgments(mqm_file(tmp_path / "mqm_en-de.jsonl", mqm))


def test_errors_may_be_objects_with_spans(tmp_path: Path) -> None:
    errors = [{"category": "Style", "severity": "Minor", "start": 3, "end": 5}]
    judgments = read_judgments(mqm_file(tmp_path / "mqm_en-de.jsonl", {"A": {"r": {"errors": errors}}}))
    assert judgments.scores.tolist() == [[-1.0]]
    assert judgments.ratings.errors == ((Error("Style", "Minor", (3, 5)),),)
