"""What `prism train` and `prism finetune` have in common: a run in one or several processes, and its end."""

import dataclasses
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from prism_mt._core.arguments import option
from prism_mt._core.errors import MissingExtra, PrismError

if TYPE_CHECKING:
    from prism_mt.training.config import TrainConfig
    from prism_mt.training.distributed import World
    from prism_mt.training.finetune_config import FinetuneConfig
    from prism_mt.training.stopping import Stop

Config = TypeVar("Config", "TrainConfig", "FinetuneConfig")

EPILOG = """A run that was stopped or killed goes on from its last checkpoint when the same command is given again.
Several processes: torchrun --nproc-per-node 2 -m prism_mt {command} CONFIG.toml"""


@dataclass
class RunOptions:
    """Options of both commands."""

    config: Path = option("TOML file with all settings of the run", positional=True)
    output: Path | None = option(
        "folder for checkpoints, logs and the model (default: the configuration's `output`)", None, metavar="DIR"
    )
    minutes: float | None = option("stop after so many minutes; the run can be resumed", None, metavar="M")
    fresh: bool = option("start again instead of going on from the last checkpoint", False)
    export_only: bool = option("write the model of the checkpoints that are there, without training", False)

    def change(self, config: Config, **changes: Any) -> Config:
        """The configuration with what the options say instead; `changes` that are None leave it as it is."""
        if self.minutes is not None:
            if self.minutes <= 0:
                raise PrismError("--minutes must be above 0")
            changes["limits"] = dataclasses.replace(config.limits, minutes=self.minutes)
        changes["output"] = self.output
        return dataclasses.replace(config, **{name: new for name, new in changes.items() if new is not None})


class _Progress(Protocol):
    step: int


class Run(Protocol):
    """A trainer that can be stopped and go on later."""

    stop: "Stop"

    @property
    def progress(self) -> _Progress:
        """How far it is."""

    def run(self) -> bool:
        """Train to the end; False when a signal or the minutes stopped it before."""


def need_torch(purpose: str) -> None:
    """Set up and import torch."""
    # Threads that wait for each other by spinning for long bring training to a standstill when other programs
    # want the cores too. OpenMP reads this when torch is imported.
    os.environ.setdefault("GOMP_SPINCOUNT", "10000")
    try:
        import torch  # noqa: F401
    except ImportError as error:
        raise MissingExtra(purpose, "train") from error


def run(options: RunOptions, start: "Callable[[World], Run]", export: Callable[[], Path], device: str) -> int:
    """Train in this process's place among all, then let the first one write the model; the exit code.

    A run that somebody stopped writes no model, but `--export-only` can do so later.
    """
    if options.export_only:
        return _write_model(export)
    from prism_mt.training.distributed import join_world, leave_world

    world = join_world(device)
    try:
        trainer = start(world)
        finished = trainer.run()
    finally:
        leave_world(world)
    if not world.first:
        return 0
    if not finished:
        print(f"Stopped at step {trainer.progress.step:,}; the same command goes on from there.", file=sys.stderr)
    return _write_model(export) if finished or trainer.stop.out_of_time else 130


def _write_model(export: Callable[[], Path]) -> int:
    """Write the model and say where it is."""
    folder = export()
    print(f"The model is in {folder}; `prism score --model {folder}` uses it.")
    return 0
