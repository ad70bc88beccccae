"""Run studies: what is refused up front, what is skipped, and what is already cached."""

from collections.abc import Callable, Iterator, Sequence

from prism_mt._core.errors import PrismError
from prism_mt._core.options import suggestion
from prism_mt.evaluation.studies.base import Cells, ComparedCell, Study, StudyResult, compare_cells
from prism_mt.evaluation.studies.data import missing_file
from prism_mt.evaluation.studies.workspace import Workspace


def check_study(study: Study, work: Workspace) -> None:
    """Fail in one sentence if a study that could be run lacks a model or a file."""
    if study.run is None:
        return
    if study.model == "required" and work.model is None:
        raise PrismError(f"{study.id} needs a translation model: give `model=`, m39v1 for the published figures")
    for name in study.files:
        if not work.data.has(name):
            raise PrismError(missing_file(name, work.data.path))


def run_studies(
    chosen: Sequence[Study], work: Workspace, skip: bool, tell: Callable[[StudyResult], None] | None = None
) -> Iterator[StudyResult]:
    """Run studies one after the other; with `skip`, those that lack something are reported as not run.

    Without it nothing starts until all of them have what they need.
    """
    if work.model is not None:
        work.runtime.model(work.model)  # a model that is not there is an error before the work begins
    _check_rows(chosen, work)
    if not skip:
        for study in chosen:
            check_study(study, work)
    for study in chosen:
        result = _run(study, work)
        if tell is not None:
            tell(result)
        yield result


def _run(study: Study, work: Workspace) -> StudyResult:
    try:
        check_study(study, work)
    except PrismError as error:
        return _not_run(study, str(error))
    run = study.run
    if run is None:
        return compare_cells(study, {})

    def compute() -> list[tuple[str, str, float]]:
        cells: Cells = run(work, study.table)
        return [(row, column, value) for (row, column), value in cells.items()]

    used = work.model_identity if study.model != "none" else ""
    # Rows with metrics of the user's are remembered metric by metric, which know what identifies them.
    special = work.rows or work.segments is not None
    found = compute() if special else work.remember(f"study {study.id} {used}", study.files, compute)
    cells = {(row, column): value for row, column, value in found}
    return compare_cells(study, cells, work.model if study.model != "none" else None, work.segments)


def _check_rows(chosen: Sequence[Study], work: Workspace) -> None:
    """Fail in one sentence if a row that is given a metric is in none of the studies that score texts."""
    known = dict.fromkeys(row for study in chosen if study.scores_texts for row in study.table.rows)
    for row in work.rows:
        if row not in known:
            raise PrismError(f"no row {row!r} that these studies score from texts{suggestion(row, known)}")
    if work.segments is not None and not any(study.scores_texts for study in chosen):
        raise PrismError("`segments=` is for studies that score texts, and none of these does")


def _not_run(study: Study, reason: str) -> StudyResult:
    cells = [
        ComparedCell(row, column, value, None, "not run", reason) for row, column, value in study.table.cells()
    ]
    return StudyResult(study, tuple(cells))
