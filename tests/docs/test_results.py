"""Results: figures stand beside the command that makes them, and published ones are as published."""

import re
from pathlib import Path

import pytest
from run_examples import ROOT

from prism_mt.evaluation.studies.published import read_paper

RESULTS = ROOT / "docs" / "results"
TOP = RESULTS / "2026-11-wmt19-systems.md"
COMMAND = re.compile(r"(prism [a-z]|[a-z_]+\.py)")


@pytest.mark.parametrize(
    "page", sorted(set(RESULTS.glob("*.md")) - {RESULTS / "index.md"}), ids=lambda page: page.name
)
def test_every_table_stands_below_a_command(page: Path) -> None:
    before, *tables = re.split(r"^\|.*\|\n(?=\|[ :|-]+\|$)", page.read_text("utf-8"), flags=re.MULTILINE)
    assert tables
    assert COMMAND.search(before), f"{page.name} has a table before any command"


def test_published_column_of_the_top_four() -> None:
    [table] = [one for one in read_paper("thompson2020").tables if one.id.endswith("wmt19-top-systems")]
    published = re.findall(r"^\| (..-..) \| \S+ \| (\S+) \|", TOP.read_text("utf-8"), re.MULTILINE)
    assert {pair: float(value) for pair, value in published} == dict(
        zip(table.columns, table.rows["BLEU"], strict=True)
    )
