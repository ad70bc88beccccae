import json

import pytest

from prism_mt.report.table import (
    Column,
    Format,
    Table,
    format_p,
    format_value,
    number,
    p_value,
    render,
    render_all,
)

TABLE = Table(
    columns=(Column("metric"), number("tau", 3), number("n", 0)),
    rows=(("A_1 | x", 0.12345, 10), ("B", -0.2, None), ("C", float("nan"), 3)),
    caption="en-de: 50%",
    bold=frozenset({(0, 1)}),
    notes=("a note",),
)


def test_tsv_has_all_digits_and_empty_fields_for_missing_values() -> None:
    assert render(TABLE, "tsv") == "# en-de: 50%\nmetric\ttau\tn\nA_1 | x\t0.12345\t10\nB\t-0.2\t\nC\t\t3\n"


def test_json_has_null_for_missing_values_and_names_bold_cells() -> None:
    document = json.loads(render(TABLE, "json"))
    assert document["rows"][2] == {"metric": "C", "tau": None, "n": 3}
    assert document["bold"] == [{"row": 0, "column": "tau"}]


def test_markdown_escapes_pipes() -> None:
    lines = render(TABLE, "markdown").splitlines()
    assert lines[3] == "| :--- | ---: | ---: |"
    assert lines[4] == "| A\\_1 \\| x | **0.123** | 10 |"


@pytest.mark.parametrize(
    ("value", "column", "expected"),
    [
        (-0.0001, number("x"), "0.000"),
        (-0.5, number("x", 1), "-0.5"),
        (0.25, Column("x", ".0%"), "25%"),
        (3, Column("x"), "3"),
        (None, number("x"), "—"),
        ("text", number("x"), "text"),
    ],
)
def test_format_value(value: str | int | float | None, column: Column, expected: str) -> None:
    assert format_value(value, column) == expected


@pytest.mark.parametrize("format", ["text", "tsv", "latex", "markdown"])
def test_control_characters_and_line_breaks_never_reach_the_output(format: Format) -> None:
    output = render(Table((Column("a"),), (("x\x1b[31m\ty\nz",),)), format)
    assert "\x1b" not in output
    assert output.count("\n") == render(Table((Column("a"),), (("x",),)), format).count("\n")
    assert "x1b" in output


def test_joiners_and_special_spaces_of_real_languages_are_kept() -> None:
    word = "می\u200cخواهم 25\u00a0%"
    assert word in render(Table((Column("a"),), ((word,),)), "tsv")


def test_several_tables_are_one_json_list() -> None:
    assert [table["caption"] for table in json.loads(render_all([TABLE, TABLE], "json"))] == ["en-de: 50%"] * 2


def test_ragged_rows_are_refused() -> None:
    with pytest.raises(ValueError, match="1 values under 3 columns"):
        Table(TABLE.columns, (("x",),))


@pytest.mark.parametrize(("p", "written"), [(0.0391, ".039"), (0.0004, "<.001"), (0.001, ".001"), (1.0, "1.000")])
def test_p_values_are_written_as_in_papers(p: float, written: str) -> None:
    assert format_p(p) == format_value(p, p_value()) == written


def test_few_draws_show_no_tiny_p() -> None:
    assert format_value(0.0, p_value(draws=40)) == "<.025"
    assert format_value(0.0, p_value(draws=10_000)) == "<.001"
    assert format_value(0.03, p_value(draws=40)) == ".030"
