"""`prism metric`: metrics that learn from human judgments."""

from dataclasses import dataclass
from pathlib import Path

from prism_mt._core.arguments import Command, Group, option
from prism_mt._core.errors import MissingExtra


@dataclass
class MetricTrainOptions:
    """Options of `prism metric train`."""

    config: Path = option("TOML file with the data and all settings of the run", positional=True)
    fresh: bool = option("start again instead of going on after the last epoch", False)
    offline: bool = option("never use the network, not even for hf: encoders and models", False)


def train(options: MetricTrainOptions) -> None:
    """Train until the correlation on the development data stops growing."""
    try:
        from prism_mt.training.metric_trainer import MetricTrainer, load_config
    except ImportError:
        raise MissingExtra("training", "train") from None
    config = load_config(options.config)
    progress = MetricTrainer(config, options.fresh, options.offline).run()
    print(
        f"The metric is in {config.output} (dev Pearson {progress.best:.4f} after {progress.epoch} epochs); "
        f"`prism score --metric {config.output}` uses it."
    )


COMMAND = Group(
    "metric",
    "Metrics that learn from human judgments.",
    (
        Command(
            "train",
            "Train a metric (bilstm, bilstm-attention or esim) on human judgments.",
            MetricTrainOptions,
            train,
            epilog="""The files are tab-separated; their first line has ref, hyp and score among its columns:
  train = ["wmt16.tsv"]
  dev = ["wmt15.tsv"]
  output = "esim-minilm"
  kind = "esim"
  encoder = "minilm"
  language = "en"
With side = "src" and an encoder of both languages, outputs are compared with the column src instead.
A run that was stopped goes on after its last epoch when the same command is given again.""",
        ),
    ),
)
