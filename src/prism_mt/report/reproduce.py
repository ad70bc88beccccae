"""Published tables next to ours: the function `prism_mt.reproduce` and what it returns."""

import datetime
import json
import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prism_mt._core.cache import Store
from prism_mt._core.environment import peak_memory
from prism_mt.engines.config import EngineConfig
from prism_mt.evaluation.studies.base import ComparedCell, Study, StudyResult, Verdict
from prism_mt.evaluation.studies.data import DataFolder, default_data_folder
from prism_mt.evaluation.studies.registry import find_studies
from prism_mt.evaluation.studies.run import run_studies
from prism_mt.evaluation.studies.workspace import Workspace
from prism_mt.metrics.base import Metric
from prism_mt.metrics.registry import make_metric
from prism_mt.metrics.runtime import Runtime
from prism_mt.report.table import Column, Format, Table, Value, number, render_all

VERDICTS: tuple[Verdict, ...] = ("equal", "close", "different", "not run")
_MARKS: dict[Verdict, str] = {"equal": "=", "close": "~", "different": "≠"}
_PREFACE = """Every table and figure of the papers, ours beside the published cells. `prism data list` names the files
and their sources. A cell is *equal* if it is the same at the printed precision, *close* if it is within the tolerance
of its study (.002 for correlations and taus, .2 where a paper prints them times 100), *different* otherwise. Notes
below a table say what is known about cells that differ, what was tried, and what cells that were not run need.
"""
_LEGEND = "ours = equal as printed, ~ within the tolerance of the published value behind it, ≠ different from it"


@dataclass(frozen=True, eq=False)
class Reproduction:
    """Studies that were run, each cell beside the published one."""

    results: tuple[StudyResult, ...]
    cost: str = ""
    """What the run took: time and memory."""
    command: str = ""
    """The command that does the same; files and metrics of the user's are not in it."""

    def count(self, verdict: Verdict) -> int:
        """Count the cells of all studies with a verdict."""
        return sum(result.count(verdict) for result in self.results)

    @property
    def summary(self) -> str:
        """How many cells are equal, close, different and not run, in one line."""
        cells = sum(self.count(verdict) for verdict in VERDICTS)
        counts = ", ".join(f"{self.count(verdict):,} {verdict}" for verdict in VERDICTS)
        studies = len(self.results)
        partial = sum(result.count("partial") for result in self.results)
        more = f", {partial:,} not compared (only some segments)" if partial else ""
        noun = "study" if studies == 1 else "studies"
        return f"{studies} {noun}, {cells + partial:,} published cells: {counts}{more}"

    def tables(self) -> list[Table]:
        """A table per study with computed cells, and one of all studies where there are several."""
        found = [result_table(result) for result in self.results]
        return [*found, overview_table(self.results)] if len(self.results) > 1 else found

    def to_dict(self) -> dict[str, Any]:
        """All cells as plain values."""
        return {
            "summary": {verdict: self.count(verdict) for verdict in VERDICTS},
            "studies": [_result_dict(result) for result in self.results],
        }

    def to_text(self, format: Format = "text", width: int | None = None) -> str:
        """Render all studies and the summary; JSON and TSV have every cell."""
        if format == "json":
            return json.dumps(self.to_dict(), ensure_ascii=False, indent=1) + "\n"
        if format == "tsv":
            return render_all([cells_table(self.results)], format)
        if format == "markdown" and len(self.results) > 1:
            return self._page()
        cost = f"{self.cost}\n" if self.cost else ""
        return render_all(self.tables(), format, width) + f"\n{self.summary}\n{cost}"

    def _page(self) -> str:
        """A standalone document: the summary first, then every study."""
        *tables, overview = self.tables()
        made = f"Made on {datetime.date.today()} by\n\n```sh\n{self.command} --format markdown\n```\n\n{self.cost}"
        head = f"# The papers' tables, reproduced\n\n{_PREFACE}\n{made}\n\n**{self.summary}**\n\n"
        return head + render_all([overview, *tables], "markdown")

    def __repr__(self) -> str:
        return self.to_text().rstrip("\n")


def reproduce(
    *studies: str,
    data: Path | str | None = None,
    model: str | None = None,
    fresh: bool = False,
    rows: Mapping[str, Metric | str] | None = None,
    segments: int | None = None,
    config: EngineConfig | None = None,
    runtime: Runtime | None = None,
    tell: Callable[[StudyResult], None] | None = None,
) -> Reproduction:
    """Reproduce published tables and compare them cell by cell.

    A study is `vamvas2023/table3`, a paper's name, or `all` (the default), which skips what lacks data or a model.
    `data` is the folder of public data, `model` computes the rows that need one. `rows` names metrics for rows of
    tables that are scored from texts, such as `{"BERTR": "bertr[encoder=bert,layer=-1]"}`. With `segments`, only the
    first ones of each test set are scored, for a quick look, and cells are not compared. An interrupted run resumes
    where it stopped unless `fresh` is set; `tell` is called after every study.
    """
    start, busy = time.perf_counter(), time.process_time()
    names = studies or ("all",)
    runtime = runtime or Runtime(config)
    store = Store("studies") if runtime.config.cache else None
    folder = DataFolder(Path(data) if data is not None else default_data_folder())
    made = {row: make_metric(metric) for row, metric in (rows or {}).items()}
    work = Workspace(folder, runtime, model, store, fresh, made, segments)
    skip = any("/" not in name for name in names)
    results = tuple(run_studies(find_studies(names), work, skip, tell))
    cost = describe_cost(time.perf_counter() - start, time.process_time() - busy, peak_memory(), work.known)
    chosen = f" --model {model}" if model else ""
    return Reproduction(results, cost, f"prism reproduce {' '.join(names)} --data DIR{chosen}")


