"""Every format in a small example, and what is said about broken ones."""

import gzip
import json
import math
from pathlib import Path

import numpy as np
import pytest
from judging import write_rows

from prism_mt._core.errors import PrismError
from prism_mt.evaluation.judgments import is_human
from prism_mt.evaluation.readers import FORMATS, read_all_judgments, read_judgments
from prism_mt.evaluation.readers.families import read_families

NAN = math.nan


def test_own_table_with_texts(tmp_path: Path) -> None:
    path = write_rows(
        tmp_path / "own.tsv",
        "lp\tsystem\tsegment\tscore\tsrc\tref\thyp",
        "en-de\tA\t1\t0.5\tone\teins\tein",
        "en-de\tB\t1\tNone\tone\teins\tzwei",
        "en-de\tA\t2\t-1\ttwo\tzwei\tzwo",
        "en-de\tA\t2\t-2\ttwo\tzwei\tzwo",
    )
    judgments = read_judgments(path)
    assert (judgments.name, judgments.testset, judgments.pair) == ("own", "", "en-de")
    assert (judgments.systems, judgments.segments) == (("A", "B"), ("1", "2"))
    # Two judgments of one output are averaged; a missing one is NaN.
    np.testing.assert_array_equal(judgments.scores, [[0.5, -1.5], [NAN, NAN]])
    assert judgments.texts is not None
    assert judgments.texts.sources == ("one", "two")
    assert judgments.texts.references == {"ref": ("eins", "zwei")}
    assert judgments.texts.outputs == {"A": ("ein", "zwo"), "B": ("zwei", None)}


def test_table_without_segments_is_about_systems(tmp_path: Path) -> None:
    judgments = read_judgments(
        write_rows(tmp_path / "sys.tsv", "lp\tsystem\tda_z", "de-en\tA\t0.1", "de-en\tB\t-0.2")
    )
    assert judgments.system_scores is not None
    np.testing.assert_array_equal(judgments.system_means(), [0.1, -0.2])
    assert judgments.scores.shape == (2, 0)


def test_column_of_scores_can_be_chosen_and_pairs_filtered(tmp_path: Path) -> None:
    path = tmp_path / "da.tsv.gz"
    with gzip.open(path, "wt", encoding="utf-8") as handle:
        handle.write("lp\tsystem\tsid\traw\tz\nde-en\tA\t1\t90\t0.5\nru-en\tA\t1\t80\t0.4\n")
    assert read_judgments(path, pair="ru-en").scores.tolist() == [[0.4]]
    assert read_judgments(path, pair="ru-en", human_score="raw").scores.tolist() == [[80.0]]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (["lp\tsystem\tsid\tscore", "de-en\tA\t1"], "line 2: 3 columns under a header of 4"),
        (["lp\tsystem\tsid\tscore", "de-en\tA\t1\thigh"], "line 2: 'high' is not a number"),
        (["lp\tsystem\tsid\tgrade", "de-en\tA\t1\t3"], "no score column one of score, human"),
        (["system\tsid\tscore", "A\t1\t3"], "unknown language pair"),
        (["lp\tsystem\tsid\tscore"], "has no judgments"),
        ([], "is empty"),
        (["lp\tsystem\tsid\tscore", "de-en\tA\t1\tinf"], "a score is infinite"),
    ],
)
def test_broken_tables_are_named(tmp_path: Path, rows: list[str], message: str) -> None:
    with pytest.raises(PrismError, match=message):
        read_judgments(write_rows(tmp_path / "broken.tsv", *rows))


def test_preferences_in_a_table_collapse_duplicates(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "rr.tsv", "lp\tsid\tbetter\tworse", *["lt-en\t7\tA\tB"] * 2, "lt-en\t7\tB\tC")
    preferences = read_judgments(path).preferences
    assert preferences is not None
    assert (preferences.segment.tolist(), preferences.better.tolist(), preferences.worse.tolist()) == (
        [0, 0],
        [0, 1],
        [1, 2],
    )


@pytest.mark.parametrize(
    ("header", "name"), [("LP DATA SID BETTER WORSE", "RR-seglevel.csv"), ("LP SID BETTER WORSE", "wmt18.csv")]
)
def test_shared_task_preferences_even_with_wmt18s_header(tmp_path: Path, header: str, name: str) -> None:
    judgments = read_judgments(write_rows(tmp_path / name, header, "cs-en newstest2018 3 A.1 B.0"))
    assert (judgments.testset, judgments.pair, judgments.systems) == ("newstest2018", "cs-en", ("A.1", "B.0"))
    assert judgments.preferences is not None
    assert len(judgments.preferences) == 1


