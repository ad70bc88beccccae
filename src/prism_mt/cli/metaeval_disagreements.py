"""`prism metaeval disagreements`: outputs that humans and metrics rank differently."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prism_mt._core.arguments import Command
from prism_mt._core.errors import PrismError
from prism_mt._core.options import Config, option
from prism_mt.cli.judged import JudgedOptions
from prism_mt.cli.output import TableOptions, write_tables
from prism_mt.engines.factory import EngineConfig
from prism_mt.evaluation.disagreements import disagreements
from prism_mt.metrics.runtime import Runtime
from prism_mt.report.metaeval import disagreement_tables


@dataclass(frozen=True, kw_only=True)
class DisagreementOptions(Config):
    """Options of `prism metaeval disagreements`."""

    judgments: list[Path] = option("human judgments", positional=True, metavar="JUDGMENTS")
    count: int = option("number of outputs in each direction", 10, flags=("-n",), metavar="N", low=1)


def run(
    options: DisagreementOptions,
    judged: JudgedOptions,
    output: TableOptions,
    engine: EngineConfig,
    metric_options: dict[str, Any],
) -> None:
    """Print the outputs on which humans and the first metric differ most, with all metrics side by side."""
    tables = []
    metrics = judged.computed(metric_options)
    for item in judged.load(options.judgments, judged.scores, Runtime(engine), metrics, judged.rules):
        if not item.metrics:
            raise PrismError(f"{item.judgments.pair}: name a metric with --metric or --scores")
        found = disagreements(item.judgments, item.metrics, options.count, item.reference)
        names = [metric.metric for metric in item.metrics]
        tables += disagreement_tables(found, names, item.judgments.place)
    write_tables(tables, output)


DISAGREEMENTS = Command(
    "disagreements",
    "outputs that humans and metrics rank differently",
    (DisagreementOptions, JudgedOptions, TableOptions, EngineConfig),
    run,
    metrics=True,
)
