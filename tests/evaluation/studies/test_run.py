"""What is refused, what is skipped, and that an interrupted run goes on."""

from pathlib import Path

import pytest

from prism_mt._core.cache import Store
from prism_mt._core.errors import PrismError
from prism_mt.evaluation.studies.base import Cells, Study, StudyResult
from prism_mt.evaluation.studies.data import DataFolder
from prism_mt.evaluation.studies.published import PublishedTable
from prism_mt.evaluation.studies.run import run_studies
from prism_mt.evaluation.studies.workspace import Workspace
from prism_mt.metrics.runtime import Runtime
from prism_mt.metrics.sacrebleu import Bleu

FILE = "wmt19_da_sys.tsv.xz"


def study(name: str, run=None, **others) -> Study:  # type: ignore[no-untyped-def]
    table = PublishedTable(name, "title", ["a"], 3, 0.002, {"row": [0.5]}, unavailable="luck")
    return Study(name, "somebody", table, run=run, **others)


def workspace(folder: Path, model: str | None = None) -> Workspace:
    return Workspace(DataFolder(folder), Runtime(), model, Store("studies", folder / "studies.sqlite"))


def value(work: Workspace, table: PublishedTable) -> Cells:
    return {("row", "a"): 0.5004}


def test_results_and_what_nothing_public_gives(tmp_path: Path) -> None:
    told: list[StudyResult] = []
    found = list(run_studies([study("p/a", value), study("p/b")], workspace(tmp_path), False, told.append))
    assert [(one.cells[0].verdict, one.cells[0].reason) for one in found] == [("equal", ""), ("not run", "luck")]
    assert told == found


def test_what_is_missing_is_told_before_anything_starts(tmp_path: Path) -> None:
    started = []

    def run(work: Workspace, table: PublishedTable) -> Cells:
        started.append(1)
        return {}

    lacking = study("p/b", run, files=(FILE,))
    match = rf"{FILE} is not in .*: it comes from https://github.com/AIPHES.*prism data get"
    with pytest.raises(PrismError, match=match):
        list(run_studies([study("p/a", run), lacking], workspace(tmp_path), skip=False))
    with pytest.raises(PrismError, match="p/c needs a translation model: give `model=`"):
        list(
            run_studies([study("p/a", run), study("p/c", run, model="required")], workspace(tmp_path), skip=False)
        )
    with pytest.raises(PrismError, match="nowhere"):
        list(run_studies([study("p/a", run)], workspace(tmp_path, "nowhere"), skip=True))
    assert not started
    [skipped] = run_studies([lacking], workspace(tmp_path), skip=True)
    assert skipped.cells[0].verdict == "not run"
    assert FILE in skipped.cells[0].reason


def test_rows_and_segments_are_for_studies_that_score_texts(tmp_path: Path) -> None:
    def score(work: Workspace, table: PublishedTable) -> Cells:
        return {(row, "a"): 0.5 for row in work.metrics_of(table, {})}

    texts = study("p/a", score, scores_texts=True)
    made = Workspace(DataFolder(tmp_path), Runtime(), rows={"row": Bleu()}, segments=3)
    [found] = run_studies([texts], made, skip=False)
    assert [(cell.ours, cell.verdict) for cell in found.cells] == [(0.5, "partial")]
    for lacking in (Workspace(DataFolder(tmp_path), Runtime(), rows={"rwo": Bleu()}), made):
        with pytest.raises(PrismError, match="no row '(rwo|row)' that these studies score from texts"):
            list(run_studies([study("p/b", value)], lacking, skip=True))
    with pytest.raises(PrismError, match="`segments=` is for studies that score texts"):
        list(run_studies([study("p/b", value)], Workspace(DataFolder(tmp_path), Runtime(), segments=3), skip=True))


def test_an_interrupted_run_goes_on(tmp_path: Path) -> None:
    done = []

    def first(work: Workspace, table: PublishedTable) -> Cells:
        done.append("first")
        return {("row", "a"): 0.5}

    def second(work: Workspace, table: PublishedTable) -> Cells:
        part = work.remember("half", (), lambda: done.append("half") or 0.25)  # type: ignore[func-returns-value]
        if done.count("half") == 1 and "stop" not in done:
            done.append("stop")
            raise KeyboardInterrupt
        return {("row", "a"): 2 * part}

    chosen = [study("p/a", first), study("p/b", second)]
    with pytest.raises(KeyboardInterrupt):
        list(run_studies(chosen, workspace(tmp_path), skip=True))
    found = list(run_studies(chosen, workspace(tmp_path), skip=True))
    assert [one.cells[0].verdict for one in found] == ["equal", "equal"]
    assert done == ["first", "half", "stop"]
