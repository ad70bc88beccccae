"""`prism train`: train a translation or a language model on prepared shards."""

import dataclasses
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from prism_mt.cli.options import Command, option
from prism_mt.errors import MissingExtra, PrismError

if TYPE_CHECKING:
    from prism_mt.training.config import TrainConfig


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

    config = _override(load_config(options.config), options)
    # Threads that wait for each other by spinning for long bring training to a standstill when other programs
    # want the cores too. OpenMP reads this when torch is imported.
    os.environ.setdefault("GOMP_SPINCOUNT", "10000")
    try:
        import torch  # noqa: F401
    except ImportError as error:
        raise MissingExtra("training", "train") from error
    if options.export_only:
        return _export(config)
    from prism_mt.training.distributed import join_world, leave_world
    from prism_mt.training.memory import keep_freed_memory
    from prism_mt.training.trainer import Trainer

    keep_freed_memory()
    world = join_world(config.device)
    try:
        trainer = Trainer(config, world, resume=not options.fresh)
        finished = trainer.run()
    finally:
        leave_world(world)
    if not world.first:
        return 0
    if not finished:
        print(f"Stopped at step {trainer.progress.step:,}; the same command goes on from there.", file=sys.stderr)
    return _export(config) if finished or trainer.out_of_time else 130


def _override(config: "TrainConfig", options: TrainOptions) -> "TrainConfig":
    limits = config.limits
    if options.minutes is not None:
        if options.minutes <= 0:
            raise PrismError("--minutes must be above 0")
        limits = dataclasses.replace(limits, minutes=options.minutes)
    data, output = options.data or config.data, options.output or config.output
    return dataclasses.replace(config, data=data, output=output, limits=limits)


def _export(config: "TrainConfig") -> int:
    from prism_mt.training.export import export_model

    folder = export_model(config)
    print(f"The model is in {folder}; `prism score --model {folder}` uses it.")
    return 0


COMMAND = Command(
    "train",
    "Train a translation model, or a language model, on the shards of `prism corpus prepare`.",
    TrainOptions,
    train,
    epilog="""A run that was stopped or killed goes on from its last checkpoint when the same command is given again.
Several processes: torchrun --nproc-per-node 2 -m prism_mt train CONFIG.toml""",
)