def test_shared_task_da(tmp_path: Path) -> None:
    seg = read_judgments(
        write_rows(tmp_path / "DA-seglevel.csv", "LP DATA SYSTEM SID HUMAN", "cs-en newstest2017 A 3 0.25")
    )
    assert (seg.segments, seg.scores.tolist()) == (("3",), [[0.25]])
    sys = read_judgments(write_rows(tmp_path / "DA-syslevel.csv", "LP SYSTEM HUMAN", "cs-en A 0.5"))
    assert sys.system_means().tolist() == [0.5]
    with pytest.raises(PrismError, match="needs SYSTEM and HUMAN"):
        read_judgments(write_rows(tmp_path / "x.csv", "LP SYSTEM SCORE", "cs-en A 0.5"))


def test_mqm_segments_average_raters_and_know_references(tmp_path: Path) -> None:
    record = {
        "seg_id": 4,
        "src": "one",
        "sys": {"A": "eins", "ref-A": "ein"},
        "mqm": {
            "A": {"r1": {"score": -0.1, "errors": []}, "r2": {"score": -5.0}, "r3": {"score": -1.0}},
            "ref-A": {"r1": {"score": 0.0}},
        },
        "mqm_avg": {},
    }
    judgments = read_judgments(write_rows(tmp_path / "mqm_en-de.jsonl", json.dumps(record)))
    assert judgments.pair == "en-de"
    assert judgments.scores[0, 0] == pytest.approx(-6.1 / 3, abs=1e-8)
    assert judgments.texts is not None
    assert judgments.texts.references == {"ref-A": ("ein",)}
    assert judgments.without_humans().systems == ("A",)


def test_means_of_the_same_numbers_in_another_order_are_equal(tmp_path: Path) -> None:
    def ratings(*scores: float) -> dict[str, dict[str, float]]:
        return {f"r{index}": {"score": score} for index, score in enumerate(scores)}

    record = {"sid": 1, "lp": "en-de", "mqm": {"A": ratings(-0.1, -0.2, -5), "B": ratings(-5, -0.2, -0.1)}}
    scores = read_judgments(write_rows(tmp_path / "x.jsonl", json.dumps(record))).scores
    assert scores[0, 0] == scores[1, 0]


def test_jsonl_mistakes(tmp_path: Path) -> None:
    with pytest.raises(PrismError, match="line 1: not valid JSON"):
        read_judgments(write_rows(tmp_path / "a_en-de.jsonl", "{"))
    with pytest.raises(PrismError, match="line 1: no segment number"):
        read_judgments(write_rows(tmp_path / "b_en-de.jsonl", "{}"))
    with pytest.raises(PrismError, match="'sys' must be an object"):
        read_judgments(write_rows(tmp_path / "c_en-de.jsonl", '{"sid": 1, "sys": ["x"]}'))


def test_agreement_bits(tmp_path: Path) -> None:
    path = write_rows(
        tmp_path / "agree.tsv",
        "#cs-en\tmetrics\tBLEU prism",
        "cs-en\td::1\tA\tB\t01",
        "cs-en\td::2\tB\tA\t11",
        "#zh-en\tmetrics",
        "zh-en\td::1\tA\tB",
    )
    first, second = read_all_judgments([path])
    assert first.preferences is not None
    assert {name: bits.tolist() for name, bits in first.preferences.agreements.items()} == {
        "BLEU": [-1, 1],
        "prism": [1, 1],
    }
    assert second.preferences is not None
    assert second.preferences.agreements == {}
    with pytest.raises(PrismError, match="line 2: 3 bits for 2 metrics"):
        read_judgments(write_rows(path, "#cs-en\tmetrics\tBLEU prism", "cs-en\td::1\tA\tB\t011"))
    with pytest.raises(PrismError, match="line 2: a bit is 1 if a metric agrees"):
        read_judgments(write_rows(path, "#cs-en\tmetrics\tBLEU prism", "cs-en\td::1\tA\tB\t0x"))


