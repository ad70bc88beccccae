"""`prism corpus`: prepare bitext for training."""

import json
from dataclasses import dataclass
from pathlib import Path

from prism_mt._core.arguments import Command, Group
from prism_mt._core.options import Config, option
from prism_mt._core.terminal import printable


@dataclass(frozen=True)
class PrepareOptions(Config):
    """Options of `prism corpus prepare`."""

    config: Path = option("TOML file with the languages, sources and steps", positional=True)
    root: Path | None = option(
        "base directory of the paths in the configuration (default: its `root`)", None, metavar="DIR"
    )
    output: Path | None = option("output directory (default: the configuration's `output`)", None, metavar="DIR")
    workers: int = option("number of processes; 0 means all cores", 0, metavar="N")
    ray: str | None = option(
        "run on the Ray cluster at this address (`auto`, HOST:PORT, or `local` to start one)",
        None,
        metavar="ADDRESS",
    )
    restart: bool = option("discard unfinished work instead of resuming it", False)
    scale: float | None = option(
        "multiply the configuration's counts of rows by this, for less bitext (default: its `scale`)",
        None,
        metavar="S",
    )


def run_prepare(options: PrepareOptions) -> None:
    """Run a preparation and print what each step kept and dropped."""
    from prism_mt.corpus.pipeline import prepare_corpus

    prepared = prepare_corpus(
        options.config,
        root=options.root,
        output=options.output,
        workers=options.workers,
        ray=options.ray,
        restart=options.restart,
        scale=options.scale,
    )
    prepared.report.show()
    print(printable(f"The shards are in {prepared.folder}; train on them with `prism train`."))


@dataclass(frozen=True)
class StepsOptions(Config):
    """Options of `prism corpus steps`."""


def list_steps(options: StepsOptions) -> None:
    """Print the kinds of steps with their settings and defaults, as written in a configuration."""
    from dataclasses import MISSING, fields

    from prism_mt.corpus.steps.registry import KINDS

    for kind, step in KINDS.items():
        print(f"{kind}: {(step.__doc__ or '').split(chr(10), 1)[0]}")
        for field in fields(step.Config):
            made = field.default_factory() if field.default_factory is not MISSING else field.default
            default = "required" if made is MISSING else f"default {json.dumps(made)}"
            print(f"    {field.name} ({default}): {field.metadata['help']}")


COMMAND = Group(
    "corpus",
    "Prepare bitext for training.",
    (
        Command(
            "prepare",
            "filter and sample bitext, train SentencePiece, write shards",
            (PrepareOptions,),
            run_prepare,
            epilog="Run the same command again to resume an interrupted run.",
        ),
        Command("steps", "list the kinds of steps and their settings", (StepsOptions,), list_steps),
    ),
)
