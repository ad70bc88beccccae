"""`prism train`: train a translation or a language model on prepared shards."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path

from prism_mt._core.arguments import Command, option
from prism_mt.cli.running import EPILOG, RunOptions, need_torch, run


@dataclass
class TrainOptions(RunOptions):
    """Options of `prism train`."""

    data: Path | None = option("data directory (default: the configuration's `data`)", None, metavar="DIR")


def train(options: TrainOptions) -> int:
    """Train until a limit is reached, then write the model."""
    from prism_mt.training.config import load_config

    config = options.change(load_config(options.config), data=options.data)
    need_torch("training")
    from prism_mt.training.export import export_model
    from prism_mt.training.trainer import Trainer

    start = partial(Trainer, config, resume=not options.fresh)
    return run(options, start, partial(export_model, config), config.device)


COMMAND = Command(
    "train",
    "Train a translation model, or a language model, on the shards of `prism corpus prepare`.",
    TrainOptions,
    train,
    epilog=EPILOG.format(command="train"),
)