def test_directory_of_mt_metrics_eval(tmp_path: Path) -> None:
    for folder in ("human-scores", "sources", "references", "system-outputs/en-de"):
        (tmp_path / folder).mkdir(parents=True)
    write_rows(tmp_path / "sources/en-de.txt", "one", "two")
    write_rows(tmp_path / "references/en-de.refA.txt", "eins", "zwei")
    write_rows(tmp_path / "system-outputs/en-de/A.txt", "ein", "zwo")
    write_rows(tmp_path / "human-scores/en-de.mqm.seg.score", "A\t-1", "A\tNone")
    write_rows(tmp_path / "human-scores/en-de.mqm.sys.score", "A\t-1.5")
    (tmp_path / "documents").mkdir()
    write_rows(tmp_path / "documents/en-de.docs", "news d1", "speech d2")
    judgments = read_judgments(tmp_path)
    assert (judgments.documents, judgments.domains) == (("d1", "d2"), ("news", "speech"))
    # The directory's name is no more than a file's.
    assert (judgments.name, judgments.testset) == (tmp_path.name, "")
    np.testing.assert_array_equal(judgments.scores, [[-1.0, NAN]])
    assert judgments.system_means().tolist() == [-1.5]
    assert judgments.texts is not None
    assert judgments.texts.references == {"refA": ("eins", "zwei")}
    write_rows(tmp_path / "human-scores/en-de.wmt.seg.score", "A\t1", "A\t2")
    with pytest.raises(PrismError, match="choose one of the human scores with `human_score=`: mqm, wmt"):
        read_judgments(tmp_path)
    assert read_judgments(tmp_path, human_score="wmt").scores.tolist() == [[1.0, 2.0]]
    with pytest.raises(PrismError, match="not a directory of mt-metrics-eval"):
        read_judgments(tmp_path / "sources")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Human-A.0", True),
        ("ref-C", True),
        ("refB", True),
        ("refb", True),
        ("HUMAN", True),
        ("ref", True),
        ("online-A.0", False),
        ("Referee", False),
        ("HumanLike.12", False),
    ],
)
def test_names_of_human_translations(name: str, expected: bool) -> None:
    assert is_human(name) is expected


def test_raters_are_kept_and_averaged(tmp_path: Path) -> None:
    rows = ["en-de\tA\t1\tanna\t80", "en-de\tA\t1\totto\t60", "en-de\tB\t1\tanna\t10"]
    judgments = read_judgments(write_rows(tmp_path / "da.tsv", "lp\tsystem\tsegment\trater\tscore", *rows))
    assert judgments.ratings.raters == ("anna", "otto")
    assert list(judgments.ratings.rows()) == [(0, 0, 0, 80.0), (1, 0, 0, 60.0), (0, 1, 0, 10.0)]
    assert judgments.scores.tolist() == [[70.0], [10.0]]


def test_preferred_human_scores_are_taken_where_there_are_some(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "x.tsv", "lp\tsystem\tsid\traw\tz", "de-en\tA\t1\t90\t0.5")
    assert read_judgments(path, prefer=("mqm", "raw")).scores.tolist() == [[90.0]]
    assert read_judgments(path, prefer=("mqm",)).scores.tolist() == [[0.5]]


def test_one_of_several_pairs_must_be_chosen(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "x.tsv", "lp\tsystem\tsid\tz", "de-en\tA\t1\t1", "ru-en\tA\t1\t2")
    with pytest.raises(PrismError, match=r"several sets of judgments \(x de-en, x ru-en\)"):
        read_judgments(path)
    assert [judgments.pair for judgments in read_all_judgments([path])] == ["de-en", "ru-en"]
    assert [judgments.pair for judgments in read_all_judgments([path], pairs=("ru-en",))] == ["ru-en"]
    with pytest.raises(PrismError, match="has no judgments of fr-en"):
        read_judgments(path, pair="fr-en")


def test_the_data_and_not_the_file_names_test_set_documents_and_standard_reference(tmp_path: Path) -> None:
    record = {"sid": 1, "lp": "en-de", "src": "s", "sys": {"A": "a", "refA": "x", "refB": "y"}, "scores": {"A": 1}}
    plain = read_judgments(write_rows(tmp_path / "wmt21.news.jsonl", json.dumps(record)))
    assert (plain.name, plain.testset, plain.standard_reference, plain.documents) == ("wmt21", "", None, ())
    record |= {"testset": "wmt21.news", "doc": "d7", "domain": "news", "standard_reference": "refB"}
    named = read_judgments(write_rows(tmp_path / "other.jsonl", json.dumps(record)))
    assert (named.name, named.testset, named.standard_reference) == ("wmt21.news", "wmt21.news", "refB")
    assert (named.documents, named.domains) == (("d7",), ("news",))


def test_every_format_has_a_name_and_is_recognized_once() -> None:
    names = [one.name for one in FORMATS]
    assert len(set(names)) == len(names)
    assert FORMATS[-1].recognize(Path("anything"), "")


def test_families(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "families.tsv", "A\tone", "B\tone")
    assert read_families(path) == {"A": "one", "B": "one"}
    with pytest.raises(PrismError, match="line 1: expected a system and its family"):
        read_families(write_rows(path, "A one"))
    with pytest.raises(PrismError, match="line 2: A is in two families"):
        read_families(write_rows(path, "A\tone", "A\ttwo"))
