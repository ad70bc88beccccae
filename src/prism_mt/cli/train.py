"""`prism train`: train a translation or a language model on prepared shards."""

import dataclasses
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from prism_mt.cli.options import Command, option
from prism_mt.cli.running import EPILOG, need_torch, run, shortened


@dataclass
class TrainOptions:
    """Options of `prism train`."""

    config: Path = option("TOML file with the architecture and all settings of the run", positional=True)
    data: Path | None = option("data directory (default: the configuration's `data`)", None, metavar="DIR")
    output: Path | None = option(
        "folder for checkpoints, logs and the model (default: the configuration's `output`)", None, metavar="DIR"
    )
    minutes: float | None = option("stop after so many minutes; the run can be resumed", None, metavar="M")
    fresh: bool = option("start again instead of going on from the last checkpoint", False)
    export_only: bool = option("write the model of the checkpoints that are there, without training", False)


def train(options: TrainOptions) -> int:
    """Train until a limit is reached, then write the model."""
    from prism_mt.training.config import load_config

    config = load_config(options.config)
    config = dataclasses.replace(
        config,
        data=options.data or config.data,
        output=options.output or config.output,
        limits=shortened(config.limits, options.minutes),
    )
    need_torch("training")
    from prism_mt.training.export import export_model
    from prism_mt.training.trainer import Trainer

    start = partial(Trainer, config, resume=not options.fresh)
    return run(start, partial(export_model, config), config.device, options.export_only)


COMMAND = Command(
    "train",
    "Train a translation model, or a language model, on the shards of `prism corpus prepare`.",
    TrainOptions,
    train,
    epilog=EPILOG.format(command="train"),
)
