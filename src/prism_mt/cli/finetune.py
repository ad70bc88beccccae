"""`prism finetune`: fine-tune a model on human judgments."""

from dataclasses import dataclass

from prism_mt._core.arguments import Command
from prism_mt._core.options import option, option_of
from prism_mt.cli.running import EPILOG, RunOptions, report
from prism_mt.engines.config import EngineConfig
from prism_mt.training import api


@dataclass(frozen=True, kw_only=True)
class FinetuneOptions(RunOptions):
    """Options of `prism finetune`."""

    model: str | None = option("model to fine-tune (default: the configuration's `model`)", None, metavar="M")
    offline: bool = option_of(EngineConfig, "offline")


def finetune(options: FinetuneOptions) -> int:
    """Train until a limit is reached, then write the model."""
    result = api.finetune(options.config, model=options.model, offline=options.offline, **options.arguments)
    return report(options, result, "model")


COMMAND = Command(
    "finetune",
    "Fine-tune a model on the pairs written by `prism judgments pairs`.",
    (FinetuneOptions,),
    finetune,
    epilog=f"""{EPILOG.format(command="finetune")}
Whether it helped: prism metaeval OTHER_JUDGMENTS --metric prism-ref --model mini finetuned/model""",
)
