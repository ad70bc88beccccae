"""`prism reproduce`: the papers' tables and figures, our cells next to the published ones."""

import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from prism_mt._core.arguments import Command, Group
from prism_mt._core.errors import PrismError
from prism_mt._core.options import Config, option
from prism_mt.cli.output import PlotOptions, TableOptions, write_tables, write_text
from prism_mt.engines.config import EngineConfig
from prism_mt.evaluation.studies.base import StudyResult
from prism_mt.evaluation.studies.data import DataFolder, default_data_folder
from prism_mt.evaluation.studies.registry import find_studies
from prism_mt.report.plots import plot_results
from prism_mt.report.reproduce import VERDICTS, reproduce, studies_table


@dataclass(frozen=True, kw_only=True)
class DataOptions(Config):
    """Where the public data is."""

    data: Path | None = option(
        "folder of public data (default: PRISM_DATA, or `data` in the cache; see `prism data`)",
        None,
        metavar="DIR",
    )

    @property
    def folder(self) -> DataFolder:
        """The folder given, or the default one."""
        return DataFolder(self.data or default_data_folder())


@dataclass(frozen=True, kw_only=True)
class ReproduceOptions(Config):
    """Options of `prism reproduce`."""

    studies: list[str] = option(
        "studies such as vamvas2023/table3, papers such as wmt20, or all", positional=True, metavar="STUDY"
    )
    model: str | None = option(
        "model that computes the rows that need one: a name of `prism models list`, a folder, hf:ORG/NAME",
        None,
        metavar="M",
    )
    rows: list[str] = option(
        "metrics for rows that are scored from texts, as `--metric` names them: 'BERTR=bertr[encoder=e5]', ESIM=FOLDER",
        [],
        metavar="ROW=METRIC",
    )
    segments: int | None = option(
        "score only the first N segments of each test set, for a first look; cells are then not compared",
        None,
        metavar="N",
        low=1,
    )
    fresh: bool = option("recompute everything", False)


@dataclass(frozen=True, kw_only=True)
class ListOptions(Config):
    """Options of `prism reproduce list`."""

    studies: list[str] = option("only these studies or papers", [], positional=True, metavar="STUDY")


def run(
    options: ReproduceOptions, data: DataOptions, output: TableOptions, plots: PlotOptions, engine: EngineConfig
) -> None:
    """Run the studies and print every table beside the published one."""
    plots.check()
    total = len(find_studies(options.studies))
    done = 0

    def tell(result: StudyResult) -> None:
        nonlocal done
        done += 1
        counts = ", ".join(f"{result.count(verdict)} {verdict}" for verdict in VERDICTS)
        print(f"[{done}/{total}] {result.study.id}: {counts}", file=sys.stderr)

    found = reproduce(
        *options.studies,
        data=data.folder.path,
        model=options.model,
        fresh=options.fresh,
        rows=dict(_row(text) for text in options.rows),
        segments=options.segments,
        config=engine,
        tell=tell if total > 1 else None,
    )
    write_text(found.to_text(output.format, output.width), output)
    plots.draw(partial(plot_results, found.results))


def _row(text: str) -> tuple[str, str]:
    row, found, metric = text.partition("=")
    if not (row and found and metric):
        raise PrismError(f"`rows=` needs ROW=METRIC, not {text!r}")
    return row, metric


def run_list(options: ListOptions, data: DataOptions, output: TableOptions) -> None:
    """List the studies and what each needs."""
    write_tables([studies_table(find_studies(options.studies or ["all"]), data.folder)], output)


_EPILOG = """examples:
  prism reproduce list --data DIR
  prism reproduce vamvas2023/table3 --data DIR
  prism reproduce thompson2020/figure3 --data DIR --model mini --plot figure3.pdf
  prism reproduce mathur2019/segments-to --data DIR --rows 'BERTR=bertr[encoder=e5]' 'TrainS ESIM=FOLDER'
  prism reproduce bawden2020wmt/kinds-segments --data DIR --model mini --segments 100
  prism reproduce all --data DIR --format json -o cells.json

An interrupted run resumes where it stopped. Without --model nothing is computed that needs a model; the
published rows of Prism need m39v1."""

COMMAND = Group(
    name="reproduce",
    help="the papers' tables and figures, our cells next to the published ones",
    commands=(
        Command(
            "list", "list the studies and what each needs", (ListOptions, DataOptions, TableOptions), run_list
        ),
    ),
    default=Command(
        "reproduce",
        "reproduce published tables and figures, and compare them cell by cell",
        (ReproduceOptions, DataOptions, TableOptions, PlotOptions, EngineConfig),
        run,
        _EPILOG,
    ),
)
