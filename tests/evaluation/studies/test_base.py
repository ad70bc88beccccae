"""Verdicts: equal as printed, within the tolerance, different, not run."""

import dataclasses
import math

import pytest

from prism_mt.evaluation.studies.base import ComparedCell, Study, StudyResult, Verdict, compare_cells
from prism_mt.evaluation.studies.published import PublishedTable

TABLE = PublishedTable(
    "paper/table",
    "title",
    ["a", "b"],
    3,
    0.002,
    {"n": [5.0, 6.0], "BLEU": [0.891, ""], "Prism": [0.5, 0.6]},
    counts=["n"],
    unavailable="scores",
    needs={"Prism": "model"},
)


def result(table: PublishedTable = TABLE, **ours: float) -> StudyResult:
    study = Study(table.id, "somebody", table)
    return compare_cells(study, {tuple(name.split("_")): value for name, value in ours.items()})  # type: ignore[misc]


@pytest.mark.parametrize(
    ("value", "verdict"),
    [
        (0.8914, "equal"),
        (0.89051, "equal"),
        (0.8934, "close"),
        (0.8886, "close"),
        (0.8936, "different"),
        (math.nan, "not run"),
    ],
)
def test_verdicts(value: float, verdict: Verdict) -> None:
    found = {(cell.row, cell.column): cell for cell in result(BLEU_a=value).cells}
    assert found["BLEU", "a"].verdict == verdict


def test_what_is_not_run_says_what_it_needs_and_an_open_cell_is_none() -> None:
    found = result(n_a=5.0, n_b=7.0)
    assert [(cell.row, cell.column, cell.verdict, cell.reason) for cell in found.cells] == [
        ("n", "a", "equal", ""),
        ("n", "b", "different", ""),
        ("BLEU", "a", "not run", "scores"),
        ("Prism", "a", "not run", "a translation model (--model)"),
        ("Prism", "b", "not run", "a translation model (--model)"),
    ]
    assert [found.count(verdict) for verdict in ("equal", "close", "different", "not run")] == [1, 0, 1, 3]


def test_values_that_were_rounded_twice() -> None:
    table = dataclasses.replace(TABLE, rows={"BLEU": [0.44, ""]})
    assert result(table, BLEU_a=0.43946).cells[0].verdict == "close"
    twice = dataclasses.replace(table, significant=4)
    assert result(twice, BLEU_a=0.43946).cells[0].verdict == "equal"


def test_points_of_a_figure_have_nothing_to_be_compared_with() -> None:
    figure = dataclasses.replace(TABLE, rows={}, figure=True)
    point = ComparedCell("x", "a", None, 1.5, "unpublished")
    assert result(figure, x_a=1.5).cells == (point,)
    study = Study(figure.id, "somebody", figure)
    assert compare_cells(study, {("x", "a"): 1.5}, segments=3).cells == (point,)
