"""Published tables from the public data, where these are beside the checkout."""

from pathlib import Path

import pytest

from prism_mt.evaluation.studies.base import StudyResult, compare_cells
from prism_mt.evaluation.studies.data import DataFolder
from prism_mt.evaluation.studies.registry import studies
from prism_mt.evaluation.studies.workspace import Workspace
from prism_mt.metrics.runtime import Runtime

# Equal, close, different: of the cells that these data give.
EXPECTED = {
    "bawden2020/parbleu-systems": (80, 0, 0),
    "bawden2020/parmeteor-systems": (80, 0, 0),
    "bawden2020/subset": (9, 0, 0),
    "bawden2020/parbleu-gains": (27, 0, 0),
    "bawden2020/parmeteor-gains": (27, 0, 0),
    "thompson2020/wmt18-systems-from": (7, 0, 0),
    "thompson2020/wmt18-segments-to": (1, 0, 0),
    "vamvas2023/tableA1": (14, 1, 0),
    "vamvas2023/tableA5": (5, 0, 1),
    "wmt20/pearson-to": (320, 0, 0),
    "wmt20/pearson-from": (225, 0, 0),
    "wmt20/kendall-to": (320, 0, 0),
    "wmt20/kendall-from": (225, 0, 0),
    "wmt20/pearson-without-outliers-to": (320, 0, 0),
    "wmt20/pearson-without-outliers-from": (225, 0, 0),
}


@pytest.fixture(scope="module")
def work(data: Path) -> Workspace:
    return Workspace(DataFolder(data), Runtime())


def run(work: Workspace, name: str) -> StudyResult:
    study = studies()[name]
    assert study.run is not None
    return compare_cells(study, study.run(work, study.table))


@pytest.mark.parametrize("name", list(EXPECTED))
def test_tables(work: Workspace, name: str) -> None:
    found = run(work, name)
    assert tuple(found.count(verdict) for verdict in ("equal", "close", "different")) == EXPECTED[name]
