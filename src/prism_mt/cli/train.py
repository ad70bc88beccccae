"""`prism train`: train a translation or a language model on prepared shards."""

from dataclasses import dataclass
from pathlib import Path

from prism_mt._core.arguments import Command
from prism_mt._core.options import option
from prism_mt.cli.running import EPILOG, RunOptions, report
from prism_mt.training import api


@dataclass(frozen=True, kw_only=True)
class TrainOptions(RunOptions):
    """Options of `prism train`."""

    data: Path | None = option("data directory (default: the configuration's `data`)", None, metavar="DIR")


def train(options: TrainOptions) -> int:
    """Train until a limit is reached, then write the model."""
    return report(options, api.train(options.config, data=options.data, **options.arguments), "model")


COMMAND = Command(
    "train",
    "Train a translation model, or a language model, on shards written by `prism corpus prepare`.",
    (TrainOptions,),
    train,
    epilog=EPILOG.format(command="train"),
)
