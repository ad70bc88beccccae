"""`prism metaeval submit`: score a shared task's test set, and write a submission."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from prism_mt._core.arguments import Command
from prism_mt._core.errors import PrismError
from prism_mt._core.options import Config, option
from prism_mt.cli.judged import JudgedOptions
from prism_mt.engines.factory import EngineConfig
from prism_mt.evaluation.protocols import get_protocol
from prism_mt.evaluation.readers.wmt_outputs import write_submission
from prism_mt.metrics.registry import metric_labels
from prism_mt.metrics.runtime import Runtime


@dataclass(frozen=True, kw_only=True)
class SubmitOptions(Config):
    """Options of `prism metaeval submit`."""

    testset: list[Path] = option(
        "outputs to score, judged or not: WMT's JSONL or TSV, or any file of judgments with texts",
        positional=True,
        metavar="TESTSET",
    )
    output: Path = option("folder for METRIC.jsonl or METRIC.tsv", flags=("-o",), metavar="FOLDER")
    format: Literal["jsonl", "tsv"] = option("a JSON object or a tab-separated line per output", "jsonl")


def run(
    options: SubmitOptions, judged: JudgedOptions, engine: EngineConfig, metric_options: dict[str, Any]
) -> None:
    """Score every output with every metric, and write a file per metric."""
    if not judged.metric:
        raise PrismError("name the metrics to compute: `metric=`")
    # The rules for systems, so that outputs without judgments count, too.
    every_output = get_protocol("wmt24-sys")
    metrics = judged.computed(metric_options)
    items = judged.load(options.testset, [], Runtime(engine), metrics, every_output)
    for name in metric_labels(metrics):
        scored = [(one, item.judgments) for item in items for one in item.metrics if one.metric == name]
        path = options.output / f"{name.replace('/', '_')}.{options.format}"
        write_submission(path, scored)
        print(path)


SUBMIT = Command(
    "submit",
    "score the test set of a shared task and write submissions in its format",
    (SubmitOptions, JudgedOptions, EngineConfig),
    run,
    metrics=True,
)
