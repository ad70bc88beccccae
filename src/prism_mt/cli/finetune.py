"""`prism finetune`: fine-tune a model on human judgments."""

from dataclasses import dataclass
from functools import partial

from prism_mt._core.arguments import Command, option
from prism_mt.cli.running import EPILOG, RunOptions, need_torch, run


@dataclass
class FinetuneOptions(RunOptions):
    """Options of `prism finetune`."""

    model: str | None = option("model to fine-tune (default: the configuration's `model`)", None, metavar="M")


def finetune(options: FinetuneOptions) -> int:
    """Train until a limit is reached, then write the model."""
    from prism_mt.training.finetune_config import load_finetune_config

    config = options.change(load_finetune_config(options.config), model=options.model)
    need_torch("fine-tuning")
    from prism_mt.training.finetune import Finetuner
    from prism_mt.training.finetune_export import export_finetuned

    start = partial(Finetuner, config, resume=not options.fresh)
    return run(options, start, partial(export_finetuned, config), config.device)


COMMAND = Command(
    "finetune",
    "Fine-tune a model on the pairs of `prism judgments pairs`.",
    FinetuneOptions,
    finetune,
    epilog=f"""{EPILOG.format(command="finetune")}
Whether it helped: prism metaeval OTHER_JUDGMENTS --metric prism-ref --model mini finetuned/model""",
)
