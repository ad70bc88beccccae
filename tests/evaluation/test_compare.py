"""Ranks, wins, agreement, parts of the test set and scores of other tools, by hand."""

from pathlib import Path

import numpy as np
import pytest

from prism_mt._core.errors import PrismError
from prism_mt.evaluation.buckets import by_length, by_name, by_value
from prism_mt.evaluation.compare import Significance, agreements, compare_systems
from prism_mt.evaluation.external_scores import read_external_scores
from prism_mt.metrics.scores import MetricScores
from prism_mt.stats.arrays import row_means


def measured(rows: list[list[float]], lower: bool = False, metric: str = "m") -> MetricScores:
    matrix = np.array(rows)
    names = tuple("ABCDE"[: len(rows)])
    return MetricScores(metric, names, matrix, row_means(matrix), f"{metric}|made", lower)


GOOD, MIDDLE, BAD = [-1.0, -1.2] * 10, [-1.1, -1.1] * 10, [-3.0, -3.2] * 10


def test_ranks_share_what_cannot_be_told_apart() -> None:
    found = compare_systems(measured([BAD, GOOD, MIDDLE]), Significance())
    assert found.order == (1, 2, 0)
    assert found.ranks == (2, 1, 1)
    assert found.p[0, 1] == found.p[1, 0] == 1 / 1001
    assert found.p[1, 2] == 1.0
    assert found.metric.system_scores.tolist() == pytest.approx([-3.1, -1.1, -1.1])
    for own, score in zip(found.intervals, found.metric.system_scores, strict=True):
        assert (
            own.low - 1e-12 <= score <= own.high + 1e-12 < 0
        )  # the means of equal scores differ by their rounding


def test_errors_are_ranked_from_the_fewest() -> None:
    found = compare_systems(
        measured([[3.0, 4.0] * 10, [1.0, 1.5] * 10], lower=True), Significance("randomization", 500)
    )
    assert found.order == (1, 0)
    assert found.ranks == (2, 1)
    assert found.wins.tolist() == [[0, 0], [20, 0]]


def test_wins_and_ties() -> None:
    found = compare_systems(measured([[1.0, 2.0, 3.0, 4.0], [1.0 + 1e-8, 1.0, 4.0, 3.0]]), Significance(draws=40))
    assert found.wins.tolist() == [[0, 2], [1, 0]]
    assert found.ties(0, 1) == found.ties(1, 0) == 1


def test_noticeable_difference_is_that_of_the_paired_test() -> None:
    # Means of 100 differences of -1 or 1 have a standard deviation of 0.1.
    found = compare_systems(measured([[0.0] * 100, [1.0, -1.0] * 50]), Significance(draws=4000))
    assert found.noticeable == pytest.approx(0.196, rel=0.05)


def test_metrics_agree_whichever_way_they_count() -> None:
    rows = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]]
    errors = [[-value for value in row] for row in rows]
    [found] = agreements([measured(rows), measured(errors, lower=True, metric="e")])
    assert (found.first, found.second) == ("m", "e")
    assert found.segments == pytest.approx(1.0)
    assert found.systems == pytest.approx(1.0)
    [found] = agreements([measured(rows[:2]), measured(rows[:2])])
    assert np.isnan(found.systems)  # two points always lie on a line


def test_too_few_draws() -> None:
    with pytest.raises(PrismError, match="at least 40 draws, not 39"):
        Significance(draws=39)


def test_parts() -> None:
    lengths = by_length(["a" * length for length in (1, 2, 3, 4, 5, 6, 7, 8)])
    assert [(part.label, part.segments.tolist()) for part in lengths.parts] == [
        ("1 to 2", [0, 1]),
        ("3 to 4", [2, 3]),
        ("5 to 6", [4, 5]),
        ("7 to 8", [6, 7]),
    ]
    equal = by_value("v", np.array([1.0, 1.0, 1.0]), 1)
    assert [part.label for part in equal.parts] == ["1.0 to 1.0"]
    named = by_name("domain", ["news", "chat", "news"])
    assert [(part.label, part.segments.tolist()) for part in named.parts] == [("news", [0, 2]), ("chat", [1])]
    on_chat = measured([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]).on(named.parts[1].segments)
    assert on_chat.tolist() == [2.0, 5.0]


HEADER = "metric\tsystem\tsegment\tscore\n"
ROWS = "".join(
    f"{metric}\t{system}\t{segment}\t{value}\n"
    for metric in ("comet", "errors")
    for system, value in (("B", 0.5), ("A", 0.25), ("X", 9.0))
    for segment in (10, 2)
)


def test_scores_of_other_tools(tmp_path: Path) -> None:
    path = tmp_path / "scores.tsv"
    path.write_text(HEADER + ROWS.replace("A\t10\t0.25", "A\t10\t0.75"))
    comet, errors = read_external_scores(path, ["A", "B"], 2, ["errors"])
    assert comet.systems == ("A", "B")
    assert comet.segments.tolist() == [[0.25, 0.75], [0.5, 0.5]]  # segment 2 before segment 10
    assert comet.system_scores.tolist() == [0.5, 0.5]
    assert (comet.lower_is_better, errors.lower_is_better) == (False, True)


@pytest.mark.parametrize(
    ("text", "systems", "count", "message"),
    [
        (HEADER + ROWS, ["A", "C"], 2, "no scores of C, only of B, A, X; name systems as the file does"),
        (HEADER + ROWS, ["A"], 3, "scores of 2 segments, but there are 3"),
        (HEADER + ROWS + "comet\tA\t11\t1\n", ["A", "B"], 3, "no score of segment 3 of B"),
    ],
)
def test_scores_that_do_not_fit(tmp_path: Path, text: str, systems: list[str], count: int, message: str) -> None:
    path = tmp_path / "scores.tsv"
    path.write_text(text)
    with pytest.raises(PrismError, match=message):
        read_external_scores(path, systems, count)
