"""`prism_mt.reproduce` and the tables that it makes."""

import json
import re
from pathlib import Path

import pytest

import prism_mt as prism
from prism_mt.evaluation.studies import registry
from prism_mt.evaluation.studies.base import Cells, Study
from prism_mt.evaluation.studies.published import PublishedTable
from prism_mt.evaluation.studies.workspace import Workspace
from prism_mt.report.plots import plot_results
from prism_mt.report.reproduce import describe_cost

TABLE = PublishedTable(
    "paper/table", "some taus", ["en-de", "zh-en"], 3, 0.002, {"A": [0.5, 0.6], "B": [0.7, ""], "C": [0.1, 0.2]}
)
FIGURE = PublishedTable("paper/figure", "a curve", ["tau"], 3, 0.002, {}, figure=True, axes=["weight", "height"])


def run(work: Workspace, table: PublishedTable) -> Cells:
    if table.figure:
        return {("0", "tau"): 0.1, ("0.5", "tau"): 0.3}
    return {("A", "en-de"): 0.5001, ("A", "zh-en"): 0.6014, ("B", "en-de"): 0.9}


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    found = {table.id: Study(table.id, "Somebody 2020", table, run=run) for table in (TABLE, FIGURE)}
    monkeypatch.setattr(registry, "studies", lambda: found)
    monkeypatch.setenv("PRISM_CACHE", str(tmp_path / "cache"))


@pytest.mark.usefixtures("made")
def test_ours_beside_the_published_cells() -> None:
    found = prism.reproduce("paper/table")
    assert found.summary == "1 study, 5 published cells: 1 equal, 1 close, 1 different, 2 not run"
    lines = [" ".join(line.split()) for line in found.to_text().splitlines()]
    assert lines[0] == "paper/table (Somebody 2020): some taus"
    assert "A 0.500 = 0.601 ~0.600" in lines
    assert "B 0.900 ≠0.700 —" in lines
    assert not any(line.startswith("C ") for line in lines)
    assert found.summary in lines
    assert found.cost.startswith("The run took ")
    assert repr(found).endswith(found.cost)


@pytest.mark.usefixtures("made")
def test_a_page_says_how_it_was_made_and_whether_in_one_piece() -> None:
    for known in ("All was computed in this one run.", "2 results of earlier runs were reused."):
        page = prism.reproduce(data=Path("nowhere")).to_text("markdown")
        assert "\n```sh\nprism reproduce all --data DIR --format markdown\n```\n" in page
        assert re.search(rf"\nThe run took .* of processor time.*\. {known}\n", page)


def test_cost_of_a_run() -> None:
    assert describe_cost(3723.4, 61, 451_000_000, 0) == (
        "The run took 62 min 3 s, 1 min 1 s of processor time and at most 0.45 GB of memory. "
        "All was computed in this one run."
    )
    assert describe_cost(9, 2, None, 1200) == (
        "The run took 9 s, 2 s of processor time. 1,200 results of earlier runs were reused."
    )


@pytest.mark.usefixtures("made")
def test_json_and_tsv_have_every_cell() -> None:
    found = prism.reproduce(data=Path("nowhere"))
    document = json.loads(found.to_text("json"))
    assert document["summary"] == {"equal": 1, "close": 1, "different": 1, "not run": 2}
    assert document["studies"][0]["cells"][1] == {
        "row": "A",
        "column": "zh-en",
        "published": 0.6,
        "ours": 0.6014,
        "verdict": "close",
        "reason": "",
    }
    lines = found.to_text("tsv").splitlines()
    assert lines[0].split("\t")[:3] == ["study", "row", "column"]
    assert len(lines) == 1 + 5 + 2
    assert "paper/figure\t0.5\ttau\t\t0.3\tunpublished\t" in lines


@pytest.mark.usefixtures("made")
def test_plots_of_tables_and_figures(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    for result in prism.reproduce("all").results:
        path = tmp_path / "plot.svg"
        plot_results([result] * 3, path)
        drawn = path.read_text("utf-8")
        assert all(label in drawn for label in (result.study.id, *result.study.table.axes))
