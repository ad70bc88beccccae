"""`prism finetune`: fine-tune a model on human judgments."""

import dataclasses
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from prism_mt.cli.options import Command, option
from prism_mt.cli.running import EPILOG, need_torch, run, shortened


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
    export_only: bool = option("write the model of the checkpoints that are there, without training", False)


def finetune(options: FinetuneOptions) -> int:
    """Train until a limit is reached, then write the model."""
    from prism_mt.training.finetune_config import load_finetune_config

    config = load_finetune_config(options.config)
    config = dataclasses.replace(
        config,
        model=options.model or config.model,
        output=options.output or config.output,
        limits=shortened(config.limits, options.minutes),
    )
    need_torch("fine-tuning")
    from prism_mt.training.finetune import Finetuner
    from prism_mt.training.finetune_export import export_finetuned

    start = partial(Finetuner, config, resume=not options.fresh)
    return run(start, partial(export_finetuned, config), config.device, options.export_only)


COMMAND = Command(
    "finetune",
    "Fine-tune a model on the pairs of `prism judgments pairs`.",
    FinetuneOptions,
    finetune,
    epilog=EPILOG.format(command="finetune"),
)
