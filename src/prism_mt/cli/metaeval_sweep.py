"""`prism metaeval sweep`: tune a linear combination of metrics."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from prism_mt._core.arguments import Command
from prism_mt._core.options import Config, option
from prism_mt.cli.judged import JudgedOptions
from prism_mt.cli.output import PlotOptions, TableOptions, write_tables
from prism_mt.engines.factory import EngineConfig
from prism_mt.evaluation.sweep import sweep
from prism_mt.metrics.runtime import Runtime
from prism_mt.report.metaeval import sweep_table
from prism_mt.report.plots import plot_sweep


@dataclass(frozen=True, kw_only=True)
class SweepOptions(Config):
    """Options of `prism metaeval sweep`."""

    judgments: list[Path] = option("development judgments", positional=True, metavar="JUDGMENTS")
    test: list[Path] = option("test judgments", [], metavar="JUDGMENTS")
    test_scores: list[Path] = option("metric scores of the test judgments", [], metavar="FILE")
    combine: list[str] = option("the metrics to combine (default: all)", [], metavar="NAME")
    steps: int = option("use weights that are multiples of 1/N", 20, metavar="N", low=1)
    standardize: bool = option("scale metrics to the same spread before combining them", True)


def run(
    options: SweepOptions,
    judged: JudgedOptions,
    output: TableOptions,
    plots: PlotOptions,
    engine: EngineConfig,
    metric_options: dict[str, Any],
) -> None:
    """Tune a linear combination on the development judgments, and show it on the test judgments."""
    plots.check()
    protocol, runtime = judged.rules, Runtime(engine)
    metrics = judged.computed(metric_options)
    dev = judged.load(options.judgments, judged.scores, runtime, metrics, protocol)
    test = judged.load(options.test, options.test_scores, runtime, metrics, protocol) if options.test else []
    names = options.combine or [metric.metric for metric in dev[0].metrics]
    found = sweep(
        names,
        [(item.judgments, item.metrics) for item in dev],
        [(item.judgments, item.metrics) for item in test],
        protocol,
        options.steps,
        options.standardize,
    )
    write_tables([sweep_table(found)], output)
    plots.draw(partial(plot_sweep, found))


SWEEP = Command(
    "sweep",
    "tune a linear combination of metrics",
    (SweepOptions, JudgedOptions, TableOptions, PlotOptions, EngineConfig),
    run,
    metrics=True,
)
