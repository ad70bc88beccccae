"""The published cells that come with the package."""

import pytest

from prism_mt.evaluation.studies.published import PAPERS, read_paper

TABLES = {table.id: table for name in PAPERS for table in read_paper(name).tables}


def test_all_tables_are_read() -> None:
    assert len(TABLES) == 52
    assert sum(1 for table in TABLES.values() for _ in table.cells()) == 5540


@pytest.mark.parametrize("table", TABLES.values(), ids=lambda table: table.id)
def test_rows_fit_their_columns(table) -> None:  # type: ignore[no-untyped-def]
    assert {len(values) for values in table.rows.values()} <= {len(table.columns)}
    for each in (table.digits, table.tolerance):
        assert not isinstance(each, list) or len(each) == len(table.columns)
    assert set(table.needs) <= set(table.rows) | {"Prism-ref w/ Parabank2", "LASER + LM"}
    assert set(table.counts) <= set(table.rows)


@pytest.mark.parametrize(
    ("table", "row", "column", "value"),
    [
        ("vamvas2023/table3", "chrF", "en-de machine", 8.3),
        ("thompson2020/wmt19-top-systems", "BLEU", "zh-en", -0.694),
        ("bawden2020wmt/outliers", "0", "en-kk", 0.591),
        ("mathur2019/segments-to", "TrainL ESIM", "mean", 0.746),
        ("wmt20/segments-to", "n", "zh-en", 62586),
    ],
)
def test_cells(table: str, row: str, column: str, value: float) -> None:
    found = {(one, other): printed for one, other, printed in TABLES[table].cells()}
    assert found[row, column] == value
