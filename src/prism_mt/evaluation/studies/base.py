"""What a study is, and how its cells compare with the published ones."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from prism_mt.evaluation.studies.published import MODEL, PublishedTable

if TYPE_CHECKING:
    from prism_mt.evaluation.studies.workspace import Workspace

Cells = Mapping[tuple[str, str], float]
"""Computed values by row and column; cells that cannot be computed are left out."""
Verdict = Literal["equal", "close", "different", "not run", "partial", "unpublished"]
"""`partial`: computed on a part of the test set, and so not comparable."""
ModelUse = Literal["none", "optional", "required"]
Run = Callable[["Workspace", PublishedTable], Cells]
"""Computes the cells of a table."""
_HALF = 1e-9
"""Differences are compared with this much slack, because decimal fractions are not exact."""


@dataclass(frozen=True)
class Study:
    """A published table and what it takes to reproduce it; without `run`, no cell can be computed from public data."""

    id: str
    """Paper and table, such as `vamvas2023/table3`."""
    paper: str
    """Authors and year."""
    table: PublishedTable
    files: tuple[str, ...] = ()
    """Names in the catalog of data files."""
    model: ModelUse = "none"
    run: Run | None = None
    scores_texts: bool = False
    """Whether its rows are scored from texts, so that other metrics can take their place."""

    @property
    def state(self) -> str:
        """What running the study takes, in a few words."""
        if self.run is None:
            return f"needs what is not public: {self.table.unavailable}"
        if self.model == "required":
            return "with a model (m39v1 for the published figures)"
        return "from public scores and texts" + (", more with a model" if self.model == "optional" else "")


@dataclass(frozen=True)
class ComparedCell:
    """One cell: our value and the published one."""

    row: str
    column: str
    published: float | None
    ours: float | None
    verdict: Verdict
    reason: str = ""
    """What a cell that was not run would need."""


@dataclass(frozen=True)
class StudyResult:
    """All cells of one study."""

    study: Study
    cells: tuple[ComparedCell, ...]
    model: str | None = None
    """The model that computed the rows that need one."""
    segments: int | None = None
    """How many segments of each test set were used, if not all."""

    def count(self, verdict: Verdict) -> int:
        """Count the cells with a verdict."""
        return sum(cell.verdict == verdict for cell in self.cells)


def compare_cells(study: Study, ours: Cells, model: str | None = None, segments: int | None = None) -> StudyResult:
    """Compare computed cells with the published ones, unless they are of only some segments."""
    table = study.table
    found = [_compare(table, row, column, value, ours) for row, column, value in table.cells()]
    printed = {(cell.row, cell.column) for cell in found}
    found += [
        ComparedCell(row, column, None, value, "unpublished")
        for (row, column), value in ours.items()
        if (row, column) not in printed and table.figure
    ]
    if segments is not None:
        known = ("unpublished", "not run")
        found = [cell if cell.verdict in known else replace(cell, verdict="partial") for cell in found]
    return StudyResult(study, tuple(found), model, segments)


def _compare(table: PublishedTable, row: str, column: str, published: float, ours: Cells) -> ComparedCell:
    value = ours.get((row, column), math.nan)
    if math.isnan(value):
        need = table.needs.get(row, table.unavailable)
        reason = "a translation model (--model)" if need == MODEL else need
        return ComparedCell(row, column, published, None, "not run", reason)
    digits = table.decimals(row, column)
    if table.significant:
        value = float(f"{value:.{table.significant}g}") if digits else value
    if f"{value:.{digits}f}" == f"{published:.{digits}f}":
        return ComparedCell(row, column, published, value, "equal")
    near = abs(round(value, digits) - published) <= table.allowance(row, column) + _HALF
    return ComparedCell(row, column, published, value, "close" if near else "different")
