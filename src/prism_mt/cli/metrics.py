"""`prism metrics`: list metrics, what they need, and their options."""

from dataclasses import dataclass

from prism_mt._core.arguments import Command, flag
from prism_mt._core.errors import PrismError
from prism_mt._core.options import Config, describe, option, suggestion
from prism_mt.cli.output import TableOptions, write_tables
from prism_mt.metrics.base import Metric
from prism_mt.metrics.registry import list_metrics
from prism_mt.report.table import Column, Table


@dataclass(frozen=True)
class MetricsOptions(Config):
    """Options of `prism metrics`."""

    name: str | None = option("show the options of this metric (default: list all metrics)", None, positional=True)


def run(options: MetricsOptions, output: TableOptions) -> None:
    """List all metrics, or the options of one."""
    known = list_metrics()
    if options.name is None:
        write_tables([_metrics_table()], output)
    elif options.name in known:
        write_tables([_options_table(known[options.name])], output)
    else:
        raise PrismError(f"no metric {options.name!r}{suggestion(options.name, known)}")


def _metrics_table() -> Table:
    columns = (Column("metric"), Column("what"), Column("needs"), Column("better"))
    rows = []
    for kind in list_metrics().values():
        needs = kind.needs if isinstance(kind.needs, frozenset) else frozenset({"ref"})
        lower = kind.lower_is_better is True
        sides = " ".join(f"--{side}" for side in sorted(needs))
        rows.append((kind.name, summary(kind), sides, "lower" if lower else "higher"))
    return Table(columns, tuple(rows))


def _options_table(kind: type[Metric]) -> Table:
    columns = (Column("option"), Column("values"), Column("default"), Column("meaning"))
    rows = tuple((flag(row.name), row.type, row.default, row.help) for row in describe(kind))
    return Table(columns, rows, f"{kind.name}: {summary(kind)}")


def summary(kind: type[Metric]) -> str:
    """Return the first line of a metric's docstring."""
    return (kind.__doc__ or "").strip().splitlines()[0].rstrip(".")


COMMAND = Command(
    "metrics",
    "List metrics, including those of other packages, or show the options of one.",
    (MetricsOptions, TableOptions),
    run,
    epilog="""examples:
  prism metrics
  prism metrics prism-ref
""",
)
