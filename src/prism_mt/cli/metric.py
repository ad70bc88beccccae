"""`prism metric`: metrics that learn from human judgments."""

from dataclasses import dataclass

from prism_mt._core.arguments import Command, Group
from prism_mt._core.options import option
from prism_mt.cli.running import EPILOG, RunOptions, report
from prism_mt.training import api


@dataclass(frozen=True, kw_only=True)
class MetricTrainOptions(RunOptions):
    """Options of `prism metric train`."""

    offline: bool = option("never use the network, not even for hf: encoders and models", False)


def train(options: MetricTrainOptions) -> int:
    """Train until the correlation on the development data stops growing."""
    result = api.train_metric(
        options.config,
        output=options.output,
        minutes=options.minutes,
        fresh=options.fresh,
        export_only=options.export_only,
        offline=options.offline,
    )
    if result.best is not None:
        print(f"Best dev Pearson {result.best:.4f} after {result.steps:,} steps.")
    return report(options, result, "metric")


COMMAND = Group(
    "metric",
    "Metrics that learn from human judgments.",
    (
        Command(
            "train",
            "Train a metric (bilstm, bilstm-attention or esim) on human judgments.",
            (MetricTrainOptions,),
            train,
            epilog=f"""The files are tab-separated; their first line has ref, hyp and score among its columns:
  train = ["wmt16.tsv"]
  dev = ["wmt15.tsv"]
  output = "esim-minilm"
  kind = "esim"
  encoder = "minilm"
  language = "en"
With side = "src" and an encoder of both languages, outputs are compared with the column src instead.
{EPILOG.format(command="metric train")}""",
        ),
    ),
)
