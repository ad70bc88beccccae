"""Published tables, as the papers print them; they are files of the package."""

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from prism_mt._core.options import load_toml

FOLDER = Path(__file__).parents[2] / "assets" / "studies"
PAPERS = ("thompson2020", "mathur2019", "bawden2020", "bawden2020wmt", "vamvas2023", "wmt20")
MODEL = "model"
"""The need of a row that a translation model computes."""


@dataclass(frozen=True)
class PublishedTable:
    """One table or figure of a paper; a cell that the paper leaves open is an empty string."""

    id: str
    title: str
    columns: list[str]
    digits: int | list[int]
    """Printed decimals: of all columns, or of each."""
    tolerance: float | list[float]
    """Largest difference from a printed value that still counts as close."""
    rows: dict[str, list[float | str]]
    counts: list[str] = field(default_factory=list)
    """Rows that count something: no decimals, no tolerance."""
    significant: int | None = None
    """Digits to which values were rounded before they were rounded to the printed decimals."""
    unavailable: str = ""
    """What cells that nobody can compute from public data would need."""
    needs: dict[str, str] = field(default_factory=dict)
    """The same by row; `model` stands for a translation model."""
    notes: list[str] = field(default_factory=list)
    figure: bool = False
    """Whether it is a curve, of which the paper prints no values."""
    axes: list[str] = field(default_factory=list)
    """What a figure has from left to right, and from bottom to top."""

    def cells(self) -> Iterator[tuple[str, str, float]]:
        """Row, column and value of all printed cells."""
        for row, values in self.rows.items():
            for column, value in zip(self.columns, values, strict=True):
                if not isinstance(value, str):
                    yield row, column, float(value)

    def decimals(self, row: str, column: str) -> int:
        """Return the printed decimals of a cell."""
        if row in self.counts:
            return 0
        return self.digits[self.columns.index(column)] if isinstance(self.digits, list) else self.digits

    def allowance(self, row: str, column: str) -> float:
        """Return the tolerance of a cell."""
        if row in self.counts:
            return 0.0
        return self.tolerance[self.columns.index(column)] if isinstance(self.tolerance, list) else self.tolerance


@dataclass(frozen=True)
class Paper:
    """A paper and its tables."""

    paper: str
    """Title."""
    authors: str
    tables: list[PublishedTable]


@cache
def read_paper(name: str) -> Paper:
    """Read the tables of one of `PAPERS`."""
    paper = load_toml(FOLDER / f"{name}.toml", Paper)
    tables = [dataclasses.replace(table, id=f"{name}/{table.id}") for table in paper.tables]
    return dataclasses.replace(paper, tables=tables)