def describe_cost(seconds: float, busy: float, memory: int | None, known: int) -> str:
    """Say what a run took, and whether it did all of the work itself."""
    held = f" and at most {memory / 1e9:.2f} GB of memory" if memory else ""
    again = f"{known:,} results of earlier runs were reused" if known else "All was computed in this one run"
    return f"The run took {_duration(seconds)}, {_duration(busy)} of processor time{held}. {again}."


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def result_table(result: StudyResult) -> Table:
    """One study as the paper prints it, with ours and the published value in each cell; empty rows become notes."""
    study = result.study
    table = study.table
    cells = {(cell.row, cell.column): cell for cell in result.cells}
    rows: list[tuple[Value, ...]] = []
    for row in dict.fromkeys(cell.row for cell in result.cells):
        here = [cells.get((row, column)) for column in table.columns]
        if any(cell is not None and cell.ours is not None for cell in here):
            rows.append((row, *(_shown(study, cell) for cell in here)))
    columns = (Column(""), *(Column(title, align="right") for title in table.columns))
    caption = f"{study.id} ({study.paper}): {table.title}"
    counts = ", ".join(f"{result.count(verdict)} {verdict}" for verdict in VERDICTS)
    compared = rows and result.segments is None and not table.figure
    notes = [counts, *([_LEGEND] if compared else []), *table.notes, *_reasons(result.cells)]
    if result.model is not None:
        notes.append(f"model: {result.model}")
    if result.segments is not None:
        brackets = "" if table.figure else ", with the published value in brackets"
        notes.append(f"ours: of the first {result.segments:,} segments only{brackets}")
    return Table(columns, tuple(rows), caption, notes=tuple(notes))


def overview_table(results: Sequence[StudyResult]) -> Table:
    """Verdicts by study."""
    columns = (Column("study"), *(number(verdict, 0) for verdict in VERDICTS))
    rows: list[tuple[Value, ...]] = [
        (one.study.id, *(one.count(verdict) for verdict in VERDICTS)) for one in results
    ]
    return Table(columns, tuple(rows), "All studies")


def cells_table(results: Iterable[StudyResult]) -> Table:
    """Every cell in a row of its own."""
    titles = ("study", "row", "column", "published", "ours", "verdict", "reason")
    rows = tuple(
        (one.study.id, cell.row, cell.column, cell.published, cell.ours, cell.verdict, cell.reason)
        for one in results
        for cell in one.cells
    )
    return Table(tuple(Column(title) for title in titles), rows)


def studies_table(studies: Sequence[Study], data: DataFolder) -> Table:
    """All studies, what each needs, and whether the data are present."""
    columns = (
        *(Column(title) for title in ("study", "what")),
        number("cells", 0),
        *(Column(title) for title in ("state", "data")),
    )
    rows = []
    for study in studies:
        missing = [name for name in study.files if not data.has(name)]
        known = f"{len(missing)} of {len(study.files)} files missing" if missing else "there"
        cells = sum(1 for _ in study.table.cells())
        rows.append((study.id, study.table.title, cells, study.state, known if study.files else ""))
    return Table(columns, tuple(rows))


def _shown(study: Study, cell: ComparedCell | None) -> str | None:
    if cell is None:
        return None
    digits = study.table.decimals(cell.row, cell.column)
    if cell.ours is None:
        return f"({cell.published:.{digits}f})"
    ours = f"{cell.ours:.{digits}f}"
    if cell.published is None:
        return ours
    if cell.verdict == "partial":
        return f"{ours} ({cell.published:.{digits}f})"
    mark = _MARKS[cell.verdict]
    return f"{ours} {mark}" if cell.verdict == "equal" else f"{ours} {mark}{cell.published:.{digits}f}"


def _reasons(cells: Sequence[ComparedCell]) -> list[str]:
    """What cells that were not run need, with the rows that need it."""
    needs: dict[str, dict[str, None]] = {}
    for cell in cells:
        if cell.verdict == "not run" and cell.reason:
            needs.setdefault(cell.reason, {})[cell.row] = None
    return [f"not run, needs {reason}: {', '.join(rows)}" for reason, rows in needs.items()]


def _result_dict(result: StudyResult) -> dict[str, Any]:
    return {
        "study": result.study.id,
        "paper": result.study.paper,
        "title": result.study.table.title,
        "model": result.model,
        "notes": list(result.study.table.notes),
        "cells": [
            {
                "row": cell.row,
                "column": cell.column,
                "published": cell.published,
                "ours": None if cell.ours is None or math.isnan(cell.ours) else cell.ours,
                "verdict": cell.verdict,
                "reason": cell.reason,
            }
            for cell in result.cells
        ],
    }
