"""`prism finetune`: fine-tune a model on human judgments."""

import dataclasses
import os
import sys
from dataclasses import dataclass
from pathlib import Path

from prism_mt.cli.options import Command, option
from prism_mt.errors import MissingExtra, PrismError


@dataclass
class FinetuneOptions:
    """Options of `prism finetune`."""

    config: Path = option("TOML file with all settings of the run", positional=True)
    model: str | None = option("model to fine-tune (default: the configuration's `model`)", None, metavar="M")
    output: Path | None = option(
        "folder for checkpoints, logs and the model (default: the configuration's `output`)", None, metavar="DIR"
    )
    minutes: float | None = option("stop after so many minutes; the run can be resumed", None, metavar="M")
    fresh: bool = option("start again instead of going on from the last checkpoint", False)


def finetune(options: FinetuneOptions) -> int:
    """Train until a limit is reached, then write the model."""
    from prism_mt.training.finetune_config import load_finetune_config

    config = load_finetune_config(options.config)
    if options.minutes is not None:
        if options.minutes <= 0:
            raise PrismError("--minutes must be above 0")
        config = dataclasses.replace(config, limits=dataclasses.replace(config.limits, minutes=options.minutes))
    config = dataclasses.replace(
        config, model=options.model or config.model, output=options.output or config.output
    )
    # See `prism train`: long spinning brings training to a standstill on cores that are shared.
    os.environ.setdefault("GOMP_SPINCOUNT", "10000")
    try:
        import torch  # noqa: F401
    except ImportError as error:
        raise MissingExtra("fine-tuning", "train") from error
    from prism_mt.training.distributed import join_world, leave_world
    from prism_mt.training.finetune import Finetuner
    from prism_mt.training.finetune_export import export_finetuned
    from prism_mt.training.memory import keep_freed_memory

    keep_freed_memory()
    world = join_world(config.device)
    try:
        tuner = Finetuner(config, world, resume=not options.fresh)
        finished = tuner.run()
    finally:
        leave_world(world)
    if not world.first:
        return 0
    if not finished:
        print(f"Stopped at step {tuner.progress.step:,}; the same command goes on from there.", file=sys.stderr)
    folder = export_finetuned(config)
    print(f"The model is in {folder}; `prism score --model {folder}` uses it.")
    return 0


COMMAND = Command(
    "finetune",
    "Fine-tune a model on the pairs of `prism judgments pairs`.",
    FinetuneOptions,
    finetune,
    epilog="""A run that was stopped or killed goes on from its last checkpoint when the same command is given again.
Several processes: torchrun --nproc-per-node 2 -m prism_mt finetune CONFIG.toml""",
)
