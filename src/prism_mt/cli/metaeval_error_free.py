"""`prism metaeval error-free`: can one trust the probability that a segment has no error?"""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from prism_mt._core.arguments import Command
from prism_mt._core.options import Config, option
from prism_mt.cli.output import PlotOptions, TableOptions, write_tables
from prism_mt.engines.factory import EngineConfig
from prism_mt.evaluation.error_free import judge_error_free, rated_segments
from prism_mt.evaluation.readers import read_all_judgments
from prism_mt.metrics.registry import make_metrics
from prism_mt.metrics.runtime import Runtime
from prism_mt.metrics.spans.scorer import check_errors
from prism_mt.report.plots import plot_reliability
from prism_mt.report.spans import error_free_tables


@dataclass(frozen=True, kw_only=True)
class ErrorFreeOptions(Config):
    """Options of `prism metaeval error-free`."""

    judgments: list[Path] = option("outputs with lists of errors (MQM)", positional=True, metavar="JUDGMENTS")
    metric: str = option("metric whose probabilities are judged", "prism-ref", flags=("-m",), metavar="NAME")
    pairs: list[str] = option("only these language pairs", [], metavar="LP")
    reference: str | None = option("which reference to use, if there are several", None, metavar="NAME")
    outputs: int | None = option("use only N outputs of each test set, evenly spaced", None, metavar="N", low=10)


def run(
    options: ErrorFreeOptions,
    output: TableOptions,
    plots: PlotOptions,
    engine: EngineConfig,
    metric_options: dict[str, Any],
) -> None:
    """Predict for every rated output, and compare with the ratings."""
    plots.check()
    [metric] = make_metrics([options.metric], metric_options)
    check_errors([metric])
    runtime = Runtime(engine)
    results = []
    for judgments in read_all_judgments(options.judgments, pairs=options.pairs):
        rated = rated_segments(judgments, options.reference)
        if options.outputs is not None and options.outputs < len(rated.segments):
            step = len(rated.segments) / options.outputs
            rated = rated.take([int(place * step) for place in range(options.outputs)])
        results.append(judge_error_free(rated, metric, runtime))
    write_tables(error_free_tables(results, metric.label), output)
    plots.draw(partial(plot_reliability, {one.name: one.bins for one in results}))


ERROR_FREE = Command(
    "error-free",
    "judge the probability that a segment has no error: calibration, Brier score, and what triage catches",
    (ErrorFreeOptions, TableOptions, PlotOptions, EngineConfig),
    run,
    metrics=True,
    epilog="""example:
  prism metaeval error-free wmt21_mqm_news_en-de.jsonl --reference ref-C --plot reliability.png
""",
)
